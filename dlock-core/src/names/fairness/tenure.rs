//! How long this client has had a name to itself, and for how long it leaves the name to others (W8; F11
//! and F12).
//!
//! A client whose tasks ask one after the other can keep a name for ever: the waiters of other processes
//! find it held whenever they look. They cannot be seen (a refused try writes nothing, A7), so a waiter
//! that is passed over makes a reservation, which is `waiting::reserving`'s; here is when to look for one,
//! and what follows from it.

use std::time::Duration;

use crate::{Clock, provider::Version, time::ContenderInstant};

/// One client's time with one name.
#[derive(Default)]
pub(super) struct Tenure {
    /// When it began: since then no other client was seen with the name, and this one never left the name alone
    /// for long.
    since: Option<ContenderInstant>,
    /// When the reservation was last read, and for how long it need not be read again.
    looked: Option<(ContenderInstant, Duration)>,
    /// The reservation that the name was last left to, and when its version was first seen: a dead waiter's
    /// counts for no longer than it lasts.
    heeded: Option<(Version, ContenderInstant)>,
    /// When a reservation was last found, and for how long that is taken into account.
    found: Option<(ContenderInstant, Duration)>,
    away: Option<Away>,
}

/// A reservation is forgotten so many absences after it was found, which is longer than a round of a few clients.
const KNOWN: u32 = 5;

/// The name is left to others (F12).
struct Away {
    since: ContenderInstant,
    lasts: Duration,
}

impl Tenure {
    /// A term of this client begins. `idle`: the time from the last one to the try for this one, if there was one.
    pub(super) fn granted(
        &mut self,
        idle: Option<Duration>,
        longest_idle: Duration,
        now: ContenderInstant,
    ) {
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

    /// No other client has a reservation: the name is left to none any more.
    pub(super) fn nobody_reserves(&mut self) {
        self.found = None;
        self.away = None;
    }

    /// As far as is known, another client has a reservation.
    pub(super) fn is_reserved(&self, clock: &Clock) -> bool {
        self.found
            .is_some_and(|(at, lasts)| clock.elapsed(at) < lasts)
    }

    /// Whether it is time to read the reservation: after a `span`, and then twice in each, since a read waits for
    /// a row of hand-overs to end. Counts as having read it.
    pub(super) fn is_due(&mut self, span: Duration, now: ContenderInstant) -> bool {
        let long = |since: ContenderInstant, span| now.since(since) >= span;
        let due = self.since.is_some_and(|since| long(since, span))
            && self.looked.is_none_or(|(at, will_do)| long(at, will_do));
        if due {
            self.looked = Some((now, span / 2));
        }
        due
    }

    /// A read got no answer: the next one comes no sooner than after this pause, since it may take as long.
    pub(super) fn look_failed(&mut self, pause: Duration, now: ContenderInstant) {
        let will_do = self.looked.map_or(pause, |(_, before)| before.max(pause));
        self.looked = Some((now, will_do));
    }

    /// Another client has this reservation of such a duration: the name is left to others.
    pub(super) fn heed(
        &mut self,
        reservation: Version,
        duration: Duration,
        lasts: Duration,
        now: ContenderInstant,
    ) {
        let seen = self
            .heeded
            .filter(|(version, _)| *version == reservation)
            .map_or(now, |(_, seen)| seen);
        self.heeded = Some((reservation, seen));
        if now.since(seen) < duration {
            self.found = Some((now, KNOWN * lasts));
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
