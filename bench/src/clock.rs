//! Instants that processes of one host can compare: `CLOCK_MONOTONIC`.

use std::{fmt, time::Duration};

use rustix::time::{ClockId, Timespec, clock_gettime};
use serde::{Deserialize, Serialize};

/// Nanoseconds on `CLOCK_MONOTONIC`, which all processes of one boot share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Moment(u64);

impl Moment {
    pub(crate) fn now() -> Self {
        Self(nanoseconds(clock_gettime(ClockId::Monotonic)))
    }

    /// A moment that was read from a store.
    pub(crate) const fn at(nanoseconds: u64) -> Self {
        Self(nanoseconds)
    }

    pub(crate) const fn nanoseconds(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this is; zero if it is not.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    pub(crate) fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(whole(span)))
    }

    /// Sleeps until then; tokio's timer is exact to a millisecond.
    pub(crate) async fn reached(self) {
        tokio::time::sleep(self.since(Self::now())).await;
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration::from_nanos(self.0).fmt(f)
    }
}

/// The processor time that this process has used so far.
pub(crate) fn process_time() -> Duration {
    Duration::from_nanos(nanoseconds(clock_gettime(ClockId::ProcessCPUTime)))
}

/// The processor time that this thread has used so far.
pub(crate) fn thread_time() -> Duration {
    Duration::from_nanos(nanoseconds(clock_gettime(ClockId::ThreadCPUTime)))
}

fn nanoseconds(time: Timespec) -> u64 {
    let part = |number: i64| u64::try_from(number).unwrap_or_default();
    part(time.tv_sec) * 1_000_000_000 + part(time.tv_nsec)
}

fn whole(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
