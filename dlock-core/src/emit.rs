//! Emitting events to subscribers of `tracing` and to recorders. Observers run in our tasks, amid duties to leases
//! that have nothing to do with the event, so their panics end here: what happens to a lock must not depend on its
//! observers.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;
use tracing::Span;

/// Calls an observer. Its panic is reported by the panic hook, and goes no further.
pub(crate) fn contained<T>(call: impl FnOnce() -> T) -> Option<T> {
    // The observer sees values of ours and changes none, hence the assertion.
    catch_unwind(AssertUnwindSafe(call)).ok()
}

/// Writes an event of `tracing`, [`contained`]: `log!(debug, name: "spent", "spent; trying again")`.
macro_rules! log {
    ($level:ident, $($event:tt)+) => {{
        $crate::emit::contained(|| ::tracing::$level!($($event)+));
    }};
}
pub(crate) use log;

/// A span; none if the subscriber panics while it is made.
pub(crate) fn span(make: impl FnOnce() -> Span) -> Span {
    contained(make).unwrap_or_else(Span::none)
}

/// Runs a future within a span: a panic of the future's own propagates, one of the span's subscriber does not.
pub(crate) const fn within<F: Future>(span: Span, work: F) -> Within<F> {
    let span = ContainedSpan(Some(span));
    Within { work, span }
}

pin_project! {
    /// Work within a span. Not an `async fn`: that would have room for the work twice, as its argument and pinned,
    /// and an acquire with its whole wait is large.
    pub(crate) struct Within<F> {
        // Dropped before its span ends.
        #[pin]
        work: F,
        span: ContainedSpan,
    }
}

impl<F: Future> Future for Within<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let entered = contained(|| this.span.0.as_ref().map(Span::enter));
        let polled = catch_unwind(AssertUnwindSafe(|| this.work.poll(context)));
        contained(|| drop(entered));
        polled.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

/// A span that contains the subscriber's panics when it ends.
struct ContainedSpan(Option<Span>);

impl Drop for ContainedSpan {
    fn drop(&mut self) {
        let span = self.0.take();
        contained(|| drop(span));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn panic_of_the_work_goes_on_and_one_of_its_watcher_does_not() {
        assert_eq!(contained(|| 7), Some(7));
        assert_eq!(contained(|| panic!("on purpose")), None::<()>);
        assert_eq!(within(Span::none(), async { 7 }).await, 7);
        let panics = tokio::spawn(within(Span::none(), async { panic!("on purpose") }));
        let ended: Result<(), _> = panics.await;
        assert!(ended.is_err_and(|error| error.is_panic()));
    }
}
