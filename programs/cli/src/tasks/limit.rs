//! `dlock tasks limit` and `dlock tasks limits`.

use dlock_stores::{Queue, text::harmless};
use dlock_tasks::{LimitedQueue, limits};
use serde_json::json;

use super::{answer, rows};
use crate::{
    exit::{Exit, Failure},
    output,
};

pub(super) async fn limits(queue: &Queue) -> Result<Vec<LimitedQueue>, Failure> {
    let doing = "can't tell which queues have a limit";
    answer(queue, doing, queue.tasks().limits()).await
}

pub(super) async fn set(
    store: &Queue,
    queue: &str,
    limit: Option<u32>,
    json: bool,
) -> Result<(), Failure> {
    limits::queue(queue)
        .map_err(|error| Failure::new(Exit::Usage, "can't name a queue so").because(error))?;
    let doing = "can't limit the queue";
    answer(store, doing, store.tasks().set_limit(queue, limit)).await?;
    if json {
        output::write(&rows::to_json(&json!({"queue": queue, "limit": limit}))?)?;
        return Ok(());
    }
    let queue = harmless(queue);
    match limit {
        Some(limit) => output::line(format_args!("queue {queue} runs {limit} at a time"))?,
        None => output::line(format_args!("queue {queue} has no limit"))?,
    };
    Ok(())
}
