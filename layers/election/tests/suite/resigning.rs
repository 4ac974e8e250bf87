//! Leaders that resign.

use dlock_core::{Client, Clock};
use dlock_election::{Coordinator, Election, RunError};
use dlock_testkit::{
    faults::{Fault, Faulty, Op},
    memory::{MemoryProvider, MemoryStore},
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use crate::support::{Instance, NAME, SECOND, Stage, stores, until};

#[tokio::test(start_paused = true)]
async fn a_leader_resigns_on_request_and_lets_others_win() {
    for store in stores() {
        let stage = Stage::default();
        let mut first = Instance::new(&store, "first", 1.0).on(&stage).start();
        until(SECOND, || first.election.is_leader()).await;
        let second = Instance::new(&store, "second", 1.0).on(&stage).start();
        let leader = second.election.leader().await.unwrap().unwrap();
        assert_eq!(leader.owner, "first");
        sleep(5 * SECOND).await;
        // A request from the other instance, through the store: effective with the next renewal, at the latest.
        let admin = second.provider.inner();
        assert!(second.election.ask_leader_to_resign(admin).await.unwrap());
        let took = until(60 * SECOND, || second.election.is_leader()).await;
        assert!(took <= 36 * SECOND, "{took:?}");
        assert_eq!(first.told().await, ["gained", "resigned: Asked"]);
        // A request from the same process.
        second.election.resign();
        until(60 * SECOND, || first.election.is_leader()).await;
        assert_eq!(stage.most(), 1);
        assert!(!second.election.is_leader());
    }
}

/// A request to resign stays in force: a leadership that is lost while its work ends still counts as resigned.
#[tokio::test(start_paused = true)]
async fn a_loss_in_the_grace_of_a_stop_ends_the_election_too() {
    for store in stores() {
        let mut leader = stubborn(&store).start();
        until(SECOND, || leader.election.is_leader()).await;
        leader.provider.everything(Fault::LoseRequest);
        // `stop` panics if the election does.
        leader.stop().await;
        let told = leader.told().await;
        assert_eq!(told[..1], ["gained"]);
        assert!(told.last().unwrap().starts_with("lost: "), "{told:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_loss_in_the_grace_of_a_resignation_is_followed_by_the_cool_down() {
    for store in stores() {
        let leader = stubborn(&store).start();
        until(SECOND, || leader.election.is_leader()).await;
        leader.provider.everything(Fault::LoseRequest);
        leader.election.resign();
        until(60 * SECOND, || !leader.election.is_leader()).await;
        leader.provider.clear();
        leader.provider.forget_calls();
        // One and a quarter attempt intervals.
        sleep(37 * SECOND).await;
        assert_eq!(
            leader.provider.count(Op::Acquire),
            0,
            "it stands again at once"
        );
        until(60 * SECOND, || leader.election.is_leader()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_silent_holds_up_nobody_who_asks() {
    for store in stores() {
        let mut leader = Instance::new(&store, "leader", 1.0).start();
        until(SECOND, || leader.election.is_leader()).await;
        let asking = Faulty::new(MemoryProvider::new(&store));
        asking.everything(Fault::LoseRequest);
        let asked = Instant::now();
        let answer = leader.election.ask_leader_to_resign(&asking).await;
        assert!(answer.is_err());
        assert!(asked.elapsed() <= 10 * SECOND, "{:?}", asked.elapsed());
        leader.stop().await;
    }
}

/// The election gets no wake-ups, whatever the store offers.
#[tokio::test(start_paused = true)]
async fn an_election_that_only_polls_opens_no_channel() {
    for store in stores() {
        let polling = |id: &str| {
            Instance::built(MemoryProvider::new(&store), 1.0, |client| {
                let election = Election::builder().provider(client).name(NAME).owner(id);
                election.wakeups(false).build().unwrap()
            })
        };
        let mut first = polling("first").start();
        until(SECOND, || first.election.is_leader()).await;
        let second = polling("second").start();
        sleep(100 * SECOND).await;
        // Just after an attempt: the next one comes 0.8 to 1.2 intervals later.
        let asked = || second.provider.count(Op::Acquire) + second.provider.count(Op::Read);
        let before = asked();
        until(60 * SECOND, || asked() > before).await;
        first.stop().await;
        let took = until(60 * SECOND, || second.election.is_leader()).await;
        assert!(took > 23 * SECOND && took <= 36 * SECOND, "{took:?}");
        assert_eq!(second.provider.count(Op::Watch), 0);
    }
}

/// A process that ends with its election leaves no request behind that may still be granted, and would keep all others
/// out for a whole lease.
#[tokio::test(start_paused = true)]
async fn a_follower_that_stops_in_the_middle_of_a_try_has_given_back_its_grant() {
    let late = 5 * SECOND;
    for fault in [Fault::DelayRequest(late), Fault::DelayReply(late)] {
        for store in stores() {
            let stopping = Instance::new(&store, "stopping", 1.0);
            stopping.provider.next(Op::Acquire, fault);
            stopping
                .provider
                .next(Op::Release, Fault::DelayRequest(late));
            let mut stopping = stopping.start();
            sleep(SECOND).await;
            assert_eq!(stopping.provider.count(Op::Acquire), 1);
            stopping.stop().await;
            // Its process ends here.
            stopping.provider.everything(Fault::LoseRequest);
            assert_eq!(stopping.told().await, Vec::<String>::new());
            let next = Instance::new(&store, "next", 1.0).start();
            until(SECOND, || next.election.is_leader()).await;
        }
    }
}

/// The leader's lease has run out here, but not yet in the store.
#[tokio::test(start_paused = true)]
async fn a_leader_that_is_lost_while_it_stops_has_given_back_what_it_led_with() {
    for store in stores() {
        let mut stopping = stubborn(&store).start();
        until(SECOND, || stopping.election.is_leader()).await;
        stopping.provider.always(Op::Renew, Fault::LoseRequest);
        let slow = Fault::DelayRequest(5 * SECOND);
        stopping.provider.next(Op::Release, slow);
        stopping.stop().await;
        // Its process ends here.
        stopping.provider.everything(Fault::LoseRequest);
        let next = Instance::new(&store, "next", 1.0).start();
        until(SECOND, || next.election.is_leader()).await;
    }
}

/// The release gets a sixth of the lease.
#[tokio::test(start_paused = true)]
async fn a_leader_that_is_lost_while_it_stops_does_not_wait_for_a_silent_store() {
    for store in stores() {
        let mut stopping = stubborn(&store).start();
        until(SECOND, || stopping.election.is_leader()).await;
        let leadership = stopping.election.leadership().unwrap();
        let deadline = Instant::now() + leadership.remaining();
        stopping.provider.everything(Fault::LoseRequest);
        stopping.stop().await;
        let took = deadline.elapsed();
        assert!(took <= 10 * SECOND + SECOND / 10, "{took:?}");
        assert!(took >= 9 * SECOND, "{took:?}");
    }
}

/// The attempt gets a sixth of the lease, and its release another sixth.
#[tokio::test(start_paused = true)]
async fn a_follower_of_a_silent_store_stops_within_a_third_of_the_lease() {
    for store in stores() {
        let follower = Instance::new(&store, "follower", 1.0);
        follower.provider.everything(Fault::LoseRequest);
        let mut follower = follower.start();
        sleep(SECOND).await;
        let stopped = Instant::now();
        follower.stop().await;
        assert!(
            stopped.elapsed() <= 20 * SECOND + SECOND / 100,
            "{:?}",
            stopped.elapsed()
        );
        // It waits for an attempt in flight, not for one that never began.
        let idle = Instance::new(&store, "idle", 1.0);
        let stopped = Instant::now();
        idle.election.run(Box::pin(async {})).await.unwrap();
        assert!(stopped.elapsed() < SECOND, "{:?}", stopped.elapsed());
    }
}

/// Other candidates of the same process, over the same client, keep waiting.
#[tokio::test(start_paused = true)]
async fn a_follower_stops_at_once_although_others_of_its_client_wait() {
    for store in stores() {
        let client = Client::with_clock(MemoryProvider::new(&store), Clock::tokio(1.0));
        let candidate = || {
            let election = Election::builder().provider(&client).name(NAME);
            election.build().unwrap()
        };
        let elections: Vec<Election> = (0..3).map(|_| candidate()).collect();
        let running: Vec<_> = elections.iter().map(run_on).collect();
        until(SECOND, || elections.iter().any(Coordinator::is_leader)).await;
        sleep(100 * SECOND).await;
        let stopping = candidate();
        let stopped = Instant::now();
        let shutdown = Box::pin(sleep(SECOND));
        stopping.run(shutdown).await.unwrap();
        assert!(stopped.elapsed() < 2 * SECOND, "{:?}", stopped.elapsed());
        for running in running {
            running.abort();
        }
    }
}

fn run_on(election: &Election) -> JoinHandle<Result<(), RunError>> {
    let election = election.clone();
    tokio::spawn(async move { election.run(Box::pin(std::future::pending())).await })
}

/// A leader whose work does not end when it is notified; its grace time is a minute and a half.
fn stubborn(store: &MemoryStore) -> Instance {
    let leader = Instance::built(MemoryProvider::new(store), 1.0, |client| {
        let election = Election::builder().provider(client).name(NAME);
        election.grace(90 * SECOND).build().unwrap()
    });
    leader.on(&Stage::default())
}
