//! The knowledge of one client about each name: whose turn it is, what it has observed, which of its own identities
//! are retired, the highest token it has seen.

mod blocks;
mod observation;
mod offer;
mod queue;
mod retired;
mod succession;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use uuid::Uuid;

use self::{observation::Observation, queue::Line, retired::Retired};
pub(crate) use self::{
    offer::{Duty, GoesOn, KeeperIdentity},
    queue::{Queue, Registration},
    succession::{Following, Offering},
};
use crate::{Clock, FencingToken, Name, provider::Tokens, turns::Contenders};

/// Unused names are dropped when there are this many names, and again at twice the number that remains.
const SWEEP_AT: usize = 1024;

/// The names of one client. Sorted, so that every run goes through them in the same order.
#[derive(Default)]
pub(crate) struct Names(Mutex<Map>);

#[derive(Default)]
struct Map {
    names: BTreeMap<Name, Arc<NameState>>,
    sweep_at: usize,
}

/// One name.
#[derive(Default)]
pub(crate) struct NameState {
    known: Mutex<Known>,
    /// Others that want the name, as far as they are known. Most names are held for long by one process, which needs
    /// none of this.
    turns: OnceLock<Box<Mutex<Contenders>>>,
    /// The number of hints so far. Each is passed on to `turns` first, so that a release which expects its own by this
    /// number expects one too many rather than one too few.
    hints: AtomicU32,
}

#[derive(Default)]
struct Known {
    /// `None` for a name that no other client holds.
    observation: Option<Box<Observation>>,
    retired: VecDeque<Retired>,
    live: Vec<Uuid>,
    /// The term of our last grant.
    newest: Option<Uuid>,
    highest: u64,
    /// The same, without the tokens of the newest term's own block.
    highest_elsewhere: u64,
    /// Empty for a name without waiters.
    lines: Vec<Line>,
    /// The number of waiters that have come.
    arrivals: u64,
}

impl Names {
    pub(crate) fn get(&self, name: &Name, clock: &Clock) -> Arc<NameState> {
        let mut map = self.map();
        if let Some(state) = map.names.get(name) {
            return Arc::clone(state);
        }
        if map.names.len() >= map.sweep_at.max(SWEEP_AT) {
            map.names
                .retain(|_, state| Arc::strong_count(state) > 1 || !state.forgettable(clock));
            map.sweep_at = 2 * map.names.len();
        }
        let state = Arc::<NameState>::default();
        map.names.insert(name.clone(), Arc::clone(&state));
        state
    }

    /// Passes a hint on to the head waiter of a name.
    pub(crate) fn wake(&self, name: &Name) {
        if let Some(state) = self.map().names.get(name) {
            state.hinted();
        }
    }

    /// Hints may have been missed: all waiters try again.
    pub(crate) fn wake_all(&self) {
        for state in self.map().names.values() {
            state.hinted();
        }
    }

    /// The number of leases that callers hold.
    pub(crate) fn live(&self) -> usize {
        self.map()
            .names
            .values()
            .map(|state| state.known().live.len())
            .sum()
    }

    fn map(&self) -> MutexGuard<'_, Map> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NameState {
    fn hinted(&self) {
        if let Some(mut turns) = self.known_turns() {
            turns.hinted();
        }
        self.hints.fetch_add(1, Ordering::SeqCst);
        self.wake();
    }

    pub(crate) fn hints(&self) -> u32 {
        self.hints.load(Ordering::SeqCst)
    }

    /// The contenders of this client, and what they know of others that want the name.
    pub(crate) fn turns(&self) -> MutexGuard<'_, Contenders> {
        let turns = self.turns.get_or_init(Box::default);
        turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, if anything is known.
    pub(crate) fn known_turns(&self) -> Option<MutexGuard<'_, Contenders>> {
        let turns = self.turns.get()?;
        Some(turns.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A grant of our own: it replaces what was observed, and its lease is live.
    pub(crate) fn granted(&self, uuid: Uuid, token: FencingToken) {
        let mut known = self.known();
        known.observation = None;
        known.highest = known.highest.max(token.get());
        for line in &mut known.lines {
            line.block_since = None;
        }
        // One, nearly always: a process may hold very many names.
        known.live.reserve_exact(1);
        known.live.push(uuid);
        known.newest = Some(uuid);
    }

    /// The term of our last grant.
    pub(crate) fn newest(&self) -> Option<Uuid> {
        self.known().newest
    }

    /// A lease of ours was handed over by a ticket: it is no longer ours, and this client must not claim it either, so
    /// that the giver does not get ahead of the redeemer.
    pub(crate) fn given_away(&self, uuid: Uuid) {
        self.known().live.retain(|live| *live != uuid);
    }

    /// Whether a caller of this client holds a lease of the name.
    pub(crate) fn is_held(&self) -> bool {
        !self.known().live.is_empty()
    }

    /// Whether the lease is one of ours.
    pub(crate) fn is_live(&self, uuid: Uuid) -> bool {
        self.known().live.contains(&uuid)
    }

    /// The least token that an acquire accepts: one above the highest seen, 0 if none was seen (T6).
    pub(crate) fn floor(&self) -> u64 {
        match self.known().highest {
            0 => 0,
            highest => highest + 1,
        }
    }

    /// This client was granted this token and all up to it, but no caller gets the lease. The grant replaces what was
    /// observed (O2).
    pub(crate) fn granted_to_nobody(&self, token: FencingToken) {
        let mut known = self.known();
        known.observation = None;
        known.saw_elsewhere(token.get());
    }

    /// A resource has seen this token (T6). It may be the first of its block: as many further tokens as a grant may
    /// bring count as seen, since the resource will see them too.
    pub(crate) fn told(&self, seen: FencingToken) {
        let block = u64::from(Tokens::MOST.get() - 1);
        self.known().saw_elsewhere(seen.get() + block);
    }

    /// Whether the name can be forgotten: nothing would be lost but the highest token, which the store remembers too,
    /// and a retired identity of which a driver or a network might have made a late copy.
    fn forgettable(&self, clock: &Clock) -> bool {
        let known = self.known();
        known.live.is_empty()
            && known.retired.iter().all(|over| over.is_forgettable(clock))
            && known
                .observation
                .as_ref()
                .is_none_or(|seen| seen.is_old(clock))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// This token was seen, and is not one of the newest term's.
    fn saw_elsewhere(&mut self, token: u64) {
        self.highest = self.highest.max(token);
        self.highest_elsewhere = self.highest_elsewhere.max(token);
    }
}
