//! Leading without trouble, and the settings.

use std::sync::Arc;

use dlock_core::{BuildError, Client, Clock, Error, Name, Provider};
use dlock_election::{AlwaysLeader, Coordinator, Election, Leader, RECORD_DATA, RunError};
use dlock_testkit::{
    faults::{Fault, Op},
    memory::{MemoryProvider, MemoryStore},
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use crate::support::{Instance, NAME, SECOND, Stage, stores, until};

#[test]
fn renewal_interval_above_two_fifths_of_the_lease_is_refused() {
    let build = |renew_every| {
        Election::builder()
            .provider(MemoryProvider::new(&MemoryStore::store_clock()))
            .name(NAME)
            .renew_every(renew_every)
            .build()
    };
    assert!(build(24 * SECOND).is_ok());
    assert!(matches!(
        build(25 * SECOND).unwrap_err(),
        BuildError::RenewEvery { .. }
    ));
}

/// Every lease that a lock can have, with the defaults of all other settings.
#[test]
fn a_lease_alone_is_enough_for_an_election_of_any_length() {
    for lease in [SECOND / 10, 60 * SECOND, 7200 * SECOND, 86400 * SECOND] {
        let election = Election::builder()
            .provider(MemoryProvider::new(&MemoryStore::store_clock()))
            .name(NAME)
            .duration(lease)
            .build();
        assert!(election.is_ok(), "{lease:?}: {election:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_single_instance_leads_after_one_acquire_and_renews_every_twenty_seconds() {
    for store in stores() {
        let stage = Stage::default();
        let mut only = Instance::new(&store, "only", 1.0).on(&stage).start();
        until(SECOND, || only.election.is_leader()).await;
        assert_eq!(only.provider.count(Op::Acquire), 1);
        let acquire = only.provider.calls();
        let acquire = acquire.iter().find_map(|call| call.acquire().cloned());
        assert_eq!(acquire.unwrap().duration, 60 * SECOND);
        sleep(201 * SECOND).await;
        assert_eq!(only.provider.count(Op::Renew), 10);
        assert_eq!(only.told().await, ["gained"]);
        assert_eq!((stage.working(), stage.most()), (1, 1));
        only.stop().await;
        assert_eq!(only.told().await, ["resigned: Shutdown"]);
        assert_eq!((stage.working(), only.election.is_leader()), (0, false));
    }
}

/// Also while no instance leads.
#[tokio::test(start_paused = true)]
async fn a_record_tells_that_its_name_is_that_of_an_election() {
    for store in stores() {
        let mut only = Instance::new(&store, "only", 1.0).start();
        until(SECOND, || only.election.is_leader()).await;
        let (reader, name) = (MemoryProvider::new(&store), Name::new(NAME).unwrap());
        let record = reader.read(&name).await.unwrap().unwrap();
        assert_eq!(record.data.as_deref(), Some(RECORD_DATA));
        only.stop().await;
        let record = reader.read(&name).await.unwrap().unwrap();
        assert!(record.released);
        assert_eq!(record.data.as_deref(), Some(RECORD_DATA));
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_never_leads_asks_for_nothing() {
    let store = MemoryStore::store_clock();
    let follower = Instance::built(MemoryProvider::new(&store), 1.0, |client| {
        let election = Election::builder().provider(client).name(NAME);
        election.never_lead(true).build().unwrap()
    })
    .start();
    sleep(1000 * SECOND).await;
    assert!(!follower.election.is_leader());
    assert!(follower.provider.calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn without_a_store_one_always_leads() {
    let stage = Stage::default();
    let always = Arc::new(AlwaysLeader::new());
    assert!(!always.is_leader(), "it does not run yet");
    let seen = stage.clone();
    always.every("task", 30 * SECOND, move |_| {
        let seen = seen.clone();
        async move { seen.ran("it") }
    });
    let coordinator: Arc<dyn Coordinator> = always.clone();
    let shutdown = Box::pin(sleep(95 * SECOND));
    let running = tokio::spawn(async move { coordinator.run(shutdown).await });
    sleep(SECOND).await;
    assert!(always.is_leader());
    running.await.unwrap().unwrap();
    assert!(!always.is_leader());
    assert_eq!(stage.runs().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn an_election_runs_once_and_ends_with_its_client() {
    let store = MemoryStore::store_clock();
    let client = Client::with_clock(MemoryProvider::new(&store), Clock::tokio(1.0));
    let election = Election::builder()
        .provider(&client)
        .name(NAME)
        .build()
        .unwrap();
    let other = client.clone();
    let holder = dlock_core::DLock::builder()
        .provider(other)
        .name(NAME)
        .build()
        .unwrap();
    let held = holder.hold().await.unwrap();
    let running = tokio::spawn({
        let election = election.clone();
        async move { election.run(Box::pin(std::future::pending())).await }
    });
    sleep(SECOND).await;
    let again = election.run(Box::pin(std::future::pending())).await;
    assert_eq!(again, Err(RunError::AlreadyRunning));
    client.close().await;
    assert_eq!(running.await.unwrap(), Err(RunError::Closed));
    drop(held);
}

/// Pages and health checks may ask as often as they like.
#[tokio::test(start_paused = true)]
async fn who_leads_is_asked_of_the_store_once_a_second_at_most() {
    for store in stores() {
        let mut leader = Instance::new(&store, "leader", 1.0).start();
        until(SECOND, || leader.election.is_leader()).await;
        let follower = Instance::new(&store, "follower", 1.0).start();
        for _ in 0..100 {
            let asking = (0..10).map(|_| {
                let election = follower.election.clone();
                tokio::spawn(async move { election.leader().await.unwrap().unwrap().owner })
            });
            for asking in asking.collect::<Vec<_>>() {
                assert_eq!(asking.await.unwrap(), "leader");
            }
            sleep(SECOND / 10).await;
        }
        let reads = follower.provider.count(Op::Read);
        assert!((10..=11).contains(&reads), "{reads} reads in ten seconds");
        // An instance knows its own leadership at once, without a read.
        leader.stop().await;
        until(60 * SECOND, || follower.election.is_leader()).await;
        assert_eq!(
            follower.election.leader().await.unwrap().unwrap().owner,
            "follower"
        );
    }
}

/// On a store that does not answer, all callers share one attempt, instead of one each in turn.
#[tokio::test(start_paused = true)]
async fn all_who_ask_a_silent_store_share_one_look_and_its_error() {
    for store in stores() {
        let follower = Instance::new(&store, "follower", 1.0);
        follower.provider.everything(Fault::LoseRequest);
        let asked = Instant::now();
        let asking: Vec<_> = (0..10).map(|_| ask(&follower)).collect();
        for asking in asking {
            let error = asking.await.unwrap().unwrap_err();
            assert!(matches!(error, Error::Provider(_)), "{error:?}");
        }
        // A sixth of the lease.
        assert!(asked.elapsed() <= 10 * SECOND, "{:?}", asked.elapsed());
        assert_eq!(follower.provider.count(Op::Read), 1);
        // When the store is back, no caller gets the error any more.
        follower.provider.clear();
        sleep(SECOND).await;
        assert_eq!(ask(&follower).await.unwrap().unwrap(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_look_is_answered_although_the_caller_that_began_it_is_gone() {
    for store in stores() {
        let leader = Instance::new(&store, "leader", 1.0).start();
        until(SECOND, || leader.election.is_leader()).await;
        let follower = Instance::new(&store, "follower", 1.0);
        follower
            .provider
            .next(Op::Read, Fault::DelayReply(5 * SECOND));
        let asked = Instant::now();
        let began = ask(&follower);
        sleep(SECOND).await;
        let joined = ask(&follower);
        sleep(SECOND).await;
        began.abort();
        let seen = joined.await.unwrap().unwrap().unwrap();
        assert_eq!(seen.owner, "leader");
        // The answer was in flight for five seconds, and the remainder of the lease is shorter by that.
        assert!(asked.elapsed() < 6 * SECOND, "{:?}", asked.elapsed());
        assert_eq!(follower.provider.count(Op::Read), 1);
    }
}

fn ask(instance: &Instance) -> JoinHandle<Result<Option<Leader>, Error>> {
    let election = instance.election.clone();
    tokio::spawn(async move { election.leader().await })
}

/// Work sees its leadership in the same way without a store.
#[tokio::test(start_paused = true)]
async fn without_a_store_work_has_its_grace_too() {
    let stage = Stage::default();
    let always = AlwaysLeader::new();
    let seen = stage.clone();
    always.lead(move |leadership| {
        let seen = seen.clone();
        async move {
            leadership.ending().await;
            let mut lost = std::pin::pin!(leadership.lost());
            tokio::select! {
                biased;
                () = &mut lost => panic!("lost while it may still put things away"),
                () = sleep(3 * SECOND) => {}
            }
            assert!(leadership.is_valid() && !leadership.remaining().is_zero());
            seen.ran("put away");
        }
    });
    always.run(Box::pin(sleep(SECOND))).await.unwrap();
    assert_eq!(stage.runs().len(), 1);
}

/// The transitions come in order, and the elector never waits for a listener.
#[tokio::test(start_paused = true)]
async fn a_listener_that_sleeps_holds_up_nobody_and_is_told_what_it_missed() {
    let store = MemoryStore::store_clock();
    let mut leader = Instance::built(MemoryProvider::new(&store), 1.0, |client| {
        let election = Election::builder().provider(client).name(NAME);
        election.cool_down(SECOND).build().unwrap()
    })
    .start();
    for _ in 0..200 {
        until(60 * SECOND, || leader.election.is_leader()).await;
        leader.election.resign();
        until(SECOND, || !leader.election.is_leader()).await;
    }
    let told = leader.told().await;
    // There are two changes each time, and the newest ones are kept.
    let missed = 400 - 256;
    assert_eq!(told[0], format!("Some(Missed({missed}))"));
    assert_eq!(told.len(), 1 + 256);
    for pair in told[1..].chunks(2) {
        assert_eq!(pair, ["gained", "resigned: Requested"]);
    }
}
