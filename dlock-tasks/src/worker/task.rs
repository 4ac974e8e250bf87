//! One task under its lease, from the claim to the word that ends it.

use std::{future::pending, sync::Arc, time::Duration};

use dlock_core::{EndCause, Grant, Sent};
use tokio::{
    sync::watch,
    task::{JoinError, JoinHandle},
    time::{sleep, timeout},
};

use super::{
    Worker,
    context::Context,
    handlers::{Answer, ending, failed},
    held::Held,
};
use crate::{ClaimedTask, Ending, How};

/// After which time the log says that a handler goes on that should have ended.
const STILL: Duration = Duration::from_secs(5);

/// Why a worker waits for a handler no longer.
enum Over {
    Answered(Result<Answer, JoinError>),
    Lost(EndCause),
    TooLong,
    /// The worker stops, and the grace time is over.
    Stopped,
}

/// Runs a task. `None` if it was lost, so that there is nothing to write (J2).
///
/// Does not end before the handler has, unless it is dropped.
pub(super) async fn run(
    worker: Arc<Worker>,
    task: ClaimedTask,
    sent: Sent,
    mut stopping: watch::Receiver<bool>,
) -> Option<Ending> {
    let key = task.key;
    let name = key.name().to_string();
    let lock = match worker.lock.named(&name) {
        Ok(lock) => lock,
        // A number and a token are a name.
        Err(error) => {
            tracing::error!(%error, "no lock for a claim");
            return None;
        }
    };
    let guard = lock
        .adopt(Grant::new(key.uuid, key.token, sent))
        .keep_alive();
    let lease = guard.watch();
    let held = Held::new(guard);
    let context = Context::new(
        task.clone(),
        lease.clone(),
        stopping.clone(),
        Arc::clone(&worker.settings.store),
    );
    let mut handler = Running(worker.handlers.begin(context, &task, held.clone()));
    let limit = worker.settings.timeout;
    let too_long = async {
        match limit {
            Some(limit) => sleep(limit).await,
            None => pending().await,
        }
    };
    let grace = async {
        // An error: the worker is gone.
        drop(stopping.wait_for(|stopping| *stopping).await);
        sleep(worker.settings.grace).await;
    };
    let over = tokio::select! {
        biased;
        end = lease.ended() => Over::Lost(end.cause),
        answer = &mut handler.0 => Over::Answered(answer),
        () = too_long => Over::TooLong,
        () = grace => Over::Stopped,
    };
    if let Over::Lost(cause) = over {
        tracing::warn!(task = %key.id, token = %key.token, "a task was lost: {cause}");
        drop(handler.end(&task).await);
        return None;
    }
    held.leave();
    let how = match over {
        Over::Answered(Ok(answer)) => ending(answer, task.attempt),
        Over::Answered(Err(error)) => failed(&panicked(error), task.attempt, None),
        Over::TooLong => {
            drop(handler.end(&task).await);
            let limit = limit.unwrap_or_default();
            let error = format!("the handler took longer than {limit:?}");
            failed(&error, task.attempt, None)
        }
        // A blocking handler may still have done it.
        Over::Stopped => match handler.end(&task).await {
            Ok(Ok(output)) => How::Complete(output),
            _ => How::GiveBack,
        },
        Over::Lost(_) => return None,
    };
    let ending = Ending::new(key, how);
    // What cannot be kept now cannot be kept after a further attempt.
    Some(match ending.check() {
        Ok(_) => ending,
        Err(error) => Ending::new(
            key,
            How::Discard {
                error: error.to_string(),
            },
        ),
    })
}

fn panicked(error: JoinError) -> String {
    match error.try_into_panic() {
        Ok(panic) => {
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied());
            format!("the handler panicked: {}", text.unwrap_or("without a text"))
        }
        Err(error) => format!("the handler was cut off: {error}"),
    }
}

/// A handler; it is dropped with what waits for it.
struct Running(JoinHandle<Answer>);

impl Running {
    /// Drops the handler and waits until that is done: at its next await, or when a blocking one returns. What it
    /// has answered meanwhile.
    async fn end(&mut self, task: &ClaimedTask) -> Result<Answer, JoinError> {
        self.0.abort();
        if let Ok(ended) = timeout(STILL, &mut self.0).await {
            return ended;
        }
        tracing::warn!(
            task = %task.key.id, kind = task.kind,
            "the handler of a task that is over goes on, since it awaits nothing; no other task takes its place until it ends"
        );
        (&mut self.0).await
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}
