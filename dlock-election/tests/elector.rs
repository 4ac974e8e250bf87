//! One elector at a time under each of its troubles, in virtual time.
#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

mod support;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dlock_core::{Client, ConfigError};
use dlock_election::{AlwaysLeader, Coordinator, Election, RunError};
use dlock_testkit::{
    faults::{Fault, Op},
    memory::{MemoryProvider, MemoryStore},
};
use support::{Instance, NAME, SECOND, Stage, stores, until};
use tokio::time::{Instant, sleep};

/// 002-1.
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
        ConfigError::RenewEvery { .. }
    ));
}

/// 002-1, 002-2.
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

/// 002-4: counted over a day.
#[tokio::test(start_paused = true)]
async fn a_day_costs_one_call_for_each_attempt_and_renewal_at_most() {
    const DAY: u32 = 24 * 60 * 60;
    for store in stores() {
        for wakeups in [true, false] {
            let instance = |id: &str| {
                Instance::with(
                    &store,
                    id,
                    1.0,
                    |provider| provider.wakeups(wakeups),
                    |client| {
                        Election::builder()
                            .provider(client)
                            .name(format!("{NAME} {wakeups}"))
                            .id(id)
                            .build()
                            .unwrap()
                    },
                )
            };
            let leader = instance("leader").start();
            until(SECOND, || leader.election.is_leader()).await;
            let follower = instance("follower").start();
            sleep(DAY * SECOND).await;
            let calls = |provider: &support::Provider| {
                provider.count(Op::Acquire) + provider.count(Op::Renew) + provider.count(Op::Read)
            };
            assert!(
                calls(&follower.provider) <= 2_880 + 1,
                "{}",
                calls(&follower.provider)
            );
            assert!(
                calls(&follower.provider) > 2_000,
                "{}",
                calls(&follower.provider)
            );
            assert!(
                calls(&leader.provider) <= 4_320 + 1,
                "{}",
                calls(&leader.provider)
            );
            assert!(
                calls(&leader.provider) >= 4_300,
                "{}",
                calls(&leader.provider)
            );
        }
    }
}

/// 002-5, 002-6.
#[tokio::test(start_paused = true)]
async fn a_crashed_leader_is_followed_within_the_bound() {
    for store in stores() {
        let observer = store.discipline() == dlock_core::Discipline::Observer;
        let stage = Stage::default();
        let mut first = Instance::new(&store, "first", 1.0).on(&stage).start();
        until(SECOND, || first.election.is_leader()).await;
        let second = Instance::new(&store, "second", 1.0).on(&stage).start();
        // The last renewal leaves at 40 s; the crash is at 59 s.
        sleep(59 * SECOND).await;
        first.crash().await;
        let took = until(200 * SECOND, || second.election.is_leader()).await;
        // From the last renewal: D + j; an observer may look P + j after it (and D is counted from
        // there).
        let bound = if observer {
            (60 + 30 + 6 + 1) * SECOND
        } else {
            61 * SECOND
        };
        assert!(19 * SECOND + took <= bound, "{took:?}");
        assert!(19 * SECOND + took >= 60 * SECOND, "{took:?}");
        assert_eq!(stage.most(), 1);
    }
}

/// 002-7.
#[tokio::test(start_paused = true)]
async fn a_graceful_stop_makes_room_at_once() {
    for store in stores() {
        for (wakeups, bound) in [(true, SECOND), (false, 36 * SECOND)] {
            let instance = |id: &str| {
                Instance::with(
                    &store,
                    id,
                    1.0,
                    |provider| provider.wakeups(wakeups),
                    |client| {
                        Election::builder()
                            .provider(client)
                            .name(format!("{NAME} {wakeups}"))
                            .id(id)
                            .build()
                            .unwrap()
                    },
                )
            };
            let mut first = instance("first").start();
            until(SECOND, || first.election.is_leader()).await;
            let second = instance("second").start();
            sleep(100 * SECOND).await;
            first.stop().await;
            let took = until(60 * SECOND, || second.election.is_leader()).await;
            assert!(took <= bound, "{took:?}");
        }
    }
}

