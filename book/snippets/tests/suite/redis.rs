//! Fencing in Redis.

use dlock::redis::fence::FenceError;
use dlock_book_snippets::fencing::redis::{add, set_balance};
use redis::AsyncCommands;

use crate::two_holders;

#[tokio::test]
async fn redis_refuses_an_earlier_holder() {
    let server = dlock_test_servers::redis::redis(&[]).await.unwrap();
    let client = redis::Client::open(format!(
        "redis://127.0.0.1:{}/",
        server.place().port()
    ))
    .unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let (earlier, later) = two_holders();
    set_balance(&mut connection, earlier, 90).await.unwrap();
    set_balance(&mut connection, later, 80).await.unwrap();
    set_balance(&mut connection, later, 70).await.unwrap();
    let refused = set_balance(&mut connection, earlier, 60).await;
    assert!(matches!(refused, Err(FenceError::Stale(_))), "{refused:?}");
    let balance: i64 = connection.hget("account:7", "balance").await.unwrap();
    assert_eq!(balance, 70);
}

#[tokio::test]
async fn a_script_of_ones_own_refuses_an_earlier_holder() {
    let server = dlock_test_servers::redis::redis(&[]).await.unwrap();
    let url = format!("redis://127.0.0.1:{}/", server.place().port());
    let client = redis::Client::open(url).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let (earlier, later) = two_holders();
    let mut answers = Vec::new();
    for token in [earlier, later, later, earlier] {
        answers.push(add(&mut connection, token, 10).await.unwrap());
    }
    let expected = [
        ("written", "10"),
        ("written", "20"),
        ("written", "30"),
        ("stale", "8"),
    ];
    let answers: Vec<_> = answers
        .iter()
        .map(|(word, number)| (&**word, &**number))
        .collect();
    assert_eq!(answers, expected);
    let balance: i64 = connection.hget("account:7", "balance").await.unwrap();
    assert_eq!(balance, 30);
}
