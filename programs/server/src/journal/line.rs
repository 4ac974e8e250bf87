//! The history of one lease, and its last known state.

use std::{
    collections::VecDeque,
    mem::size_of,
    sync::Arc,
    time::{Duration, SystemTime},
};

use dlock_core::{FencingToken, Record};
use dlock_http::{
    Millis, Time,
    leases::{self as wire, What},
};
use uuid::Uuid;

/// Older events are forgotten.
pub(super) const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The limit for each name. Older entries go first.
const MOST_ENTRIES: usize = 100;

/// The last known state of a lease.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) uuid: Uuid,
    pub(super) token: FencingToken,
    pub(super) owner: Arc<str>,
    pub(super) renewals: u64,
    pub(super) asked: bool,
    pub(super) state: State,
}

/// The state of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Held,
    Revoked,
    Closed,
    Released,
    Expired,
}

/// The history of one lease.
#[derive(Debug)]
pub(super) struct Line {
    known: Known,
    seen: SystemTime,
    changed: u64,
    entries: VecDeque<Entry>,
    bytes: usize,
}

/// One event.
#[derive(Debug)]
pub(super) struct Entry {
    at: SystemTime,
    within: Option<Duration>,
    what: What,
    times: Option<u64>,
    token: FencingToken,
    owner: Arc<str>,
}

impl Line {
    /// The line of a name of which nothing was known before it was found like this.
    pub(super) fn found_first(record: &Record, now: SystemTime) -> Self {
        let state = state(record).unwrap_or(State::Held);
        let mut line = Self::of(known(record, state), now);
        line.push(state.found(), None, None, now);
        line
    }

    /// The line of a name of which nothing was known before this server was granted it.
    pub(super) fn granted_first(known: Known, now: SystemTime) -> Self {
        let mut line = Self::of(known, now);
        line.push(What::Granted, Some(Duration::ZERO), None, now);
        line
    }

    fn of(known: Known, now: SystemTime) -> Self {
        Self {
            known,
            seen: now,
            changed: 0,
            entries: VecDeque::new(),
            bytes: size_of::<Self>(),
        }
    }

    pub(super) const fn known(&self) -> &Known {
        &self.known
    }

    pub(super) const fn seen(&self) -> SystemTime {
        self.seen
    }

    /// The number of its newest change.
    pub(super) const fn changed(&self) -> u64 {
        self.changed
    }

    pub(super) const fn set_changed(&mut self, number: u64) {
        self.changed = number;
    }

    /// The memory that it takes.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The entries that are not forgotten by now.
    pub(super) fn since(&self, now: SystemTime) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .skip_while(move |entry| entry.at + KEPT < now)
    }

    /// The record is this one; returns whether anything has happened since it was last seen.
    pub(super) fn found(&mut self, record: &Record, now: SystemTime) -> bool {
        let within = now.duration_since(self.seen).unwrap_or_default();
        self.seen = now;
        let is_new = record.token != self.known.token;
        let is_replaced = !is_new && record.uuid != self.known.uuid;
        // A record does not show that its term was revoked: it has another uuid then, and the same token.
        let is_revoked = is_replaced || (!is_new && self.known.state == State::Revoked);
        let held = if is_revoked {
            State::Revoked
        } else {
            State::Held
        };
        let state = state(record).unwrap_or(held);
        let before = std::mem::replace(&mut self.known, known(record, state));
        let mut happened = Vec::new();
        if is_new {
            happened.push((What::Granted, None));
        } else if is_replaced && !record.is_closed() {
            happened.push((What::Revoked, None));
        } else if record.renewals > before.renewals && before.state != State::Released {
            happened.push((What::Renewed, Some(record.renewals - before.renewals)));
        }
        if record.asked && (is_new || !before.asked) {
            happened.push((What::Asked, None));
        }
        let is_told = matches!(state, State::Held | State::Revoked);
        if !is_told && (is_new || state != before.state) {
            happened.push((state.found(), None));
        }
        let is_changed = !happened.is_empty();
        for (what, times) in happened {
            self.push(what, Some(within), times, now);
        }
        is_changed
    }

    /// A term has begun.
    pub(super) fn granted(&mut self, known: Known, within: Duration, now: SystemTime) -> bool {
        self.known = known;
        self.seen = now;
        self.push(What::Granted, Some(within), None, now);
        true
    }

    /// This server has done this to the term, whose uuid is `by` from then on; returns whether that is a change.
    pub(super) fn done(&mut self, what: What, by: Uuid, now: SystemTime) -> bool {
        self.seen = now;
        let state = match what {
            What::Asked if self.known.asked => return false,
            What::Asked => self.known.state,
            What::Revoked => State::Revoked,
            What::Closed => State::Closed,
            _ => State::Released,
        };
        // A repeat.
        if self.known.uuid == by && what != What::Asked && self.known.state == state {
            return false;
        }
        self.known.asked |= what == What::Asked;
        (self.known.uuid, self.known.state) = (by, state);
        self.push(what, Some(Duration::ZERO), None, now);
        true
    }

    /// The release that was noted last was not made by the holder; returns whether there was one.
    pub(super) fn forced(&mut self) -> bool {
        let last = self.entries.back_mut();
        let release = last.filter(|last| last.what == What::Released);
        release.is_some_and(|release| {
            release.what = What::Forced;
            true
        })
    }

    fn push(&mut self, what: What, within: Option<Duration>, times: Option<u64>, now: SystemTime) {
        // Renewals come all the time: consecutive ones are one entry.
        if let (Some(more), Some(last)) = (times, self.entries.back_mut())
            && let Some(times) = &mut last.times
        {
            *times += more;
            (last.at, last.within) = (now, within);
            return;
        }
        let entry = Entry {
            at: now,
            within,
            what,
            times,
            token: self.known.token,
            owner: Arc::clone(&self.known.owner),
        };
        self.bytes += entry.bytes();
        self.entries.push_back(entry);
        while self.entries.len() > MOST_ENTRIES
            || self
                .entries
                .front()
                .is_some_and(|entry| entry.at + KEPT < now)
        {
            let forgotten = self.entries.pop_front();
            self.bytes -= forgotten.map_or(0, |entry| entry.bytes());
        }
    }
}

impl State {
    /// The event of an entry that finds it in this state.
    const fn found(self) -> What {
        match self {
            Self::Held => What::Held,
            Self::Revoked => What::Revoked,
            Self::Closed => What::Closed,
            Self::Released => What::Released,
            Self::Expired => What::Expired,
        }
    }
}

impl Entry {
    fn bytes(&self) -> usize {
        // Entries of a term share its label: this is the most memory that they take.
        size_of::<Self>() + self.owner.len()
    }
}

/// The state of the term according to the record, unless it is held, or revoked.
fn state(record: &Record) -> Option<State> {
    if record.released {
        Some(State::Released)
    } else if record.remaining == Some(Duration::ZERO) {
        Some(State::Expired)
    } else {
        record.is_closed().then_some(State::Closed)
    }
}

fn known(record: &Record, state: State) -> Known {
    Known {
        uuid: record.uuid,
        token: record.token,
        owner: record.owner.as_str().into(),
        renewals: record.renewals,
        asked: record.asked,
        state,
    }
}

impl From<&Entry> for wire::Entry {
    fn from(entry: &Entry) -> Self {
        Self {
            at: Time(entry.at),
            within_ms: entry.within.map(Millis::rounded_up),
            what: entry.what,
            times: entry.times,
            token: entry.token,
            owner: entry.owner.to_string(),
        }
    }
}
