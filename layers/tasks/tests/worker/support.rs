//! A store with tasks, workers, and their runs.

use std::time::Duration;

use dlock_core::ProviderError;
use dlock_tasks::{NewTask, Payload, State, Task, TaskId, TaskStore, Worker};
use dlock_testkit::tasks::memory::MemoryTasks;
use serde::{Deserialize, Serialize};
use tokio::{
    sync::oneshot,
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use crate::faulty::Faulty;

/// The lease of tests that wait for the end of a lease, or for a heartbeat.
pub(crate) const LEASE: Duration = Duration::from_secs(9);
/// The lease of tests whose result must not depend on it.
pub(crate) const LONG: Duration = Duration::from_secs(60);
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Say {
    pub(crate) word: String,
}

impl Payload for Say {
    const KIND: &'static str = "say";
}

pub(crate) fn say(word: &str) -> NewTask {
    NewTask::of(&Say { word: word.into() }).unwrap().build()
}

pub(crate) struct Shop {
    tasks: MemoryTasks,
    pub(crate) store: Faulty,
}

impl Shop {
    pub(crate) fn new() -> Self {
        let tasks = MemoryTasks::new();
        let store = Faulty::before(&tasks);
        Self { tasks, store }
    }

    /// The same store, as another process reaches it.
    pub(crate) fn other(&self) -> Faulty {
        Faulty::before(&self.tasks)
    }

    pub(crate) async fn add(&self, task: NewTask) -> TaskId {
        self.store.enqueue(&[task]).await.unwrap()[0].id()
    }

    pub(crate) async fn task(&self, id: TaskId) -> Task {
        self.store.task(id).await.unwrap().unwrap()
    }

    /// Waits until the task is in this state.
    pub(crate) async fn until(&self, id: TaskId, state: State) -> Task {
        let began = Instant::now();
        loop {
            let task = self.task(id).await;
            if task.state == state {
                return task;
            }
            assert!(began.elapsed() < PATIENCE, "not {state}: {task:?}");
            sleep(Duration::from_millis(5)).await;
        }
    }
}

pub(crate) fn worker(store: &Faulty) -> Worker {
    worker_for(store, LONG)
}

pub(crate) fn worker_for(store: &Faulty, lease: Duration) -> Worker {
    Worker::builder()
        .store(store.clone())
        .lease(lease)
        .poll(Duration::from_millis(20))
        .grace(Duration::from_millis(300))
        .concurrency(4)
        .owner("worker")
        .build()
        .unwrap()
}

pub(crate) struct Run {
    stop: Option<oneshot::Sender<()>>,
    pub(crate) running: JoinHandle<Result<(), ProviderError>>,
}

impl Run {
    pub(crate) fn of(worker: Worker) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(worker.run(async move { drop(stopped.await) }));
        Self {
            stop: Some(stop),
            running,
        }
    }

    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        let ended = timeout(PATIENCE, &mut self.running)
            .await
            .expect("it does not stop");
        ended.unwrap().unwrap();
    }
}
