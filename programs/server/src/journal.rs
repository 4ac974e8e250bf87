//! The recent events of leases that this server has seen, for people.
//!
//! It learns them from the calls of the store that the server makes anyway ([`Observed`]), and makes no calls itself.
//! It is kept in memory, and no longer than the server runs: a store has one record per name and no journal, and a
//! journal in the store would cost each lease a second write.

mod line;
mod lines;
mod observed;

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use dlock_core::{FencingToken, Name, Record, provider::Acquire};
use dlock_http::leases::{History, What};
use uuid::Uuid;

pub(crate) use self::observed::Observed;
use self::{
    line::{Known, Line, State},
    lines::Lines,
};

/// The history of leases.
pub(crate) struct Journal(Mutex<Lines>);

/// How much was known when a call of the store was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent(u64);

impl Journal {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Lines::new()))
    }

    /// To be taken before a call of the store whose answer is passed to [`found`](Self::found).
    pub(crate) fn sent(&self) -> Sent {
        Sent(self.lines().changes())
    }

    /// The store has answered with this record.
    pub(crate) fn found(&self, Sent(sent): Sent, name: &Name, record: &Record) {
        let now = now();
        self.lines().note(
            name,
            now,
            || Some(Line::found_first(record, now)),
            |line| {
                // The answer may be older than what is known by now.
                let is_late = sent < line.changed() && record.token <= line.known().token;
                !is_late && line.found(record, now)
            },
        );
    }

    /// The store has granted this request.
    pub(crate) fn granted(&self, request: &Acquire, token: FencingToken) {
        let now = now();
        let known = || Known {
            uuid: request.new,
            token,
            owner: request.owner.as_str().into(),
            renewals: 0,
            asked: false,
            state: State::Held,
        };
        self.lines().note(
            &request.name,
            now,
            || Some(Line::granted_first(known(), now)),
            // A repeated request is granted once more, and changes nothing.
            |line| token > line.known().token && line.granted(known(), Duration::ZERO, now),
        );
    }

    /// This server has done this to a term. From then on the record has the uuid `by`.
    pub(crate) fn done(&self, name: &Name, term: Uuid, what: What, by: Uuid) {
        let now = now();
        self.lines().note(
            name,
            now,
            || None,
            |line| line.known().uuid == term && line.done(what, by, now),
        );
    }

    /// The release of this term that was noted since then was not made by its holder.
    pub(crate) fn forced(&self, Sent(sent): Sent, name: &Name, term: Uuid) {
        self.lines().note(
            name,
            now(),
            || None,
            |line| line.known().uuid == term && sent < line.changed() && line.forced(),
        );
    }

    /// Whether the term in this record was taken from its holder, as far as is known.
    pub(crate) fn is_revoked(&self, name: &Name, record: &Record) -> bool {
        let lines = self.lines();
        let known = lines.of(name).map(Line::known);
        known.is_some_and(|known| known.uuid == record.uuid && known.state == State::Revoked)
    }

    /// The history of this lease.
    pub(crate) fn of(&self, name: &Name) -> History {
        let now = now();
        let lines = self.lines();
        let entries = lines.of(name).into_iter().flat_map(|line| line.since(now));
        History {
            entries: entries.map(Into::into).collect(),
        }
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// By this server's clock: it is shown to people, and decides nothing.
#[expect(clippy::disallowed_methods, reason = "is shown, and decides nothing")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

#[cfg(test)]
mod tests;
