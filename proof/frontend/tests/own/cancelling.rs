//! I14 at sampled points in real time.

use dlock_proof::cancelling;
use dlock_testkit::memory::{MemoryProvider, MemoryStore};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_left_in_real_time() {
    for store in [MemoryStore::store_clock(), MemoryStore::observer()] {
        let (ours, theirs) = (MemoryProvider::new(&store), MemoryProvider::new(&store));
        let tally = cancelling::sampled(ours, theirs, 200, 7).await;
        assert!(tally.dropped > 40, "dropped too seldom: {tally:?}");
    }
}
