//! A running handler, until it has answered or is dropped.

use std::{
    any::Any,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    task::Poll,
    time::Duration,
};

use tokio::{task::JoinError, time::timeout};

use super::{
    context::Context,
    handlers::{Answer, Begun},
};

/// The time after which the log reports a handler that keeps running although it should have ended.
const STILL: Duration = Duration::from_secs(5);

/// The answer of a handler, or why there is none.
pub(super) type Ended = Result<Answer, String>;

/// A handler; it is dropped together with the future that waits for it.
pub(super) struct Running {
    /// `None`: the handler has ended.
    begun: Option<Begun>,
    context: Context,
}

impl Running {
    pub(super) fn new(begun: Begun, context: Context) -> Self {
        Self {
            begun: Some(begun),
            context,
        }
    }

    /// Waits for the handler's answer. A panic ends only the handler.
    ///
    /// # Cancel safety
    /// The handler continues with the next call.
    pub(super) async fn answer(&mut self) -> Ended {
        let answer = match &mut self.begun {
            Some(Begun::Here(handler)) => {
                poll_fn(|context| {
                    let poll = AssertUnwindSafe(|| handler.as_mut().poll(context));
                    match catch_unwind(poll) {
                        Ok(poll) => poll.map(Ok),
                        Err(panic) => Poll::Ready(Err(panicked(&*panic))),
                    }
                })
                .await
            }
            Some(Begun::Blocking(thread)) => thread.await.map_err(cut_off),
            None => Err("the handler has ended".to_owned()),
        };
        self.drop_handler();
        answer
    }

    /// Drops the handler, or waits until a blocking one returns. Returns the answer that a blocking one gave meanwhile.
    pub(super) async fn end(&mut self) -> Option<Answer> {
        let Some(Begun::Blocking(thread)) = &mut self.begun else {
            self.drop_handler();
            return None;
        };
        thread.abort();
        if let Ok(ended) = timeout(STILL, &mut *thread).await {
            return ended.ok();
        }
        let task = self.context.task();
        tracing::warn!(
            task = %task.key.id, kind = task.kind,
            "the handler of a task that has ended keeps running, since it awaits nothing; no other task takes its place until it ends"
        );
        thread.await.ok()
    }

    /// The panic of a handler that is being dropped is of no use.
    fn drop_handler(&mut self) {
        let begun = self.begun.take();
        drop(catch_unwind(AssertUnwindSafe(|| drop(begun))));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(Begun::Blocking(thread)) = &self.begun {
            thread.abort();
        }
        self.drop_handler();
    }
}

fn cut_off(error: JoinError) -> String {
    match error.try_into_panic() {
        Ok(panic) => panicked(&*panic),
        Err(error) => format!("the handler was cut off: {error}"),
    }
}

fn panicked(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    format!("the handler panicked: {}", text.unwrap_or("without a text"))
}
