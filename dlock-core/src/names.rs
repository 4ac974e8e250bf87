//! What one client knows of each name: whose turn it is, what it has observed, which of its own
//! identities are over, the highest token it has seen.

mod crews;
mod fairness;
mod succession;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, VecDeque},
    iter::successors,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use tokio::sync::{Notify, Semaphore};
use uuid::Uuid;

use self::succession::Succession;
pub(crate) use self::{
    crews::Waiter,
    fairness::{Entered, Fairness, Slots, span},
    succession::{Legacy, Offer, Place},
};
use crate::{Clock, FencingToken, Name, Record, Version, time::Look};

/// How many identities that are over a client remembers per name (G4).
const OVER_KEPT: usize = 8;

/// Names nobody uses are looked through when there are so many, and again at twice what is left.
const SWEEP_AT: usize = 1024;

/// The names of one client. Sorted, so that going through them is the same in every run.
#[derive(Default)]
pub(crate) struct Names(Mutex<Map>);

#[derive(Default)]
struct Map {
    names: BTreeMap<Name, Arc<NameState>>,
    sweep_at: usize,
}

/// One name.
pub(crate) struct NameState {
    /// The turn to contend: one permit, handed out first in, first out (W1).
    pub(crate) turn: Arc<Semaphore>,
    /// Rung when the lock may be free (W3, W7). Only the waiter whose turn it is listens.
    pub(crate) freed: Notify,
    known: Mutex<Known>,
    /// Who else wants it. Most names are held for long by one process, which need not know.
    fairness: OnceLock<Box<Mutex<Fairness>>>,
}

#[derive(Default)]
struct Known {
    /// Names that nobody else wants have none.
    observation: Option<Box<Observation>>,
    over: VecDeque<Over>,
    live: Vec<Uuid>,
    /// The term of our last grant.
    newest: Option<Uuid>,
    highest: u64,
    succession: Succession,
}

/// A version that has been seen unchanged since `first`.
struct Observation {
    version: Version,
    duration: Duration,
    /// What the store said was left of it at the last look.
    remaining: Option<Duration>,
    first: Look,
    last: Look,
    /// A later process of this host will know.
    kept: bool,
}

/// An identity of ours that is over: nobody acts on it and nobody will.
struct Over {
    uuid: Uuid,
    since: Look,
    /// It closed the name for so long (B4): until then it is not ours to claim either.
    closed: Duration,
    keep: Duration,
    /// The newest try of ours that claimed it (G4, H1), whatever became of that.
    heir: Option<Uuid>,
    /// How many tries of ours that claimed it may have ended its term in the store.
    claimants: usize,
    /// All that was sent for it was answered, its release too: no copy is on its way, unless a driver or
    /// a network has made one.
    settled: bool,
}

impl Known {
    fn with_over(&mut self, uuid: Uuid, change: impl FnOnce(&mut Over)) {
        let mut over = self.over.iter_mut();
        if let Some(over) = over.find(|over| over.uuid == uuid) {
            change(over);
        }
    }
}

impl Known {
    fn is_ours(&self, uuid: Uuid) -> bool {
        let mut over = self.over.iter();
        self.newest == Some(uuid) || self.live.contains(&uuid) || over.any(|over| over.uuid == uuid)
    }
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
        let state = Arc::new(NameState {
            turn: Arc::new(Semaphore::new(1)),
            freed: Notify::new(),
            known: Mutex::default(),
            fairness: OnceLock::new(),
        });
        map.names.insert(name.clone(), Arc::clone(&state));
        state
    }

    /// What is known of a name, if anything is.
    pub(crate) fn known(&self, name: &Name) -> Option<Arc<NameState>> {
        self.map().names.get(name).map(Arc::clone)
    }

    /// Passes a hint on to the head waiter of a name (W3).
    pub(crate) fn wake(&self, name: &Name) {
        if let Some(state) = self.map().names.get(name) {
            state.hinted();
        }
    }

    /// Hints may have been missed: everyone asks again (W3).
    pub(crate) fn wake_all(&self) {
        for state in self.map().names.values() {
            state.hinted();
        }
    }

    /// Leases in somebody's hands.
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

