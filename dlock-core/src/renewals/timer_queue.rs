//! Terms in the order of an instant.

use std::{collections::BTreeMap, sync::Arc};

use uuid::Uuid;

use crate::{Name, lease::Term, time::HolderInstant};

/// A term that is renewed, and how its renewals go.
pub(super) struct Entry {
    pub(super) term: Arc<Term>,
    pub(super) health: Health,
}

/// The result of the last attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// It succeeded, or there was none yet.
    Healthy,
    /// It got no answer, like its whole call: another term of the call may be the cause.
    Suspect,
    /// It failed alone. The term travels alone until a renewal succeeds.
    Isolated,
}

/// Terms by an instant: when each is due, or when each ends. A term is in at most one
/// queue and knows its key there, so that leaving takes it out at once.
#[derive(Default)]
pub(super) struct TimerQueue(BTreeMap<Key, Entry>);

/// The instant, and which term. One request can be granted many names (a claim of tasks, for example), whose terms have
/// one identity and are due together. Leases of one term have the same key; but the earlier one has left its queue,
/// since its end comes before the beginning of the next.
type Key = (HolderInstant, Uuid, Name);

impl Entry {
    pub(super) fn with(self, health: Health) -> Self {
        Self { health, ..self }
    }
}

impl TimerQueue {
    pub(super) fn insert(&mut self, at: HolderInstant, entry: Entry) {
        entry.term.queue_key.set(at);
        let key = (at, entry.term.uuid, entry.term.name.clone());
        self.0.insert(key, entry);
    }

    /// Takes a term out, if it is in this queue.
    pub(super) fn remove(&mut self, term: &Term) -> Option<Entry> {
        let key = (term.queue_key.get(), term.uuid, term.name.clone());
        // The key may be that of the lease that has followed this one on its term.
        let found = self.0.get(&key)?;
        if !std::ptr::eq(&raw const *found.term, term) {
            return None;
        }
        self.0.remove(&key)
    }

    /// The first one's instant.
    pub(super) fn first_at(&self) -> Option<HolderInstant> {
        self.0.first_key_value().map(|((at, ..), _)| *at)
    }

    pub(super) fn first(&self) -> Option<&Entry> {
        self.0.first_key_value().map(|(_, entry)| entry)
    }

    pub(super) fn pop(&mut self) -> Option<Entry> {
        self.0.pop_first().map(|(_, entry)| entry)
    }

    /// The first one, if its instant has come.
    pub(super) fn pop_until(&mut self, now: HolderInstant) -> Option<Entry> {
        self.first_at().filter(|at| *at <= now)?;
        self.pop()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
