//! G1, I14: a dropped future leaves nothing behind.

use dlock_kubernetes_proof::Server;
use dlock_proof::cancelling;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn dropped_futures_leave_nothing_and_answers_stay_in_order() {
    let server = Server::shared().await;
    let namespace = server.namespace().await;
    let (ours, others) = (
        server.provider(&namespace).await,
        server.provider(&namespace).await,
    );
    let tally = cancelling::sampled(ours, others, 240, 11).await;
    assert!(tally.dropped > 60, "dropped too seldom: {tally:?}");
}
