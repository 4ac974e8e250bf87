//! The observation that a client has made of a name (O1): the version that its store last showed, and since when.

use std::time::Duration;

use super::NameState;
use crate::{Clock, Record, provider::Version, time::ContenderInstant};

/// A version that has been seen unchanged since `first`.
pub(super) struct Observation {
    version: Version,
    duration: Duration,
    /// The remainder of the lease that the store reported last.
    remaining: Option<Duration>,
    first: ContenderInstant,
    last: ContenderInstant,
    /// Whether it is kept for later processes of this host (O4).
    kept: bool,
}

impl Observation {
    /// How long until the lease has run out, by the store's clock or by ours.
    fn runs_out_in(&self, clock: &Clock) -> Duration {
        let observed = self.duration.saturating_sub(clock.elapsed(self.first));
        self.remaining.map_or(observed, |left| {
            left.saturating_sub(clock.elapsed(self.last)).min(observed)
        })
    }

    /// Whether no reply has repeated it for ten durations (O2). Another client set the duration to any value.
    pub(super) fn is_old(&self, clock: &Clock) -> bool {
        clock.elapsed(self.last) > self.duration.saturating_mul(10)
    }
}

impl NameState {
    /// A reply or a read showed this record. Called after the reply: an observation counts from there. A read, even a
    /// stale one, observes as well as a refusal does, since A6 is conditional. Returns that instant if the client
    /// sees the version for the first time.
    pub(crate) fn saw(&self, clock: &Clock, record: &Record) -> Option<ContenderInstant> {
        let now = clock.contender_now();
        let mut known = self.known();
        if known.newest == Some(record.uuid) {
            // The last token of the block that the term's leases have their tokens from.
            known.highest = known.highest.max(record.token.get());
        } else {
            known.saw_elsewhere(record.token.get());
        }
        if record.released {
            known.observation = None;
            return None;
        }
        match &mut known.observation {
            Some(seen) if seen.version == record.version() => {
                seen.version = record.version();
                seen.remaining = record.remaining;
                seen.last = now;
                None
            }
            _ => {
                let (version, duration) = (record.version(), record.duration);
                known.observation = Some(Box::new(Observation {
                    version,
                    duration,
                    remaining: record.remaining,
                    first: now,
                    last: now,
                    kept: false,
                }));
                Some(now)
            }
        }
    }

    /// The place for observations reports that a process of this host has seen this version since `first`, or it now
    /// keeps this client's own instant. Returns whether the version may be claimed now.
    pub(crate) fn recalled(
        &self,
        clock: &Clock,
        version: Version,
        first: ContenderInstant,
    ) -> bool {
        let mut known = self.known();
        let seen = known.observation.as_mut();
        let Some(seen) = seen.filter(|seen| seen.version == version) else {
            return false;
        };
        seen.kept = true;
        if clock.elapsed(first) > clock.elapsed(seen.first) {
            seen.first = first;
        }
        clock.elapsed(seen.first) >= seen.duration
    }

    /// How long this version has been seen unchanged, and whether that is kept for later processes.
    pub(crate) fn observed(&self, clock: &Clock, version: Version) -> (Duration, bool) {
        let known = self.known();
        let seen = known.observation.as_ref();
        seen.filter(|seen| seen.version == version)
            .map_or((Duration::ZERO, false), |seen| {
                (clock.elapsed(seen.first), seen.kept)
            })
    }

    /// The version that was seen unchanged for its record's whole duration, if there is one: claim
    /// (a) of `prev` (A6).
    pub(crate) fn claim(&self, clock: &Clock) -> Option<Version> {
        let known = self.known();
        let seen = known.observation.as_ref()?;
        (clock.elapsed(seen.first) >= seen.duration).then_some(seen.version)
    }

    /// How long until [`NameState::claim`] has something to claim.
    pub(crate) fn observation_left(&self, clock: &Clock) -> Option<Duration> {
        let known = self.known();
        let seen = known.observation.as_ref()?;
        Some(seen.duration.saturating_sub(clock.elapsed(seen.first)))
    }

    /// Whether another client's lease, which was last seen, has run out since, as far as this client can tell. For
    /// metrics; it decides nothing.
    pub(crate) fn has_run_out(&self, clock: &Clock) -> bool {
        let known = self.known();
        known.observation.as_ref().is_some_and(|seen| {
            seen.runs_out_in(clock).is_zero() && !known.is_ours(seen.version.uuid)
        })
    }

    /// Forgets an observation that no reply has repeated for ten durations (O2).
    pub(crate) fn forget_old_observation(&self, clock: &Clock) {
        let mut known = self.known();
        if known
            .observation
            .as_ref()
            .is_some_and(|seen| seen.is_old(clock))
        {
            known.observation = None;
        }
    }
}
