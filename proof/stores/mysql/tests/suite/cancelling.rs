//! G1, I14: a dropped future leaves nothing behind, and the pool loses no connection by it.

use dlock_mysql_proof::server;
use dlock_proof::cancelling;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn dropped_futures_leave_nothing_and_every_connection_answers_for_itself() {
    let database = server().await.database().await;
    let (ours, theirs) = (database.provider(4).await, database.provider(4).await);
    let tally = cancelling::sampled(ours, theirs, 240, 11).await;
    assert!(tally.dropped > 60, "dropped too seldom: {tally:?}");
}
