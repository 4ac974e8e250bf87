//! I14: dropping any future of the frontend at any poll leaves nothing behind. Every poll, on the
//! memory store in both disciplines; sampled points in real time.

use dlock_core::provider::Discipline;
use dlock_proof::cancelling;
use dlock_testkit::memory::{MemoryProvider, MemoryStore};

async fn everywhere(discipline: Discipline, cheap_reads: bool) {
    let store = MemoryStore::new(discipline);
    let provider = || MemoryProvider::new(&store).cheap_reads(cheap_reads);
    let tally = cancelling::everywhere(provider).await;
    println!("{discipline:?}: {tally:#?}");
    let idle: Vec<_> = tally.each.iter().filter(|(_, drops)| **drops < 8).collect();
    assert!(idle.is_empty(), "dropped too seldom: {idle:?}");
    assert!(tally.each.len() >= 18, "futures are missing: {tally:?}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_where_the_stores_clock_decides() {
    everywhere(Discipline::StoreClock, false).await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_where_contenders_observe() {
    everywhere(Discipline::Observer, false).await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_where_waiters_look_first() {
    everywhere(Discipline::Observer, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_left_in_real_time() {
    for store in [MemoryStore::store_clock(), MemoryStore::observer()] {
        let (ours, theirs) = (MemoryProvider::new(&store), MemoryProvider::new(&store));
        let tally = cancelling::sampled(ours, theirs, 200, 7).await;
        assert!(tally.dropped > 40, "dropped too seldom: {tally:?}");
    }
}
