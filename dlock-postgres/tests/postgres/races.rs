//! 32 sessions for one lock: one grant for each term, and every loser sees its winner.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    FencingToken, Provider,
    provider::{Acquire, AcquireOutcome, Release},
};
use dlock_postgres::PostgresProvider;
use tokio::{sync::Barrier, task::JoinSet, time::sleep};

use crate::support::{create, fresh, on, server, term};

const RACERS: usize = 32;
const ROUNDS: usize = 25;

/// A provider whose pool lets all racers in at once.
async fn provider() -> PostgresProvider {
    let (server, schema) = (server().await, fresh());
    let provider = on(server.pool(RACERS + 1), &schema);
    create(&provider).await;
    // However long the racers take in turn, each gets an answer.
    server.wait_for_rows(&schema).await;
    provider
}

/// Lets them all try at once. Returns the winner; all others must have been refused by that very
/// term, not by a record that they saw before it.
async fn race(provider: &PostgresProvider, racers: Vec<Acquire>) -> (Acquire, FencingToken) {
    let start = Arc::new(Barrier::new(racers.len()));
    let mut racing = JoinSet::new();
    for racer in racers {
        let (provider, start) = (provider.clone(), Arc::clone(&start));
        racing.spawn(async move {
            start.wait().await;
            let outcome = provider.acquire(&racer).await;
            (racer, outcome)
        });
    }
    let (mut winners, mut shown) = (Vec::new(), Vec::new());
    for (racer, outcome) in racing.join_all().await {
        match outcome {
            Ok(AcquireOutcome::Acquired(tokens)) => winners.push((racer, tokens.last())),
            Ok(AcquireOutcome::Held(record)) => shown.push(record),
            other => panic!("a racer got no answer: {other:?}"),
        }
    }
    assert_eq!(winners.len(), 1, "grants of one term");
    let (winner, token) = winners.remove(0);
    assert_eq!(shown.len(), RACERS - 1);
    for record in shown {
        assert_eq!((record.uuid, record.token), (winner.new, token));
        assert!(record.remaining.is_some_and(|left| !left.is_zero()));
    }
    (winner, token)
}

fn racers(lock: &str) -> Vec<Acquire> {
    (0..RACERS).map(|_| term(lock)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn first_acquires_of_a_name_grant_once() {
    let provider = provider().await;
    for round in 0..ROUNDS {
        race(&provider, racers(&format!("lock {round}"))).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn acquires_of_a_released_lock_grant_once() {
    let provider = provider().await;
    let mut last = None;
    for _ in 0..ROUNDS {
        let (winner, token) = race(&provider, racers("lock")).await;
        assert!(Some(token) > last);
        last = Some(token);
        let release = Release::new(winner.name, winner.new, Some(token));
        provider.release(&release).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn acquires_of_an_expired_lock_grant_once() {
    let provider = provider().await;
    let lease = Duration::from_millis(100);
    for round in 0..ROUNDS / 3 {
        let mut dead = term(&format!("lock {round}"));
        dead.duration = lease;
        provider.acquire(&dead).await.unwrap();
        sleep(lease * 3 / 2).await;
        race(&provider, racers(&format!("lock {round}"))).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn claims_of_one_version_grant_once() {
    let provider = provider().await;
    let a = term("lock");
    provider.acquire(&a).await.unwrap();
    for _ in 0..ROUNDS {
        let seen = provider.read(&a.name).await.unwrap().unwrap().version();
        let claims = racers("lock")
            .into_iter()
            .map(|racer| racer.prev(Some(seen)))
            .collect();
        race(&provider, claims).await;
    }
}
