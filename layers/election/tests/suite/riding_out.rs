//! The longest outage that costs no leadership, if it begins right after a renewal (the best moment), or right before
//! one (the worst).
//!
//! The decisive time is that from the departure of the last good renewal to the end of the outage. The worst outage
//! refuses requests at once, so that an attempt can leave at any instant, and loses the request that leaves at its last
//! instant: that attempt takes a sixth of the lease, 10 s, and a pause of 0.25 to 0.75 s follows it. A leader is valid
//! for 48 s, so the leadership survives if the store is back after 37.25 s, but not after 37.75 s. In a client with
//! other calls, the renewal may also have to wait for its turn.

use std::time::Duration;

use dlock_election::Coordinator;
use dlock_testkit::{
    faults::{Fault, Op},
    memory::MemoryStore,
};
use tokio::time::{sleep, sleep_until};

use crate::support::{Instance, SECOND, newest, stores, until};

const MILLISECOND: Duration = Duration::from_millis(1);

/// The time from one renewal to the next.
const RENEWAL: Duration = Duration::from_secs(20);

/// The bound that the guide promises to every client, counted from the last good renewal.
const PROMISED: Duration = Duration::from_millis(36_500);

/// The end of an outage, counted from when the last good renewal left, and whether the leadership survived it.
struct Outage {
    ended: Duration,
    ridden_out: bool,
}

/// The worst outage that begins this long after a renewal, and ends with the first attempt after `about`.
async fn outage(leader: &mut Instance, begins: Duration, about: Duration) -> Outage {
    until(SECOND, || leader.election.is_leader()).await;
    sleep(RENEWAL + SECOND / 2).await;
    let sent = newest(leader);
    sleep_until(sent + begins).await;
    leader.provider.everything(Fault::THROTTLED);
    sleep_until(sent + about).await;
    leader.provider.everything(Fault::LoseRequest);
    let before = leader.provider.count(Op::Renew);
    while leader.provider.count(Op::Renew) == before {
        sleep(MILLISECOND).await;
    }
    let ended = sent.elapsed();
    leader.provider.clear();
    sleep(30 * SECOND).await;
    let told = leader.told().await;
    Outage {
        ended,
        ridden_out: !told.iter().any(|told| told.starts_with("lost")),
    }
}

/// Both disciplines; outages that begin at the best and at the worst moment, with lengths around the bound.
fn all() -> impl Iterator<Item = (MemoryStore, Duration, Duration)> {
    let begins = [MILLISECOND, RENEWAL - MILLISECOND];
    stores().into_iter().flat_map(move |store| {
        begins.into_iter().flat_map(move |begins| {
            let discipline = store.discipline();
            let steps = (35_500..38_000).step_by(50);
            steps.map(move |about| {
                let store = MemoryStore::new(discipline);
                (store, begins, Duration::from_millis(about))
            })
        })
    })
}

#[tokio::test(start_paused = true)]
async fn a_leader_rides_out_an_outage_just_shorter_than_the_bound_and_none_just_longer() {
    let (mut longest, mut shortest) = (Duration::ZERO, Duration::MAX);
    for (store, begins, about) in all() {
        let mut leader = Instance::new(&store, "leader", 1.0).start();
        let Outage { ended, ridden_out } = outage(&mut leader, begins, about).await;
        if ended < Duration::from_millis(37_230) {
            assert!(ridden_out, "{:?} cost the leadership", ended - begins);
        }
        if ended > Duration::from_millis(37_770) {
            assert!(!ridden_out, "{:?} was ridden out", ended - begins);
        }
        if ridden_out {
            longest = longest.max(ended);
        } else {
            shortest = shortest.min(ended);
        }
    }
    // Between the two bounds, and only there, the outcome is random: the bounds are no wider than necessary.
    assert!(shortest < Duration::from_millis(37_500), "{shortest:?}");
    assert!(longest > Duration::from_millis(37_500), "{longest:?}");
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_client_has_other_calls_under_way_rides_out_what_is_promised() {
    for (store, begins, about) in all().filter(|(_, _, about)| *about < PROMISED) {
        let mut leader = Instance::new(&store, "leader", 1.0).start();
        let asks = leader.election.clone();
        let asking = tokio::spawn(async move {
            loop {
                drop(asks.leader().await);
                sleep(SECOND / 20).await;
            }
        });
        let Outage { ended, ridden_out } = outage(&mut leader, begins, about).await;
        asking.abort();
        assert!(
            ridden_out || ended >= PROMISED,
            "{:?} cost the leadership",
            ended - begins
        );
    }
}
