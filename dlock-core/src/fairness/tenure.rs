//! How long this client has had a name to itself, and for how long it leaves the name to others (W8).
//!
//! A client whose tasks ask one after the other can keep a name for ever: the waiters of other processes
//! find it held whenever they look. They cannot be seen (a refused try writes nothing, A7), so a waiter
//! that is passed over makes a reservation, which is `waiting::reserving`'s; here is when to look for one,
//! and what follows from it.

use std::time::Duration;

use crate::{Clock, Version, clock::Look};

/// One client's time with one name.
#[derive(Default)]
pub(super) struct Tenure {
    /// When it began: no other client has been seen with the name since, and the name was never free for
    /// long.
    since: Option<Look>,
    /// When a reservation was last looked for.
    looked: Option<Look>,
    /// The reservation that the name was last left to. Each version of it counts once, so one that a dead
    /// waiter has left costs one absence.
    heeded: Option<Version>,
    away: Option<Away>,
}

/// The name is left to others.
struct Away {
    since: Look,
    lasts: Duration,
}

impl Tenure {
    /// A term of ours begins; the last one ended so long ago, if there was one.
    pub(super) fn granted(&mut self, idle: Option<Duration>, longest_idle: Duration, now: Look) {
        if self.since.is_none() || idle.is_none_or(|idle| idle > longest_idle) {
            self.since = Some(now);
        }
        self.away = None;
    }

    /// Another client has the name, or has had it.
    pub(super) fn ended(&mut self) {
        self.since = None;
        self.away = None;
    }

    /// Whether it is time to look for a reservation: once in every `span`. Counts as having looked.
    pub(super) fn is_due(&mut self, span: Duration, clock: &Clock) -> bool {
        let long = |since: Option<Look>| since.map(|since| clock.elapsed(since) >= span);
        let due = long(self.since) == Some(true) && long(self.looked) != Some(false);
        if due {
            self.looked = Some(clock.look());
        }
        due
    }

    /// Another client has this reservation: the name is left to others, unless it was left to this very
    /// version before.
    pub(super) fn heed(&mut self, reservation: Version, lasts: Duration, now: Look) {
        if self.heeded != Some(reservation) {
            self.heeded = Some(reservation);
            self.away = Some(Away { since: now, lasts });
        }
    }

    /// For how much longer the name is left to others.
    pub(super) fn away(&self, clock: &Clock) -> Duration {
        self.away.as_ref().map_or(Duration::ZERO, |away| {
            away.lasts.saturating_sub(clock.elapsed(away.since))
        })
    }
}
