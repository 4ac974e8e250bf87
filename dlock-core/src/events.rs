//! The events of locks. The code that decides something reports it once, as an [`Event`], and two sinks take from it
//! what they need: the recorder of tests, and metrics. Logs are written where they happen, since `tracing` decides
//! before a value is made whether any subscriber takes it.

mod end;
mod event;
#[cfg(feature = "metrics")]
pub(crate) mod measure;
#[cfg(feature = "metrics")]
pub mod metrics;
mod recorder;

pub(crate) use self::recorder::Recording;
pub use self::{
    end::{End, EndCause, ReleaseEnd, State},
    event::{AcquireEnd, Believed, Event},
    recorder::Recorder,
};

/// A call to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Acquire,
    Renew,
    RenewMany,
    Release,
    Read,
    Watch,
}

/// Without metrics the sink takes nothing.
#[cfg(not(feature = "metrics"))]
pub(crate) mod measure {
    use std::{sync::Arc, time::Duration};

    use super::{Event, Operation};
    use crate::{ProviderError, time::Plan};

    pub(crate) fn take(_: &'static str, _: &Plan, _: &Event) {}

    pub(crate) fn called(
        _: (&'static str, Option<&Arc<str>>),
        _: Operation,
        _: Duration,
        _: Option<&ProviderError>,
    ) {
    }
}
