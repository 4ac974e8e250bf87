//! Endings and free places are gathered before a call is made for them.

use std::{sync::atomic::Ordering, time::Duration};

use dlock_tasks::{Context, Worker};
use tokio::{sync::oneshot, task::yield_now, time::sleep};

use crate::{
    fake::{Fake, Nothing},
    support::{POLL, Run, SOON},
};

/// Even the first ending waits for the others, so there is no second transaction.
#[tokio::test(start_paused = true)]
async fn tasks_that_end_within_a_millisecond_are_ended_in_one_call() {
    const TASKS: usize = 8;
    let store = Fake::default();
    store.0.tasks.store(TASKS, Ordering::SeqCst);
    let worker = Worker::builder()
        .store(store.clone())
        .poll(POLL)
        .concurrency(TASKS);
    let worker = worker.build().unwrap();
    let worker = worker.handle(|context: Context, _: Nothing| async move {
        // One after the other, while time does not advance.
        for _ in 0..context.id().get() * 10 {
            yield_now().await;
        }
        Ok(())
    });
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(worker.run(async move { drop(stopped.await) }));
    let run = Run { stop, running };
    sleep(SOON).await;
    assert_eq!(*store.0.finished.lock().unwrap(), [TASKS]);
    run.stop().await;
}

/// A place that became free while a claim was in flight waits for the places of the tasks that the claim brings:
/// otherwise claims of nine tasks and of one would alternate for ever.
#[tokio::test(start_paused = true)]
async fn place_that_a_claim_left_free_is_filled_together_with_others() {
    const PLACES: usize = 10;
    let store = Fake::default();
    store.0.tasks.store(10 * PLACES, Ordering::SeqCst);
    *store.0.delay.lock().unwrap() = Duration::from_millis(5);
    let worker = Worker::builder()
        .store(store.clone())
        .poll(POLL)
        .concurrency(PLACES);
    let worker = worker.build().unwrap();
    let worker = worker.handle(|context: Context, _: Nothing| async move {
        // The first task ends while the third claim is in flight, all others at once.
        if context.id().get() == 1 {
            sleep(Duration::from_millis(9)).await;
        }
        Ok(())
    });
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(worker.run(async move { drop(stopped.await) }));
    let run = Run { stop, running };
    sleep(SOON).await;
    assert_eq!(
        store.0.asked.lock().unwrap()[..8],
        [10, 9, 9, 10, 10, 10, 10, 10]
    );
    run.stop().await;
}
