//! The handlers of the kinds of tasks.

use std::{collections::BTreeMap, error::Error, future::Future, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use tokio::task::{JoinHandle, spawn_blocking};

use super::{Context, held::Held};
use crate::{BadJson, How, Payload, Stop, backoff::backoff, outcome::chain};

/// The answer of a handler.
pub(super) type Answer = Result<Value, Stop>;
/// Begins to run a task. The handler holds the lease until it has ended, however it ends.
type Handler = Arc<dyn Fn(Context, Value, Held) -> Begun + Send + Sync>;

/// A handler that has begun.
pub(super) enum Begun {
    /// Polled by the future that waits for it: a separate task of the runtime for each handler took a fifth of the
    /// worker's time.
    Here(BoxFuture<'static, Answer>),
    /// Runs on a thread that it may block.
    Blocking(JoinHandle<Answer>),
}

/// How long a task waits for a worker that has a handler, if its store has given it to a worker without one.
const ELSEWHERE: Duration = Duration::from_secs(60);

#[derive(Clone, Default)]
pub(super) struct Handlers(BTreeMap<&'static str, Handler>);

impl Handlers {
    pub(super) fn add<P, F, Fut, O>(&mut self, handler: F)
    where
        P: Payload,
        F: Fn(Context, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, Stop>> + Send + 'static,
        O: Serialize + 'static,
    {
        let handler = Arc::new(handler);
        let begin = move |context: Context, payload: Value, held: Held| {
            let handler = Arc::clone(&handler);
            Begun::Here(Box::pin(async move {
                let _held = held;
                let output = handler(context, read(payload)?).await?;
                written(&output)
            }))
        };
        self.0.insert(P::KIND, Arc::new(begin));
    }

    pub(super) fn add_blocking<P, F, O>(&mut self, handler: F)
    where
        P: Payload,
        F: Fn(Context, P) -> Result<O, Stop> + Send + Sync + 'static,
        O: Serialize + 'static,
    {
        let handler = Arc::new(handler);
        let begin = move |context: Context, payload: Value, held: Held| {
            let handler = Arc::clone(&handler);
            Begun::Blocking(spawn_blocking(move || {
                let _held = held;
                let output = handler(context, read(payload)?)?;
                written(&output)
            }))
        };
        self.0.insert(P::KIND, Arc::new(begin));
    }

    /// The kinds that a claim may get. Kinds without a handler are left to workers that have one: otherwise, while a
    /// new release replaces an old one, workers of the old one would use up the attempts of tasks that only the new one
    /// knows.
    pub(super) fn kinds(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    pub(super) fn begin(&self, context: Context, payload: Value, held: Held) -> Begun {
        if let Some(handler) = self.0.get(context.task().kind.as_str()) {
            return handler(context, payload, held);
        }
        let task = context.task();
        tracing::error!(
            task = %task.key.id, kind = task.kind, has = ?self.0.keys(),
            "the store has given out a task of a kind that was not asked for; it waits for another worker"
        );
        Begun::Here(Box::pin(async move {
            let _held = held;
            Err(Stop::Snooze(ELSEWHERE))
        }))
    }
}

/// A payload of another release may be readable by a later one.
fn read<P: Payload>(payload: Value) -> Result<P, BadJson> {
    serde_json::from_value(payload).map_err(BadJson::payload)
}

fn written(output: &impl Serialize) -> Answer {
    let written = serde_json::to_value(output).map_err(BadJson::output);
    Ok(written.unwrap_or_else(|error| not_kept(&error)))
}

/// The text that a task keeps in place of an output that cannot be kept: its work is done.
pub(super) fn not_kept(error: &dyn Error) -> Value {
    format!("the output was not kept: {}", chain(error)).into()
}

/// The ending of a task whose handler has answered.
pub(super) fn ending(answer: Answer, attempt: u32) -> How {
    match answer {
        Ok(output) => How::Complete(output),
        Err(Stop::Retry { error, after }) => failed(&chain(error.as_ref()), attempt, after),
        Err(Stop::Discard { error }) => How::Discard {
            error: chain(error.as_ref()),
        },
        Err(Stop::Snooze(delay)) => How::Snooze(delay),
    }
}

pub(super) fn failed(error: &str, attempt: u32, after: Option<Duration>) -> How {
    How::Fail {
        error: error.to_owned(),
        retry_in: after.unwrap_or_else(|| backoff(attempt)),
    }
}
