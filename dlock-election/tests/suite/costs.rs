//! What an election costs its store.

use dlock_election::Coordinator;
use dlock_testkit::faults::Op;
use tokio::time::sleep;

use crate::support::{Instance, Provider, SECOND, stores, until};

/// 002-4: counted over a day.
#[tokio::test(start_paused = true)]
async fn a_day_costs_one_call_for_each_attempt_and_renewal_at_most() {
    const DAY: u32 = 24 * 60 * 60;
    for store in stores() {
        for wakeups in [true, false] {
            let instance = |id| Instance::woken(&store, id, wakeups);
            let leader = instance("leader").start();
            until(SECOND, || leader.election.is_leader()).await;
            let follower = instance("follower").start();
            sleep(DAY * SECOND).await;
            let calls = |provider: &Provider| {
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
