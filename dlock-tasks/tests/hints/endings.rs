//! Endings gather before they are sent (J2).

use std::sync::atomic::Ordering;

use dlock_tasks::{Context, Worker};
use tokio::{sync::oneshot, task::yield_now, time::sleep};

use crate::{
    fake::{Fake, Nothing},
    support::{POLL, Run, SOON},
};

/// J2: also the first of them waits for the others, so there is no second transaction.
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
        // One after the other, while the time stands still.
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
