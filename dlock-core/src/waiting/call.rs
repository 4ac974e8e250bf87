//! A caller's call for a lock, as those who watch see it.

use super::{Acquired, Wait};
use crate::{
    AskEnd, Error, ErrorKind, Event,
    events::{Measured, Recording, measured},
    time::Look,
    waiting::Settings,
};

/// A call for the lock that has not ended. Dropping it tells how it did, or that the caller went away.
pub(super) struct Call<'a> {
    lock: &'a Settings,
    /// Its number, if there is a recorder.
    number: Option<u64>,
    waits: bool,
    /// If anybody measures.
    since: Option<Look>,
    end: AskEnd,
}

impl<'a> Call<'a> {
    pub(super) fn begin(lock: &'a Settings, wait: Wait) -> Self {
        let Settings { store, name, .. } = lock;
        let (waits, limit) = match wait {
            Wait::No => (false, None),
            Wait::Limit(limit) => (true, limit),
        };
        let number = store.recording.get().map(Recording::number);
        if let Some(call) = number {
            store.tell(name, || Event::Asked { call, waits, limit });
        }
        Self {
            lock,
            number,
            waits,
            since: measured(|| store.clock.look()),
            end: AskEnd::Dropped,
        }
    }

    pub(super) fn end(mut self, answer: &Result<Acquired, Error>) {
        self.end = match answer {
            Ok(Acquired::Holding(holding)) => AskEnd::Granted(holding.term().uuid),
            Ok(Acquired::Held(_)) => AskEnd::Held,
            Err(Error::Timeout { .. }) => AskEnd::TimedOut,
            Err(Error::Closed) => AskEnd::Closed,
            Err(Error::Provider(error)) => AskEnd::Failed(error.kind()),
            // No acquire ends so.
            Err(Error::Lost(_) | Error::OtherLock { .. }) => AskEnd::Failed(ErrorKind::Unknown),
        };
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let Settings { store, plan, .. } = self.lock;
        let (end, waited) = (self.end, self.waits);
        if let Some(since) = self.since {
            let took = store.clock.elapsed(since);
            let asked = || Measured::Asked { waited, took, end };
            store.source(plan).measure(asked);
        }
        if let Some(call) = self.number {
            store.tell(&self.lock.name, || Event::AskEnded { call, end });
        }
    }
}
