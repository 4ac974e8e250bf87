//! A caller's acquire, as metrics and recorders see it.

use super::{Acquired, Wait};
use crate::{
    Error, ErrorKind,
    events::Recording,
    lease::Settings,
    testing::{AcquireEnd, Event},
    time::ContenderInstant,
};

/// An acquire that has not ended. Dropping it reports how it ended, or that its caller dropped the future.
pub(super) struct AcquireCall<'a> {
    lock: &'a Settings,
    /// Its number for the recorder, if there is one.
    number: u64,
    waits: bool,
    pub(super) since: ContenderInstant,
    end: AcquireEnd,
}

impl<'a> AcquireCall<'a> {
    pub(super) fn begin(lock: &'a Settings, wait: Wait) -> Self {
        let Settings { store, name, .. } = lock;
        let (waits, limit) = match wait {
            Wait::No => (false, None),
            Wait::Limit(limit) => (true, limit),
        };
        let call = store.recording.get().map_or(0, Recording::number);
        store.record(name, || Event::AcquireBegan { call, waits, limit });
        Self {
            lock,
            number: call,
            waits,
            since: store.clock.contender_now(),
            end: AcquireEnd::Dropped,
        }
    }

    pub(super) fn end(mut self, answer: &Result<Acquired, Error>) {
        self.end = match answer {
            Ok(Acquired::Holding(holding)) => {
                AcquireEnd::Granted(holding.term().uuid, holding.term().token)
            }
            Ok(Acquired::Held(_)) => AcquireEnd::Held,
            Err(Error::Timeout { .. }) => AcquireEnd::TimedOut,
            Err(Error::Closed) => AcquireEnd::Closed,
            Err(Error::Provider(error)) => AcquireEnd::Failed(error.kind()),
            // No acquire ends this way.
            Err(Error::Lost(_) | Error::TicketMismatch { .. }) => {
                AcquireEnd::Failed(ErrorKind::Unknown)
            }
        };
    }
}

impl Drop for AcquireCall<'_> {
    fn drop(&mut self) {
        let Settings {
            store, name, plan, ..
        } = self.lock;
        store.emit(name, plan, || Event::AcquireEnded {
            call: self.number,
            waited: self.waits,
            took: store.clock.elapsed(self.since),
            end: self.end,
        });
    }
}
