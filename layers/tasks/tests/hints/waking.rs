//! A hint ends the sleep of an idle worker, and its other effects.

use std::{sync::atomic::Ordering, time::Duration};

use dlock_core::provider::Wakeup;
use tokio::{
    task::yield_now,
    time::{Instant, advance, sleep},
};

use crate::{
    fake::Fake,
    support::{Run, SOON},
};

/// The sleep ends, and no other claim follows.
#[tokio::test(start_paused = true)]
async fn hint_ends_the_sleep_of_an_idle_worker() {
    let store = Fake::default();
    let hints = store.stream();
    let run = Run::idle(&store, 4, Duration::ZERO).await;
    // One claim at the start, and one for hints that the stream may have missed.
    assert_eq!(store.claims(), 2);
    for claims in [3, 4] {
        assert!(hints.send(Wakeup::Everyone));
        sleep(SOON).await;
        assert_eq!(store.claims(), claims);
    }
    run.stop().await;
}

/// A store hints again a little later, for events that it may have left out: a worker that finds no task then has no
/// competitors.
#[tokio::test(start_paused = true)]
async fn one_who_asked_in_vain_once_follows_the_next_hint_at_once() {
    let store = Fake::default();
    let hints = store.stream();
    let run = Run::idle(&store, 4, Duration::ZERO).await;
    for _ in 0..10 {
        let before = store.claims();
        store.0.tasks.store(1, Ordering::SeqCst);
        let began = Instant::now();
        assert!(hints.send(Wakeup::Everyone));
        // The clock does not advance as long as a task can run.
        for _ in 0..100 {
            yield_now().await;
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(store.claims() > before, "it takes its time");
        sleep(SOON).await;
        assert_eq!(store.0.tasks.load(Ordering::SeqCst), 0);
        let before = store.claims();
        assert!(hints.send(Wakeup::Everyone));
        sleep(SOON).await;
        assert_eq!(store.claims(), before + 1);
    }
    run.stop().await;
}

/// An unread hint shows the store that no worker waits.
#[tokio::test(start_paused = true)]
async fn hint_is_not_read_while_all_places_are_taken() {
    let store = Fake::default();
    let hints = store.stream();
    let run = Run::idle(&store, 1, Duration::from_secs(3)).await;
    assert_eq!(store.claims(), 2);
    store.0.tasks.store(2, Ordering::SeqCst);
    for _ in 0..2 {
        assert!(hints.send(Wakeup::Everyone));
        sleep(SOON).await;
    }
    assert_eq!((store.claims(), hints.is_full()), (3, true));
    // The second task, which needs no hint; then the hint.
    sleep(Duration::from_secs(7)).await;
    assert!(!hints.is_full());
    run.stop().await;
}

/// Of many workers that receive a hint of one task, only a few claim while it is available, once they have competed for
/// a while.
#[tokio::test(start_paused = true)]
async fn those_who_ask_in_vain_take_their_time_with_the_next_hint() {
    let lucky = Fake::default();
    let unlucky = Fake::default();
    let hints = [lucky.stream(), unlucky.stream()];
    let runs = [
        Run::idle(&lucky, 4, Duration::ZERO).await,
        Run::idle(&unlucky, 4, Duration::ZERO).await,
    ];
    let mut late = Duration::ZERO;
    for _ in 0..30 {
        let before = [lucky.claims(), unlucky.claims()];
        lucky.0.tasks.store(1, Ordering::SeqCst);
        let began = Instant::now();
        for hints in &hints {
            assert!(hints.send(Wakeup::Everyone));
        }
        while lucky.claims() == before[0] || unlucky.claims() == before[1] {
            advance(Duration::from_millis(1)).await;
            if lucky.claims() == before[0] {
                assert!(
                    began.elapsed() < Duration::from_millis(4),
                    "it has no competitor"
                );
            }
        }
        late += began.elapsed();
        sleep(SOON / 5).await;
    }
    // On average half of the longest delay, after the first few.
    assert!(
        (Duration::from_millis(300)..Duration::from_millis(2100)).contains(&late),
        "{late:?} in all"
    );
    for run in runs {
        run.stop().await;
    }
}
