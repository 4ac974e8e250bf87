//! `dlock tasks pause` and `dlock tasks resume`: queues one after the other, each with its own line.

use dlock_stores::{Queue, text::harmless};
use dlock_tasks::{PausedQueue, limits};
use serde_json::json;

use super::{answer, rows};
use crate::{
    exit::{Exit, Failure},
    output,
};

pub(super) async fn paused(queue: &Queue) -> Result<Vec<PausedQueue>, Failure> {
    let doing = "can't tell which queues are paused";
    answer(queue, doing, queue.tasks().paused()).await
}

pub(super) async fn set(
    store: &Queue,
    queues: &[String],
    paused: bool,
    json: bool,
) -> Result<(), Failure> {
    let (doing, done) = if paused {
        ("can't pause", "paused")
    } else {
        ("can't resume", "resumed")
    };
    for queue in queues {
        limits::queue(queue)
            .map_err(|error| Failure::new(Exit::Usage, "can't name a queue so").because(error))?;
    }
    let mut set = Vec::new();
    let ended = async {
        for queue in queues {
            answer(store, doing, store.tasks().set_paused(queue, paused)).await?;
            if !json {
                output::line(format_args!("queue {} is {done}", harmless(queue)))?;
            }
            set.push(json!({"queue": queue, "paused": paused}));
        }
        Ok(())
    }
    .await;
    // The changes made are printed even if an error interrupted them.
    if json {
        output::write(&rows::to_json(&set)?)?;
    }
    ended
}