/// 002-8.
#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_rides_out_what_it_can_and_steps_down_by_itself() {
    for store in stores() {
        // Cut off right before a renewal, for 17 s: ridden out.
        let stage = Stage::default();
        let mut leader = Instance::new(&store, "leader", 1.0).on(&stage).start();
        until(SECOND, || leader.election.is_leader()).await;
        sleep(Duration::from_millis(19_500)).await;
        leader.provider.everything(Fault::LoseRequest);
        sleep(17 * SECOND).await;
        leader.provider.clear();
        sleep(100 * SECOND).await;
        assert_eq!(leader.told().await, ["gained", "unsure", "recovered"]);

        // For good: gone by 48 s after the last good `sent`, without a word from the store.
        let rival = Instance::new(&store, "rival", 1.0).on(&stage).start();
        sleep(20 * SECOND).await;
        let sent = leader.provider.calls();
        let sent = sent
            .iter()
            .rev()
            .find(|call| call.op == Op::Renew)
            .unwrap()
            .began;
        leader.provider.everything(Fault::LoseRequest);
        until(60 * SECOND, || !leader.election.is_leader()).await;
        let took = sent.elapsed();
        assert!(took <= Duration::from_millis(48_050), "{took:?}");
        assert!(took >= Duration::from_millis(47_900), "{took:?}");
        assert!(!rival.election.is_leader());
        until(SECOND, || stage.working() == 0).await;
        until(120 * SECOND, || rival.election.is_leader()).await;
        assert_eq!(stage.most(), 1);
        assert_eq!(
            leader.told().await,
            ["unsure", "lost: ran out because its renewals failed"]
        );
    }
}

/// 002-9.
#[tokio::test(start_paused = true)]
async fn a_store_that_is_down_for_all_stops_the_work_until_it_is_back() {
    for store in stores() {
        let stage = Stage::default();
        let all: Vec<Instance> = ["a", "b", "c"]
            .map(|id| Instance::new(&store, id, 1.0).on(&stage).start())
            .into();
        until(SECOND, || stage.working() == 1).await;
        sleep(30 * SECOND).await;
        for instance in &all {
            instance.provider.everything(Fault::THROTTLED);
        }
        until(60 * SECOND, || stage.working() == 0).await;
        sleep(600 * SECOND).await;
        assert_eq!(stage.working(), 0);
        assert!(all.iter().all(|instance| !instance.election.is_leader()));
        for instance in &all {
            instance.provider.clear();
        }
        until(120 * SECOND, || stage.working() == 1).await;
        assert_eq!(stage.most(), 1);
    }
}

/// 002-10.
#[tokio::test(start_paused = true)]
async fn a_refused_renewal_ends_the_leadership_at_once() {
    for store in stores() {
        let stage = Stage::default();
        let mut leader = Instance::new(&store, "leader", 1.0).on(&stage).start();
        until(SECOND, || leader.election.is_leader()).await;
        let token = leader.election.leadership().unwrap().token();
        store.wipe();
        // With the next renewal; it is free then, so it may well lead once more, with another token.
        sleep(21 * SECOND).await;
        let told = leader.told().await;
        let lost = "lost: has no record in the store any more";
        assert_eq!(told, ["gained", lost, "gained"]);
        assert!(leader.election.leadership().unwrap().token() > token);
        assert_eq!(stage.most(), 1);
    }
}

/// 002-11.
#[tokio::test(start_paused = true)]
async fn a_slow_renewal_counts_from_when_it_left() {
    for store in stores() {
        let leader = Instance::new(&store, "leader", 1.0).start();
        until(SECOND, || leader.election.is_leader()).await;
        leader
            .provider
            .next(Op::Renew, Fault::DelayReply(9 * SECOND));
        sleep(Duration::from_millis(29_500)).await;
        let sent = leader.provider.calls();
        let sent = sent
            .iter()
            .rev()
            .find(|call| call.op == Op::Renew)
            .unwrap()
            .began;
        let leadership = leader.election.leadership().unwrap();
        let deadline = Instant::now() + leadership.remaining();
        assert!(deadline <= sent + 48 * SECOND, "{:?}", deadline - sent);
        assert!(deadline > sent + 47 * SECOND, "the renewal counted");
    }
}

/// 002-12.
#[tokio::test(start_paused = true)]
async fn tasks_run_in_their_period_on_the_leader_alone_and_survive_a_panic() {
    for store in stores() {
        let stage = Stage::default();
        let instance = |id: &'static str| {
            let instance = Instance::new(&store, id, 1.0);
            let stage = stage.clone();
            instance
                .election
                .every("fast", 30 * SECOND, move |leadership| {
                    assert!(leadership.is_valid());
                    let stage = stage.clone();
                    async move {
                        let _working = stage.work();
                        stage.ran(id);
                        sleep(5 * SECOND).await;
                    }
                });
            let panics = Arc::new(AtomicUsize::new(0));
            instance.election.every("broken", 60 * SECOND, move |_| {
                panics.fetch_add(1, Ordering::SeqCst);
                async { panic!("a run that panics on purpose") }
            });
            instance.start()
        };
        let mut first = instance("first");
        until(SECOND, || first.election.is_leader()).await;
        let second = instance("second");
        sleep(305 * SECOND).await;
        let runs = stage.runs();
        assert_eq!(runs.len(), 11, "{runs:?}");
        assert!(runs.iter().all(|(who, _)| who == "first"));
        let gaps = runs.windows(2).map(|pair| pair[1].1 - pair[0].1);
        for gap in gaps {
            assert!(gap >= 30 * SECOND && gap < 31 * SECOND, "{gap:?}");
        }
        first.crash().await;
        until(200 * SECOND, || second.election.is_leader()).await;
        sleep(SECOND).await;
        let runs = stage.runs();
        assert_eq!(runs.last().unwrap().0, "second");
        // Nobody ran it twice at a time, and the gap over the change is the takeover's.
        let gap = runs[runs.len() - 1].1 - runs[runs.len() - 2].1;
        assert!(gap < (60 + 30 + 6 + 1 + 30) * SECOND, "{gap:?}");
        assert_eq!(stage.most(), 1);
    }
}

