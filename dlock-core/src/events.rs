//! Events for recorders and metrics. Logs are written where they happen
//! ([`emit`](crate::emit)).

mod end;
mod measure;
#[cfg(feature = "metrics")]
pub mod metrics;
mod recorder;

pub use self::{
    end::{End, EndCause, ReleaseEnd, State},
    recorder::{AcquireEnd, Believed, Event, Recorder},
};
pub(crate) use self::{
    measure::{Measured, Operation, Source, measured},
    recorder::Recording,
};
