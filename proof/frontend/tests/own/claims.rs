//! How many claims a worker of the queue needs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::ProviderError;
use dlock_proof::tasks::{Answer, Call, Passage, Wrapped};
use dlock_tasks::{Context, NewTask, Payload, State, TaskStore, Worker};
use dlock_testkit::tasks::memory::MemoryTasks;
use serde::{Deserialize, Serialize};
use tokio::{sync::oneshot, time::sleep};

#[derive(Serialize, Deserialize)]
struct Step;

impl Payload for Step {
    const KIND: &'static str = "step";
}

/// Counts claims.
#[derive(Clone, Default)]
struct Counting(Arc<AtomicUsize>);

#[async_trait]
impl Passage for Counting {
    async fn pass<A, F, Fut>(&self, call: Call, ask: F) -> Result<A, ProviderError>
    where
        A: Clone + Into<Answer> + Send + Sync + 'static,
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<A, ProviderError>> + Send + 'static,
    {
        if matches!(call, Call::Claim(_)) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
        ask().await
    }
}

#[tokio::test(start_paused = true)]
async fn tasks_that_end_together_make_room_for_one_claim() {
    const TASKS: usize = 400;
    const PLACES: usize = 50;
    let (tasks, claims) = (MemoryTasks::new(), Counting::default());
    let step = NewTask::of(&Step).unwrap().build();
    tasks.enqueue(&vec![step; TASKS]).await.unwrap();
    let worker = Worker::builder()
        .store(Wrapped::new(tasks.clone(), claims.clone()))
        .concurrency(PLACES)
        .build()
        .unwrap()
        .handle(|_: Context, _: Step| async { Ok(()) });
    let (stop, stopped) = oneshot::channel::<()>();
    let run = tokio::spawn(worker.run(async move { drop(stopped.await) }));
    loop {
        let counts = tasks.counts().await.unwrap();
        let done = counts.iter().find(|count| count.state == State::Succeeded);
        if done.is_some_and(|done| done.tasks == TASKS as u64) {
            break;
        }
        sleep(Duration::from_millis(1)).await;
    }
    drop(stop);
    run.await.unwrap().unwrap();
    let claims = claims.0.load(Ordering::SeqCst);
    // One more claim finds nothing.
    assert!(
        (TASKS / PLACES..=TASKS / PLACES + 1).contains(&claims),
        "{claims} claims of {PLACES} for {TASKS} tasks"
    );
}
