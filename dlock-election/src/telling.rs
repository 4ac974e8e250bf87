//! Telling subscribers of `tracing`, as `dlock-core` does: what they do runs in our tasks, which owe
//! something to a leadership and to its work, so their panics end here.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::pin,
};

use tracing::Span;

/// A span whose end is told as carefully as the rest.
pub(crate) struct Told(Option<Span>);

/// Tells something; a panic of the subscriber is reported by the panic hook, and goes no further.
pub(crate) fn told(tell: impl FnOnce()) {
    contained(tell);
}

/// A span; none if the subscriber cannot make it.
pub(crate) fn span(make: impl FnOnce() -> Span) -> Told {
    Told(contained(make))
}

/// Runs a future within a span: a panic of the future's own goes on, one of the subscriber does not.
pub(crate) async fn within<F: Future>(span: Told, work: F) -> F::Output {
    let mut work = pin!(work);
    poll_fn(|context| {
        let entered = contained(|| span.0.as_ref().map(Span::enter));
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)));
        contained(|| drop(entered));
        polled.unwrap_or_else(|panic| resume_unwind(panic))
    })
    .await
}

/// It gets to see values of ours, and changes none, hence the assertion.
fn contained<T>(tell: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(tell)).ok()
}

impl Drop for Told {
    fn drop(&mut self) {
        let span = self.0.take();
        contained(|| drop(span));
    }
}
