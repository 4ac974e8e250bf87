//! One task under its lease, from the claim to the word that ends it.

use std::sync::Arc;

use dlock_core::{Grant, Guard, Sent};
use tokio::{
    sync::watch,
    task::JoinError,
    time::{sleep, timeout},
};

use super::{
    Worker,
    context::Context,
    handlers::{ending, failed},
};
use crate::{ClaimedTask, Ending, How};

/// Runs a task. `None` if it was lost, so that there is nothing to write (J2).
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
    let context = Context::new(
        task.clone(),
        guard.watch(),
        stopping.clone(),
        Arc::clone(&worker.settings.store),
    );
    let handler = worker.handlers.run(context, &task);
    let limit = worker.settings.timeout;
    // A task of its own, so that a panic is the handler's; it ends with this future.
    let mut running = AbortOnDrop(tokio::spawn(async move {
        match limit {
            Some(limit) => timeout(limit, handler).await.ok(),
            None => Some(handler.await),
        }
    }));
    let grace = async {
        // An error: the worker is gone.
        drop(stopping.wait_for(|stopping| *stopping).await);
        sleep(worker.settings.grace).await;
    };
    let how = tokio::select! {
        biased;
        end = guard.ended() => {
            tracing::warn!(task = %key.id, token = %key.token, "a task was lost: {}", end.cause);
            return None;
        }
        answer = &mut running.0 => match answer {
            Ok(Some(answer)) => ending(answer, task.attempt),
            Ok(None) => {
                let error = format!("the handler took longer than {:?}", limit.unwrap_or_default());
                failed(&error, task.attempt, None)
            }
            Err(error) => failed(&panicked(error), task.attempt, None),
        },
        () = grace => How::GiveBack,
    };
    drop(running);
    leave(guard);
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

/// The lease goes on in the store until the ending is there: no release, which would give the task to
/// somebody else, and no more heartbeats.
fn leave(guard: Guard) {
    // An error: it is lost by now, and the store will say so.
    drop(guard.hand_over());
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

/// A handler is dropped with what waits for it.
struct AbortOnDrop<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
