//! A dropped future leaves nothing behind, and the connection that all requests share continues to answer in order.

use dlock_proof::cancelling;
use dlock_redis::RedisProvider;
use redis::aio::MultiplexedConnection;

use crate::support::{Server, ask, built, soon, words};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn dropped_futures_leave_nothing_and_answers_stay_in_order() {
    let server = Server::start(&[]).await;
    let shared = server.raw().await;
    let ours = built(RedisProvider::builder().connection(shared.clone()).build());
    let tally = cancelling::sampled(ours, server.provider(), 240, 11).await;
    assert!(tally.dropped > 60, "dropped too seldom: {tally:?}");

    let echo = |mut connection: MultiplexedConnection, number: usize| async move {
        let answer: usize = ask(&mut connection, &words(&format!("ECHO {number}"))).await;
        assert_eq!(answer, number, "the answer to another question");
    };
    let mut asking: tokio::task::JoinSet<()> = (0..200)
        .map(|number| echo(shared.clone(), number))
        .collect();
    while let Some(answered) = soon("the answers", asking.join_next()).await {
        answered.unwrap();
    }
}
