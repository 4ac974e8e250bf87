//! Calls subscribers of `tracing`, as `dlock-core` does. They run in this crate's tasks, on which a leadership and its
//! work depend, so a panic of a subscriber is caught here.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    task::Poll,
};

use tracing::Span;

/// A span whose end is reported as carefully as the rest.
pub(crate) struct Told(Option<Span>);

/// Emits an event; the panic hook reports a panic of the subscriber, which goes no further.
pub(crate) fn told(tell: impl FnOnce()) {
    contained(tell);
}

/// Creates a span; it is empty if the subscriber panics.
pub(crate) fn span(make: impl FnOnce() -> Span) -> Told {
    Told(contained(make))
}

/// Runs a future within a span, its drop included: a panic of the future propagates, one of the subscriber does not.
pub(crate) async fn within<F: Future>(span: Told, work: F) -> F::Output {
    let mut work = Within {
        work: Some(Box::pin(work)),
        span,
    };
    poll_fn(|context| {
        work.enter(|work| {
            work.as_mut()
                .map_or(Poll::Pending, |work| work.as_mut().poll(context))
        })
    })
    .await
}

/// A future and its span.
struct Within<F> {
    work: Option<Pin<Box<F>>>,
    span: Told,
}

impl<F> Within<F> {
    fn enter<T>(&mut self, act: impl FnOnce(&mut Option<Pin<Box<F>>>) -> T) -> T {
        let Self { work, span } = self;
        let entered = contained(|| span.0.as_ref().map(Span::enter));
        let done = catch_unwind(AssertUnwindSafe(|| act(work)));
        contained(|| drop(entered));
        done.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl<F> Drop for Within<F> {
    fn drop(&mut self) {
        self.enter(|work| drop(work.take()));
    }
}

/// The subscriber sees values of this crate but changes none, hence the assertion.
fn contained<T>(tell: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(tell)).ok()
}

impl Drop for Told {
    fn drop(&mut self) {
        let span = self.0.take();
        contained(|| drop(span));
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::{Context, Waker},
    };

    use tracing::{
        Event, Metadata, Subscriber,
        span::{Attributes, Id, Record},
    };

    use super::*;

    /// Counts the depth of spans.
    struct Depth(Arc<AtomicUsize>);

    impl Subscriber for Depth {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, _: &Event<'_>) {}

        fn enter(&self, _: &Id) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }

        fn exit(&self, _: &Id) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Remembers the depth at which it was dropped.
    struct Dropped(Arc<AtomicUsize>, Arc<AtomicUsize>);

    impl Drop for Dropped {
        fn drop(&mut self) {
            let Self(depth, seen) = self;
            seen.store(depth.load(Ordering::SeqCst), Ordering::SeqCst);
        }
    }

    #[test]
    fn work_that_is_dropped_is_dropped_in_its_span() {
        let (depth, seen) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        tracing::subscriber::with_default(Depth(Arc::clone(&depth)), || {
            let held = Dropped(Arc::clone(&depth), Arc::clone(&seen));
            let span = span(|| tracing::error_span!("leading"));
            let mut work = Box::pin(within(span, async move {
                let _held = held;
                pending::<()>().await;
            }));
            let mut context = Context::from_waker(Waker::noop());
            assert!(work.as_mut().poll(&mut context).is_pending());
            assert_eq!(depth.load(Ordering::SeqCst), 0);
        });
        assert_eq!(seen.load(Ordering::SeqCst), 1);
        assert_eq!(depth.load(Ordering::SeqCst), 0);
    }
}