impl Observation {
    /// How long until the lease has run out, by the store's clock or by ours.
    fn runs_out_in(&self, clock: &Clock) -> Duration {
        let observed = self.duration.saturating_sub(clock.elapsed(self.first));
        self.remaining.map_or(observed, |left| {
            left.saturating_sub(clock.elapsed(self.last)).min(observed)
        })
    }

    /// Nobody has repeated it for ten durations (section 3). The duration is a stranger's, and may be
    /// anything.
    fn is_old(&self, clock: &Clock) -> bool {
        clock.elapsed(self.last) > self.duration.saturating_mul(10)
    }
}

impl NameState {
    fn hinted(&self) {
        if let Some(mut fairness) = self.known_fairness() {
            fairness.hinted();
        }
        self.freed.notify_waiters();
    }

    /// What is known of others who want the name (I18).
    pub(crate) fn fairness(&self) -> MutexGuard<'_, Fairness> {
        let fairness = self.fairness.get_or_init(Box::default);
        fairness.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, if anything is.
    pub(crate) fn known_fairness(&self) -> Option<MutexGuard<'_, Fairness>> {
        let fairness = self.fairness.get()?;
        Some(fairness.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A contender begins to wait.
    pub(crate) fn enter(&self) -> Entered {
        let fairness = self.known_fairness();
        fairness.map_or_else(Entered::default, |fairness| fairness.enter())
    }

    /// A reply or a read showed this record. Called after the reply: an observation counts from
    /// there. A read, even a stale one, observes as well as a refusal does, since A6 is conditional.
    /// Returns that instant if the client sees the version for the first time.
    pub(crate) fn saw(&self, clock: &Clock, record: &Record) -> Option<Look> {
        let now = clock.look();
        let mut known = self.known();
        known.highest = known.highest.max(record.token.get());
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

    /// Processes of this host have seen this version since then, or this client has and it is kept for
    /// them. Whether there is something to claim now.
    pub(crate) fn recalled(&self, clock: &Clock, version: Version, first: Look) -> bool {
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

    /// For how long this version has been seen unchanged, and whether a later process will know.
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

    /// Whether the lease that was last seen, of somebody else, has run out since, as far as this client
    /// can tell. For those who observe; nothing is decided by it.
    pub(crate) fn has_run_out(&self, clock: &Clock) -> bool {
        let known = self.known();
        known.observation.as_ref().is_some_and(|seen| {
            seen.runs_out_in(clock).is_zero() && !known.is_ours(seen.version.uuid)
        })
    }

    /// How long until the lease that was last seen has run out, as far as this client can tell.
    pub(crate) fn runs_out_in(&self, clock: &Clock) -> Option<Duration> {
        let known = self.known();
        let seen = known.observation.as_ref()?;
        Some(seen.runs_out_in(clock))
    }

    /// Forgets an observation that nobody has repeated for ten durations (section 3).
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

    /// A grant of our own: it replaces what was observed, and its lease is live.
    pub(crate) fn granted(&self, uuid: Uuid, token: FencingToken) {
        let mut known = self.known();
        known.observation = None;
        known.highest = known.highest.max(token.get());
        // One, nearly always: a process may hold very many names.
        known.live.reserve_exact(1);
        known.live.push(uuid);
        known.newest = Some(uuid);
    }

    /// A lease of ours was handed over by a ticket: it is no longer ours, and not ours to claim either.
    /// Who redeems the ticket must not find its giver before it (G4).
    pub(crate) fn given_away(&self, uuid: Uuid) {
        self.known().live.retain(|live| *live != uuid);
    }

    /// Our own identity is over: a try delivered to nobody, or a lease whose release has begun.
    /// Remembered for 2 D, so that a late copy of it cannot block its own client (G4).
    pub(crate) fn over(&self, clock: &Clock, uuid: Uuid, duration: Duration) {
        self.mark_over(&mut self.known(), clock, uuid, duration, Duration::ZERO);
    }

    /// The same of a lease whose release closes the name (B4): to this client as well, which claims
    /// what is left of the term only when the name would be open again.
    pub(crate) fn closes(&self, clock: &Clock, uuid: Uuid, duration: Duration, lasts: Duration) {
        self.mark_over(&mut self.known(), clock, uuid, duration, lasts);
        self.row_ends();
    }

    fn mark_over(
        &self,
        known: &mut Known,
        clock: &Clock,
        uuid: Uuid,
        duration: Duration,
        closed: Duration,
    ) {
        let since = clock.look();
        if known.live.contains(&uuid) && closed.is_zero() {
            self.fairness().gives_back(clock);
        }
        known.live.retain(|live| *live != uuid);
        if known.over.iter().any(|over| over.uuid == uuid) {
            return;
        }
        if known.over.len() == OVER_KEPT {
            known.over.pop_front();
        }
        known.over.push_back(Over {
            uuid,
            since,
            closed,
            keep: closed + 2 * duration,
            heir: None,
            claimants: 0,
            settled: false,
        });
    }

    /// The store has confirmed the end of this identity, and nothing that was sent for it is left
    /// without an answer. It is remembered as long as its name is, and its name no longer for its sake.
    pub(crate) fn settled(&self, uuid: Uuid) {
        let mut known = self.known();
        if let Some(over) = known.over.iter_mut().find(|over| over.uuid == uuid) {
            over.settled = true;
        }
    }

    /// The record that refused us is a ghost of our own: claim (b) of `prev` (G4).
    pub(crate) fn is_over(&self, clock: &Clock, uuid: Uuid) -> bool {
        let known = self.known();
        let mut over = known.over.iter();
        over.any(|over| {
            over.uuid == uuid && (over.closed..over.keep).contains(&clock.elapsed(over.since))
        })
    }

    /// A try of ours claims this term.
    pub(crate) fn claims(&self, claimed: Version, heir: Uuid) {
        self.known().with_over(claimed.uuid, |over| {
            over.heir = Some(heir);
            over.claimants += 1;
        });
    }

    /// That try was refused, and was sent once: it has not ended the term.
    pub(crate) fn claim_failed(&self, claimed: Version) {
        self.known().with_over(claimed.uuid, |over| {
            over.claimants = over.claimants.saturating_sub(1);
        });
    }

    /// Whether a try of ours that claimed this term may have ended it in the store.
    pub(crate) fn may_be_claimed(&self, uuid: Uuid) -> bool {
        let known = self.known();
        let mut over = known.over.iter();
        over.any(|over| over.uuid == uuid && over.claimants > 0)
    }

    /// Whether it was a try of ours that ended this term with its own, or one that claimed that in its
    /// turn.
    pub(crate) fn went_to_our_own(&self, uuid: Uuid, shown: Uuid) -> bool {
        let known = self.known();
        let heir = |uuid: &Uuid| {
            let over = known.over.iter().find(|over| over.uuid == *uuid)?;
            over.heir
        };
        let mut heirs = successors(heir(&uuid), heir).take(OVER_KEPT);
        heirs.any(|heir| heir == shown)
    }

    /// The lease is one of ours.
    pub(crate) fn is_live(&self, uuid: Uuid) -> bool {
        self.known().live.contains(&uuid)
    }

    /// A lease of ours is in somebody's hands.
    pub(crate) fn is_held(&self) -> bool {
        !self.known().live.is_empty()
    }

    /// This term is or was one of ours, as far as we remember.
    pub(crate) fn is_ours(&self, uuid: Uuid) -> bool {
        self.known().is_ours(uuid)
    }

    /// What an acquire asks its token to be at least: one above the highest seen, 0 if none was
    /// (T6).
    pub(crate) fn floor(&self) -> u64 {
        match self.known().highest {
            0 => 0,
            highest => highest + 1,
        }
    }

    /// A resource has seen this token (T6).
    pub(crate) fn raise(&self, token: FencingToken) {
        let mut known = self.known();
        known.highest = known.highest.max(token.get());
    }

    /// Nothing here would be missed but the highest token, which the store remembers too, and an
    /// identity of which a copy might come that nobody knows of.
    fn forgettable(&self, clock: &Clock) -> bool {
        let known = self.known();
        known.live.is_empty()
            && known
                .over
                .iter()
                .all(|over| over.settled || clock.elapsed(over.since) >= over.keep)
            && known
                .observation
                .as_ref()
                .is_none_or(|seen| seen.is_old(clock))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
