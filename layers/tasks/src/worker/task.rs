//! One task under its lease, from the claim to its ending.

use std::{future::pending, mem, sync::Arc};

use dlock_core::{EndCause, Grant, Sent};
use serde_json::Value;
use tokio::{
    sync::{oneshot, watch},
    task::unconstrained,
    time::sleep,
};

use super::{
    Worker,
    context::Context,
    handlers::{ending, failed, not_kept},
    held::Held,
    running::{Ended, Running},
};
use crate::{ClaimedTask, Ending, How};

/// The reason why a worker no longer waits for a handler.
enum Over {
    Answered(Ended),
    Lost(EndCause),
    TooLong,
    /// The worker stops, and the grace time has passed.
    Stopped,
}

/// Runs a task. `None` if it was lost, so that there is no ending to write.
///
/// Does not end before the handler has, unless it is dropped. `turn`: the handler begins when this resolves, and the
/// lease is renewed until then.
pub(super) async fn run(
    worker: Arc<Worker>,
    mut task: ClaimedTask,
    sent: Sent,
    mut stopping: watch::Receiver<bool>,
    turn: Option<oneshot::Receiver<()>>,
) -> Option<Ending> {
    let (key, attempt) = (task.key, task.attempt);
    let (kind, max_attempts) = (task.kind.clone(), task.max_attempts);
    let payload = mem::take(&mut task.payload);
    let name = key.name().to_string();
    let lock = match worker.lock.named(&name) {
        Ok(lock) => lock,
        // A number and a token always form a valid name.
        Err(error) => {
            tracing::error!(%error, "no lock for a claim");
            return None;
        }
    };
    let guard = lock
        .adopt(Grant::new(key.uuid, key.token, sent))
        .keep_alive();
    let lease = guard.view();
    let held = Held::new(guard);
    let context = Context::new(
        task,
        lease.clone(),
        stopping.clone(),
        Arc::clone(&worker.settings.store),
    );
    if let Some(turn) = turn {
        let stops = &mut stopping;
        tokio::select! {
            biased;
            end = unconstrained(lease.ended()) => {
                tracing::warn!(task = %key.id, token = %key.token, "a task was lost before its turn: {}", end.cause);
                return None;
            }
            Ok(()) = turn => {}
            // An error: the worker is gone.
            _ = stops.wait_for(|stopping| *stopping) => {
                held.leave();
                return Some(Ending::new(key, How::GiveBack));
            }
        }
    }
    let begun = worker
        .handlers
        .begin(context.clone(), payload, held.clone());
    let mut handler = Running::new(begun, context);
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
        answer = handler.answer() => Over::Answered(answer),
        // Outside the cooperative budget, so that this works even if an always ready handler has used up the budget of
        // the runtime.
        end = unconstrained(lease.ended()) => Over::Lost(end.cause),
        () = unconstrained(too_long) => Over::TooLong,
        () = unconstrained(grace) => Over::Stopped,
    };
    let over = match over {
        // An answer that comes after the lease has ended does not count.
        Over::Answered(_) if !lease.is_valid() => Over::Lost(lease.ended().await.cause),
        over => over,
    };
    if let Over::Lost(cause) = over {
        tracing::warn!(task = %key.id, token = %key.token, "a task was lost: {cause}");
        drop(handler.end().await);
        return None;
    }
    held.leave();
    let how = match over {
        Over::Answered(Ok(answer)) => ending(answer, attempt),
        Over::Answered(Err(error)) => failed(&error, attempt, None),
        Over::TooLong => {
            drop(handler.end().await);
            let limit = limit.unwrap_or_default();
            let error = format!("the handler took longer than {limit:?}");
            failed(&error, attempt, None)
        }
        // A blocking handler may still have completed the work.
        Over::Stopped => match handler.end().await {
            Some(Ok(output)) => How::Complete(output),
            _ => How::GiveBack,
        },
        Over::Lost(_) => return None,
    };
    if let How::Fail { error, .. } | How::Discard { error } = &how {
        tracing::warn!(task = %key.id, kind, attempt, max_attempts, %error, "an attempt of a task failed");
    }
    Some(storable(Ending::new(key, how)))
}

/// The work is done, whatever its output holds: if the output cannot be kept as it is, keep a note in its place.
fn storable(ending: Ending) -> Ending {
    let (Err(error), How::Complete(output)) = (ending.check(), &ending.how) else {
        return ending;
    };
    tracing::warn!(task = %ending.key.id, %error, "the output of a task is not kept as it is");
    let complete = |output| Ending::new(ending.key, How::Complete(output));
    let replaced = complete(without_nul(output));
    match replaced.check() {
        Ok(_) => replaced,
        Err(error) => complete(not_kept(&error)),
    }
}

fn without_nul(value: &Value) -> Value {
    let replaced = |text: &String| text.replace('\0', "\u{fffd}");
    match value {
        Value::String(text) => replaced(text).into(),
        Value::Array(values) => values.iter().map(without_nul).collect(),
        Value::Object(map) => {
            let each = |(key, value)| (replaced(key), without_nul(value));
            map.iter().map(each).collect()
        }
        other => other.clone(),
    }
}