/// 002-12.
#[tokio::test(start_paused = true)]
async fn a_task_that_takes_longer_than_its_period_is_never_beside_itself() {
    let store = MemoryStore::store_clock();
    let stage = Stage::default();
    let leader = Instance::new(&store, "leader", 1.0);
    let seen = stage.clone();
    leader.election.every("slow", 10 * SECOND, move |_| {
        let seen = seen.clone();
        async move {
            let _working = seen.work();
            seen.ran("leader");
            sleep(25 * SECOND).await;
        }
    });
    let leader = leader.start();
    sleep(101 * SECOND).await;
    assert!(leader.election.is_leader());
    assert_eq!((stage.most(), stage.runs().len()), (1, 5));
}

/// 002-17.
#[tokio::test(start_paused = true)]
async fn a_leader_resigns_on_request_and_lets_others_win() {
    for store in stores() {
        let stage = Stage::default();
        let mut first = Instance::new(&store, "first", 1.0).on(&stage).start();
        until(SECOND, || first.election.is_leader()).await;
        let second = Instance::new(&store, "second", 1.0).on(&stage).start();
        let leader = second.election.leader().await.unwrap().unwrap();
        assert_eq!(leader.id, "first");
        sleep(5 * SECOND).await;
        // From the other instance, through the store: with its next renewal, at the latest.
        let admin = second.provider.inner();
        assert!(second.election.ask_leader_to_resign(admin).await.unwrap());
        let took = until(60 * SECOND, || second.election.is_leader()).await;
        assert!(took <= 36 * SECOND, "{took:?}");
        assert_eq!(first.told().await, ["gained", "resigned: Asked"]);
        // From within.
        second.election.resign();
        until(60 * SECOND, || first.election.is_leader()).await;
        assert_eq!(stage.most(), 1);
        assert!(!second.election.is_leader());
    }
}

/// 002-17.
#[tokio::test(start_paused = true)]
async fn an_instance_that_never_leads_asks_for_nothing() {
    let store = MemoryStore::store_clock();
    let follower = Instance::with(
        &store,
        "follower",
        1.0,
        |provider| provider,
        |client| {
            Election::builder()
                .provider(client)
                .name(NAME)
                .never_lead()
                .build()
                .unwrap()
        },
    )
    .start();
    sleep(1000 * SECOND).await;
    assert!(!follower.election.is_leader());
    assert!(follower.provider.calls().is_empty());
}

/// 002-13.
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
async fn work_ends_before_the_release_and_has_its_grace() {
    for store in stores() {
        let stage = Stage::default();
        let mut leader = Instance::new(&store, "leader", 1.0);
        let seen = stage.clone();
        leader.election.lead(move |leadership| {
            let seen = seen.clone();
            async move {
                let _working = seen.work();
                leadership.ending().await;
                // Still protected while it puts things away.
                assert!(leadership.is_valid());
                sleep(3 * SECOND).await;
                assert!(leadership.is_valid());
                seen.ran("put away");
            }
        });
        leader = leader.start();
        until(SECOND, || leader.election.is_leader()).await;
        sleep(SECOND).await;
        let started = Instant::now();
        leader.stop().await;
        assert!(started.elapsed() >= 3 * SECOND && started.elapsed() < 4 * SECOND);
        assert_eq!((stage.working(), stage.runs().len()), (0, 1));
        assert_eq!(leader.provider.count(Op::Release), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_elector_that_is_dropped_drops_its_work_before_it_gives_back() {
    let store = MemoryStore::store_clock();
    let stage = Stage::default();
    let leader = Instance::new(&store, "leader", 1.0).on(&stage);
    let election = leader.election.clone();
    let running = tokio::spawn(async move { election.run(Box::pin(std::future::pending())).await });
    until(SECOND, || stage.working() == 1).await;
    running.abort();
    drop(running.await);
    assert!(!leader.election.is_leader());
    until(SECOND, || leader.provider.count(Op::Release) == 1).await;
    assert_eq!(stage.working(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_election_runs_once_and_ends_with_its_client() {
    let store = MemoryStore::store_clock();
    let client = Client::with_clock(MemoryProvider::new(&store), dlock_core::Clock::tokio(1.0));
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
