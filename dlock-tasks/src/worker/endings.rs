//! Writes endings: those that come while one call is under way travel in the next (J2).

use std::{mem, sync::Arc, time::Duration};

use dlock_core::ErrorKind;
use tokio::{sync::mpsc, time::sleep};

use crate::{Ended, Ending, TaskStore};

/// The most in one call.
const BATCH: usize = 500;

/// The pauses between calls that fail, from the first to the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// Writes what comes until the sender is gone.
///
/// An ending is repeated until the store answers: it holds also when the lease has run out, as long as nobody else
/// has claimed the task.
pub(super) async fn write(store: Arc<dyn TaskStore>, mut endings: mpsc::Receiver<Ending>) {
    let mut batch = Vec::new();
    while endings.recv_many(&mut batch, BATCH).await > 0 {
        finish(&*store, mem::take(&mut batch)).await;
    }
}

async fn finish(store: &dyn TaskStore, endings: Vec<Ending>) {
    let mut pause = PAUSES.0;
    loop {
        match store.finish(&endings).await {
            Ok(ended) => return tell(&endings, &ended),
            // One of them cannot be written, such as an output that is too large. The others can.
            Err(error) if error.kind() == ErrorKind::Fatal && endings.len() > 1 => {
                for ending in endings {
                    Box::pin(finish(store, vec![ending])).await;
                }
                return;
            }
            Err(error) if error.kind() == ErrorKind::Fatal => {
                let key = endings.first().map(|ending| ending.key);
                tracing::error!(?key, %error, "a task cannot be ended, and comes again when its lease runs out");
                return;
            }
            Err(error) => tracing::warn!(%error, "tasks cannot be ended yet"),
        }
        sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

fn tell(endings: &[Ending], ended: &[Ended]) {
    for (ending, ended) in endings.iter().zip(ended) {
        let (task, token) = (ending.key.id, ending.key.token);
        match ended {
            Ended::Own(state) => tracing::debug!(%task, %token, "a task is {state}"),
            Ended::Lost(state) => tracing::warn!(
                %task, %token, ?state,
                "a task was lost before it was ended: its work may be done twice"
            ),
        }
    }
}
