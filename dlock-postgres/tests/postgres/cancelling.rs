//! A dropped future leaves nothing behind, and takes no connection with it.

use std::time::Duration;

use dlock_postgres::deadpool_postgres::Object;
use dlock_proof::cancelling;
use tokio::time::timeout;

use crate::support::{Table, server};

const POOL: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn dropped_futures_leave_nothing_and_every_connection_answers_for_itself() {
    let table = Table::create().await;
    let pool = server().await.pool(POOL);
    let (ours, theirs) = (
        table.provider(pool.clone()),
        table.provider(server().await.pool(POOL)),
    );
    let tally = cancelling::sampled(ours, theirs, 240, 11).await;
    assert!(tally.dropped > 60, "dropped too seldom: {tally:?}");

    // None is lost, and none is in use for ever.
    let mut connections: Vec<Object> = Vec::new();
    while connections.len() < POOL {
        let connection = timeout(Duration::from_secs(20), pool.get()).await;
        connections.push(connection.expect("a connection is lost").unwrap());
    }
    // None has an unread answer in it.
    for round in 0..3_i64 {
        for (connection, number) in connections.iter().zip(0_i64..) {
            let asked = 10 * round + number;
            let question = format!("SELECT {asked}::int8");
            let row = connection.query_one(&question, &[]).await.unwrap();
            assert_eq!(
                row.get::<_, i64>(0),
                asked,
                "the answer to another question"
            );
        }
    }
}
