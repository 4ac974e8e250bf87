//! A dropped future leaves nothing behind, and the file stays open for every caller.

use dlock_proof::cancelling;

use crate::support::Scratch;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn dropped_futures_leave_nothing() {
    let scratch = Scratch::new();
    let (ours, theirs) = (scratch.provider(), scratch.provider());
    let tally = cancelling::sampled(ours, theirs, 240, 11).await;
    assert!(tally.dropped > 60, "dropped too seldom: {tally:?}");

    // No transaction is left open: any connection may write at once.
    let raw = scratch.raw();
    raw.execute_batch("BEGIN EXCLUSIVE; COMMIT").unwrap();
}
