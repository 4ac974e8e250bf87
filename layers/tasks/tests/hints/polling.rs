//! How often a worker polls without hints.

use std::{sync::atomic::Ordering, time::Duration};

use dlock_core::provider::Wakeup;
use dlock_tasks::Worker;
use tokio::time::{Instant, sleep};

use crate::{
    fake::Fake,
    support::{POLL, Run, SECOND, SOON},
};

/// The worker polls a store without hints, and requests its stream once.
#[tokio::test(start_paused = true)]
async fn store_without_hints_is_polled() {
    let store = Fake::default();
    store.answer(Ok(None));
    let run = Run::idle(&store, 4, Duration::ZERO).await;
    assert_eq!(store.claims(), 1);
    sleep(10 * POLL).await;
    assert_eq!(store.claims(), 11);
    assert_eq!(store.watched(), 1);
    run.stop().await;
}

/// The number of polls in this time, in which there are no hints.
async fn asks_in(store: &Fake, time: Duration) -> usize {
    let before = store.claims();
    sleep(time).await;
    store.claims() - before
}

/// Once a second without a stream; with one at most 0.3 times a second.
#[tokio::test(start_paused = true)]
async fn worker_that_is_told_of_tasks_hardly_asks() {
    let (told, untold) = (Fake::default(), Fake::default());
    let hints = told.stream();
    untold.answer(Ok(None));
    let lease = Duration::from_secs(30);
    let runs = [
        Run::unset(&told, lease).await,
        Run::unset(&untold, lease).await,
    ];
    sleep(10 * SECOND).await;
    assert_eq!(asks_in(&told, 100 * SECOND).await, 20);
    assert_eq!(asks_in(&untold, 100 * SECOND).await, 100);
    // A stream that ended brings no hints, and no other stream is available.
    drop(hints);
    sleep(SECOND).await;
    assert_eq!(asks_in(&told, 100 * SECOND).await, 100);
    for run in runs {
        run.stop().await;
    }
}

/// A store leaves out only hints close to another one: so the polls after a hint are as frequent as without hints, and
/// become rarer with the silence.
#[tokio::test(start_paused = true)]
async fn polls_follow_a_hint_closely() {
    let store = Fake::default();
    let hints = store.stream();
    let run = Run::unset(&store, Duration::from_secs(30)).await;
    for found in [0, 1] {
        sleep(30 * SECOND).await;
        store.0.tasks.store(found, Ordering::SeqCst);
        assert!(hints.send(Wakeup::Everyone));
        // Past the claim that follows the hint, and the run of its task.
        sleep(SOON / 5).await;
        assert_eq!(store.0.tasks.load(Ordering::SeqCst), 0);
        let mut waits = Vec::new();
        for _ in 0..4 {
            let (began, before) = (Instant::now(), store.claims());
            while store.claims() == before {
                sleep(Duration::from_millis(10)).await;
            }
            waits.push(began.elapsed().as_secs_f64().round());
        }
        assert_eq!(waits, [1.0, 1.0, 2.0, 4.0]);
    }
    run.stop().await;
}

/// A task that is found without a hint shows that hints are left out, or that its worker died.
#[tokio::test(start_paused = true)]
async fn polls_follow_a_task_that_no_hint_told_of_closely() {
    let store = Fake::default();
    let hints = store.stream();
    let run = Run::unset(&store, Duration::from_secs(30)).await;
    sleep(30 * SECOND).await;
    store.0.tasks.store(1, Ordering::SeqCst);
    while store.0.tasks.load(Ordering::SeqCst) > 0 {
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(asks_in(&store, SECOND * 3 / 2).await, 1);
    drop(hints);
    run.stop().await;
}

/// The next poll sees a lease that began after the last poll before it can run out, so that its end is not missed.
#[tokio::test(start_paused = true)]
async fn poll_comes_within_a_lease() {
    let store = Fake::default();
    let hints = store.stream();
    let run = Run::unset(&store, 2 * SECOND).await;
    sleep(10 * SECOND).await;
    assert_eq!(asks_in(&store, 100 * SECOND).await, 50);
    drop(hints);
    run.stop().await;
}

/// The same with hints, and 5 s at most.
#[tokio::test(start_paused = true)]
async fn poll_that_is_set_is_kept() {
    for (poll, asks) in [(SECOND / 5, 500), (60 * SECOND, 20)] {
        let store = Fake::default();
        let hints = store.stream();
        let worker = Worker::builder().store(store.clone()).poll(poll).build();
        let run = Run::of(worker.unwrap(), Duration::ZERO).await;
        sleep(10 * SECOND).await;
        assert_eq!(asks_in(&store, 100 * SECOND).await, asks, "{poll:?}");
        drop(hints);
        run.stop().await;
    }
}
