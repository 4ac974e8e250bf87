//! Lost answers of the store: claims (A2) and endings are repeated, but the work is not.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use dlock_tasks::{State, Worker};
use tokio::time::{Instant, timeout};

use crate::support::{LONG, PATIENCE, Run, Say, Shop, say, worker};

/// A2: a claim whose answer is lost keeps no task from running.
#[tokio::test(start_paused = true)]
async fn claim_without_an_answer_is_repeated() {
    let shop = Shop::new();
    let mut ids = Vec::new();
    for word in ["a", "b", "c"] {
        ids.push(shop.add(say(word)).await);
    }
    shop.store.lose("claim");
    let began = Instant::now();
    let run = Run::of(worker(&shop.store).handle(|_, _: Say| async { Ok(()) }));
    for id in ids {
        assert_eq!(shop.until(id, State::Succeeded).await.attempt, 1);
    }
    assert!(
        began.elapsed() < LONG,
        "they waited for the end of their leases"
    );
    run.stop().await;
}

/// An ending whose answer is lost is repeated, but its work is not.
#[tokio::test(start_paused = true)]
async fn ending_without_an_answer_is_repeated() {
    let shop = Shop::new();
    shop.store.lose("finish");
    let runs = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&runs);
    let id = shop.add(say("a")).await;
    let run = Run::of(worker(&shop.store).handle(move |_, _: Say| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok(()) }
    }));
    shop.until(id, State::Succeeded).await;
    run.stop().await;
    assert_eq!(shop.store.0.endings.load(Ordering::SeqCst), 2);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

/// Tables of another version: the worker says so instead of trying for ever.
#[tokio::test(start_paused = true)]
async fn store_that_cannot_be_used_ends_the_run() {
    let shop = Shop::new();
    let worker = Worker::builder()
        .store(shop.store.clone())
        .queue("q".repeat(200))
        .build()
        .unwrap()
        .handle(|_, _: Say| async { Ok(()) });
    let ended = timeout(PATIENCE, worker.run(pending())).await.unwrap();
    let error = ended.unwrap_err();
    assert!(
        error.to_string().contains("name of a queue has 200 bytes"),
        "{error}"
    );
}
