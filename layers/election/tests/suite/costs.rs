//! The calls of an election to its store, counted over two hours.

use dlock_core::provider::Discipline;
use dlock_election::{Coordinator, Election};
use dlock_testkit::{
    faults::Op,
    memory::{MemoryProvider, MemoryStore},
};
use tokio::time::sleep;

use crate::support::{Instance, NAME, Provider, SECOND, stores, until};

const COUNTED: u32 = 2 * 60 * 60;

/// All calls of an instance.
fn calls(provider: &Provider) -> usize {
    [Op::Acquire, Op::Renew, Op::Release, Op::Read]
        .map(|op| provider.count(op))
        .into_iter()
        .sum()
}

#[tokio::test(start_paused = true)]
async fn each_attempt_and_renewal_costs_one_call_at_most() {
    for store in stores() {
        for wakeups in [true, false] {
            let leader = Instance::woken(&store, "leader", wakeups).start();
            until(SECOND, || leader.election.is_leader()).await;
            let follower = Instance::woken(&store, "follower", wakeups).start();
            sleep(COUNTED * SECOND).await;
            // Jitter only delays: the maximum is one call every 30 s.
            let followed = calls(&follower.provider);
            assert!((200..=240).contains(&followed), "{followed}");
            // The acquire, and a renewal every 20 s.
            let led = calls(&leader.provider);
            assert!((358..=361).contains(&led), "{led}");
        }
    }
}

/// On a store with cheap reads, a follower only reads.
#[tokio::test(start_paused = true)]
async fn a_follower_reads_where_that_costs_less() {
    let store = MemoryStore::new(Discipline::Observer);
    let instance = |id: &str| {
        let provider = MemoryProvider::new(&store).wakeups(false).cheap_reads(true);
        Instance::built(provider, 1.0, |client| {
            let election = Election::builder().provider(client).name(NAME).owner(id);
            election.build().unwrap()
        })
    };
    let leader = instance("leader").start();
    until(SECOND, || leader.election.is_leader()).await;
    let follower = instance("follower").start();
    sleep(COUNTED * SECOND).await;
    let provider = &follower.provider;
    assert_eq!(provider.count(Op::Acquire), 1, "refused writes");
    assert!(
        (200..=240).contains(&provider.count(Op::Read)),
        "{}",
        calls(provider)
    );
}
