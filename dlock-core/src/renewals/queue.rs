//! Terms in the order of an instant.

use std::{collections::BTreeMap, sync::Arc};

use uuid::Uuid;

use crate::{lease::Term, time::HolderInstant};

/// A term that is renewed.
pub(super) struct Kept {
    pub(super) term: Arc<Term>,
    pub(super) standing: Standing,
}

/// How its last attempt went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It succeeded, or there was none.
    Fresh,
    /// The whole call went without an answer: perhaps for somebody else's sake.
    Doubtful,
    /// It failed by itself. It travels with nobody until it succeeds.
    Alone,
}

/// Terms by an instant: when each is due, or when each ends. A term is in one queue at most, and
/// knows its place, so that whoever leaves leaves nothing behind.
#[derive(Default)]
pub(super) struct Queue(BTreeMap<(HolderInstant, Uuid), Kept>);

impl Kept {
    pub(super) fn with(self, standing: Standing) -> Self {
        Self { standing, ..self }
    }
}

impl Queue {
    pub(super) fn insert(&mut self, at: HolderInstant, kept: Kept) {
        kept.term.seat.set(at);
        self.0.insert((at, kept.term.uuid), kept);
    }

    /// Takes a term out, if it is in this queue.
    pub(super) fn remove(&mut self, term: &Term) -> Option<Kept> {
        self.0.remove(&(term.seat.get(), term.uuid))
    }

    /// The first one's instant.
    pub(super) fn first_at(&self) -> Option<HolderInstant> {
        self.0.first_key_value().map(|((at, _), _)| *at)
    }

    pub(super) fn first(&self) -> Option<&Kept> {
        self.0.first_key_value().map(|(_, kept)| kept)
    }

    pub(super) fn pop(&mut self) -> Option<Kept> {
        self.0.pop_first().map(|(_, kept)| kept)
    }

    /// The first one, if its instant has come.
    pub(super) fn pop_until(&mut self, now: HolderInstant) -> Option<Kept> {
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
