//! A caller's acquire, as metrics and recorders see it.

use super::{Acquired, Wait};
use crate::{
    Error, ErrorKind,
    events::{Measured, Recording, measured},
    lease::Settings,
    testing::{AcquireEnd, Event},
    time::ContenderInstant,
};

/// An acquire that has not ended. Dropping it reports how it ended, or that its caller dropped the future.
pub(super) struct AcquireCall<'a> {
    lock: &'a Settings,
    /// Its number, if there is a recorder.
    number: Option<u64>,
    waits: bool,
    /// If anybody measures.
    since: Option<ContenderInstant>,
    end: AcquireEnd,
}

impl<'a> AcquireCall<'a> {
    pub(super) fn begin(lock: &'a Settings, wait: Wait) -> Self {
        let Settings { store, name, .. } = lock;
        let (waits, limit) = match wait {
            Wait::No => (false, None),
            Wait::Limit(limit) => (true, limit),
        };
        let number = store.recording.get().map(Recording::number);
        if let Some(call) = number {
            store.emit(name, || Event::AcquireBegan { call, waits, limit });
        }
        Self {
            lock,
            number,
            waits,
            since: measured(|| store.clock.contender_now()),
            end: AcquireEnd::Dropped,
        }
    }

    pub(super) fn end(mut self, answer: &Result<Acquired, Error>) {
        self.end = match answer {
            Ok(Acquired::Holding(holding)) => AcquireEnd::Granted {
                uuid: holding.term().uuid,
                token: holding.term().token,
            },
            Ok(Acquired::Held(_)) => AcquireEnd::Held,
            Err(Error::Timeout { .. }) => AcquireEnd::TimedOut,
            Err(Error::Closed) => AcquireEnd::Closed,
            Err(Error::Provider(error)) => AcquireEnd::Failed(error.kind()),
            // No acquire ends so.
            Err(Error::Lost(_) | Error::TicketMismatch { .. }) => {
                AcquireEnd::Failed(ErrorKind::Unknown)
            }
        };
    }
}

impl Drop for AcquireCall<'_> {
    fn drop(&mut self) {
        let Settings { store, plan, .. } = self.lock;
        let (end, waited) = (self.end, self.waits);
        if let Some(since) = self.since {
            let took = store.clock.elapsed(since);
            let asked = || Measured::AcquireEnded { waited, took, end };
            store.source(plan).measure(asked);
        }
        if let Some(call) = self.number {
            store.emit(&self.lock.name, || Event::AcquireEnded { call, end });
        }
    }
}
