//! A dropped future leaves nothing behind.

use dlock_proof::cancelling;

use crate::common::{client, provider_on, table_name};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn dropped_futures_leave_nothing() {
    let table = table_name();
    let (ours, theirs) = (
        provider_on(client().await, &table),
        provider_on(client().await, &table),
    );
    theirs.create_table().await.unwrap();
    let tally = cancelling::sampled(ours, theirs, 240, 11).await;
    assert!(tally.dropped > 60, "dropped too seldom: {tally:?}");
}
