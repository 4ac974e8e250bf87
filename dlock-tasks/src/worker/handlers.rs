//! Which code runs which kind of task.

use std::{collections::BTreeMap, future::Future, pin::Pin, sync::Arc, time::Duration};

use serde::Serialize;
use serde_json::Value;

use super::Context;
use crate::{BadJson, ClaimedTask, How, Payload, Stop, backoff::backoff, outcome::chain};

type Running = Pin<Box<dyn Future<Output = Result<Value, Stop>> + Send>>;
type Handler = Arc<dyn Fn(Context, Value) -> Running + Send + Sync>;

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
        let run = move |context: Context, payload: Value| -> Running {
            let handler = Arc::clone(&handler);
            Box::pin(async move {
                // A payload of another release may be readable by a later one.
                let payload = serde_json::from_value(payload).map_err(BadJson::payload)?;
                let output = handler(context, payload).await?;
                serde_json::to_value(output)
                    .map_err(BadJson::output)
                    .map_err(Stop::discard)
            })
        };
        self.0.insert(P::KIND, Arc::new(run));
    }

    /// Begins to run a task. A kind without a handler fails: another worker may have one.
    pub(super) fn run(&self, context: Context, task: &ClaimedTask) -> Running {
        if let Some(handler) = self.0.get(task.kind.as_str()) {
            return handler(context, task.payload.clone());
        }
        let kinds: Vec<_> = self.0.keys().collect();
        let error = format!(
            "this worker has no handler for tasks of the kind {:?}; it has {kinds:?}",
            task.kind
        );
        Box::pin(std::future::ready(Err(Stop::from(error))))
    }
}

/// How a task ends whose handler has answered.
pub(super) fn ending(answer: Result<Value, Stop>, attempt: u32) -> How {
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
