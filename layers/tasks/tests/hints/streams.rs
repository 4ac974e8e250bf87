//! Streams of hints that end, and that cannot be opened.

use std::time::Duration;

use dlock_core::{ProviderError, provider::Wakeup};
use tokio::time::sleep;

use crate::{
    fake::Fake,
    support::{Run, SOON},
};

/// A hint that was missed between two streams delays no task until the next poll, and a worker does not call a store
/// whose streams end at once all the time.
#[tokio::test(start_paused = true)]
async fn stream_that_ends_is_opened_anew_and_is_a_hint() {
    let store = Fake::default();
    let hints = store.stream();
    let run = Run::idle(&store, 4, Duration::ZERO).await;
    assert_eq!(store.claims(), 2);
    let second = store.stream();
    drop(hints);
    sleep(SOON).await;
    assert_eq!((store.watched(), store.claims()), (2, 4));
    assert!(second.send(Wakeup::Everyone));
    sleep(SOON).await;
    assert_eq!(store.claims(), 5);

    drop(second);
    for _ in 0..1000 {
        drop(store.stream());
        store.answer(Err(ProviderError::not_applied("no channel")));
    }
    let before = store.watched();
    sleep(Duration::from_secs(600)).await;
    let tries = store.watched() - before;
    assert!((80..300).contains(&tries), "{tries} in ten minutes");
    run.stop().await;
}

/// A channel that cannot be opened keeps a worker neither from polling nor from stopping.
#[tokio::test(start_paused = true)]
async fn channel_that_never_opens_is_given_up_and_tried_again() {
    let store = Fake::default();
    let run = Run::idle(&store, 4, Duration::ZERO).await;
    sleep(Duration::from_secs(60)).await;
    assert!((4..=6).contains(&store.watched()), "{}", store.watched());
    assert!(store.claims() >= 12, "{}", store.claims());
    run.stop().await;
}
