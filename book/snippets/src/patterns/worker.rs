//! A queue of tasks: each is enqueued together with its data, and completed
//! together with its result.

// ANCHOR: worker
use dlock::{
    FencingToken,
    sqlite::tasks::SqliteTasks,
    tasks::{Context, NewTask, Payload, TaskStore, Worker},
};
use serde::{Deserialize, Serialize};

use crate::Failure;

#[derive(Debug, Serialize, Deserialize)]
pub struct Resize {
    pub image: u64,
}

impl Payload for Resize {
    const KIND: &'static str = "resize";
}

pub async fn enqueue(tasks: &SqliteTasks) -> Result<(), Failure> {
    tasks
        .enqueue(&[NewTask::of(&Resize { image: 7 })?.build()])
        .await?;
    Ok(())
}

/// Run any number of these, in any number of processes. `.run(stop)` starts one,
/// `.drain(limit)` is for tests.
pub fn worker(tasks: SqliteTasks, images: impl Images) -> Result<Worker, Failure> {
    let worker = Worker::builder().store(tasks).concurrency(4).build()?;
    Ok(worker.handle(move |context: Context, task: Resize| {
        let images = images.clone();
        async move {
            // A task can run twice: its worker may die before it reports the end.
            // So the storage gets the token, and refuses writes of a worker whose
            // task another worker has taken over.
            images.resize(task.image, context.token()).await?;
            Ok(())
        }
    }))
}
// ANCHOR_END: worker

/// Storage for images that checks tokens.
pub trait Images: Clone + Send + Sync + 'static {
    /// Writes a smaller image.
    fn resize(
        &self,
        image: u64,
        token: FencingToken,
    ) -> impl Future<Output = std::io::Result<()>> + Send;
}
