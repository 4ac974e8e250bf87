//! Identifies the caller for which the frontend acts: it runs each acquire within a separate span, in the caller's poll
//! or in a separate task. A label does not distinguish callers that share it.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    future::poll_fn,
    pin::pin,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tracing::{
    Event, Metadata, Subscriber,
    span::{Attributes, Id, Record},
};

use super::monitor::CallerId;

thread_local! {
    /// The caller whose future is being polled.
    static POLLED: Cell<Option<CallerId>> = const { Cell::new(None) };
    /// The callers of the spans that were entered.
    static WITHIN: RefCell<Vec<Option<CallerId>>> = const { RefCell::new(Vec::new()) };
}

/// Maps each acquire's span to its caller. For one thread.
#[derive(Default)]
pub(super) struct Callers {
    spans: AtomicU64,
    callers: Mutex<BTreeMap<u64, CallerId>>,
}

impl Subscriber for Callers {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.name() == "acquire"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        let span = self.spans.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(caller) = POLLED.get() {
            let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
            callers.insert(span, caller);
        }
        Id::from_u64(span)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, span: &Id) {
        let callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        let caller = callers.get(&span.into_u64()).copied();
        WITHIN.with_borrow_mut(|within| within.push(caller));
    }

    fn exit(&self, _: &Id) {
        WITHIN.with_borrow_mut(Vec::pop);
    }
}

/// Polls the acquire of this caller.
pub(super) async fn of<F: Future>(caller: CallerId, acquire: F) -> F::Output {
    let mut acquire = pin!(acquire);
    poll_fn(|context| {
        let before = POLLED.replace(Some(caller));
        let polled = acquire.as_mut().poll(context);
        POLLED.set(before);
        polled
    })
    .await
}

/// The caller whose acquire is running here.
pub(super) fn current() -> Option<CallerId> {
    WITHIN.with_borrow(|within| within.last().copied().flatten())
}
