//! The traces of a unit test.

use std::{cell::RefCell, sync::OnceLock};

use tracing::{
    Dispatch, Event, Metadata, Subscriber,
    span::{Attributes, Id, Record},
};

thread_local! {
    static EVENTS: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

/// Keeps the names of the events of each thread.
struct ByThread;

/// The events of this thread during the call, by their names.
pub(crate) fn events(during: impl FnOnce()) -> Vec<&'static str> {
    listen();
    EVENTS.take();
    during();
    EVENTS.take()
}

/// For all threads, and with a second subscriber: while there is only one, an event that a thread meets for the first
/// time before the subscriber is set stays switched off.
fn listen() {
    static SECOND: OnceLock<Dispatch> = OnceLock::new();
    SECOND.get_or_init(|| {
        let (first, second) = (Dispatch::new(ByThread), Dispatch::new(ByThread));
        tracing::dispatcher::set_global_default(first).unwrap();
        second
    });
}

impl Subscriber for ByThread {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn event(&self, event: &Event<'_>) {
        EVENTS.with_borrow_mut(|events| events.push(event.metadata().name()));
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
