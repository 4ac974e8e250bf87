//! After a leader dies or stops, another instance leads in time.

use dlock_election::Coordinator;
use tokio::time::sleep;

use crate::support::{Instance, SECOND, Stage, stores, until};

#[tokio::test(start_paused = true)]
async fn a_crashed_leader_is_followed_within_the_bound() {
    for store in stores() {
        let observer = store.discipline() == dlock_core::provider::Discipline::Observer;
        let stage = Stage::default();
        let mut first = Instance::new(&store, "first", 1.0).on(&stage).start();
        until(SECOND, || first.election.is_leader()).await;
        let second = Instance::new(&store, "second", 1.0).on(&stage).start();
        // The last renewal leaves at 40 s; the crash is at 59 s.
        sleep(59 * SECOND).await;
        first.crash().await;
        let took = until(200 * SECOND, || second.election.is_leader()).await;
        // From the last renewal: D + j; an observer may make its read P + j after it (and counts D from there).
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

#[tokio::test(start_paused = true)]
async fn a_graceful_stop_makes_room_at_once() {
    for store in stores() {
        for (wakeups, bound) in [(true, SECOND), (false, 36 * SECOND)] {
            let instance = |id| Instance::woken(&store, id, wakeups);
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
