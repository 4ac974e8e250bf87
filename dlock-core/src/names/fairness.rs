//! Fair turns between processes (F1 to F5, I18): the client that has waited longest asks first, and the one
//! that has just released asks last.
//!
//! No process sees the others' queue, but all hear of the same releases. So each counts how many terms
//! have gone by since it began to wait, and how many others it has seen holding lately; it leaves the
//! freed lock for one slot to each client that may have waited longer. In a steady round of `n` the first
//! in line has let `n - 1` terms go by and asks at once, the next asks a slot later, as a backup.
//!
//! Nothing depends on it: it only ever delays a try (W2), by a few milliseconds. The sleeping is in
//! `waiting`; here is what is counted, and the rule.

mod tenure;
#[cfg(test)]
mod tests;

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use self::tenure::Tenure;
use crate::{Clock, provider::Version, time::ContenderInstant};

/// The delay for each client that may have waited longer (F1): the grain of Tokio's timers.
const SLOT: Duration = Duration::from_millis(1);

/// How long to sleep for so many slots. A timer fires at the next whole millisecond of its wheel, and the
/// thread is woken up to one later: a sleep of one slot takes two and more, a sleep of a tenth takes one.
pub(crate) fn span(slots: Slots) -> Duration {
    (SLOT * slots).saturating_sub(SLOT * 9 / 10)
}

/// The most that a try is held back for those before it (F1). Clients further back
/// than that need not be told apart: others ask before them.
const MOST_SLOTS: u64 = 4;

/// F4: a client that took the lock again and again for so long, and was never refused, cannot know
/// whether others wait, since a refused try writes nothing (A7). Then it leaves them one slot. A
/// process that is alone loses a slot of this span to it.
const STREAK: Duration = Duration::from_millis(50);

/// F2: for so long after its own release a client has an advantage over the others, who have to hear of it
/// first: as long as the longest delay.
const RECENT: Duration = Duration::from_millis(MOST_SLOTS + 1);

/// F5: after this many idle yields in a row, assume that there are no other clients.
const MOST_IDLE_YIELDS: u32 = 4;

/// The most hints that are expected for a client's own releases: the rest have been lost.
const MOST_EXPECTED_HINTS: u64 = 2;

/// The most other clients that are told apart.
const OTHERS_KEPT: usize = 64;

/// F3: after this many wins without a delay a client probes for a rival that it does not know of, by letting
/// one more go first: a client that never wins is never seen. Four times as many wins after each vain probe.
const FIRST_PROBE: u32 = 2;
const LAST_PROBE: u32 = 64;

/// F3: the most clients that are assumed beyond those that were seen.
const MOST_ASSUMED: u64 = 2;

/// What a client knows of the other clients that want a name.
#[derive(Default)]
pub(crate) struct Fairness {
    /// The releases of others: the hints that came, without those of its own releases.
    releases_seen: u64,
    /// Hints of its own releases that have yet to come.
    expected_hints: u64,
    /// When it last gave a term back.
    given_back: Option<ContenderInstant>,
    /// It has seen another client hold the lock since then.
    followed: bool,
    /// Since when it has retaken the lock each time right after its own release.
    streak: Option<ContenderInstant>,
    /// Other clients want the lock, as far as it knows.
    contended: bool,
    /// How often since then it has left the lock to them while none came.
    idle_yields: u32,
    /// The clients that it has seen holding lately.
    others: Vec<Other>,
    /// How many more it assumes, beyond those that it has seen.
    assumed: u64,
    /// Wins since the last probe for a rival that it does not know of, and how many it takes until the next.
    wins: u32,
    probe_after: u32,
    /// How long it has had the name to itself (W8).
    tenure: Tenure,
}

/// Another client that holds the lock now and then, told by its label: a hint is enough here.
struct Other {
    label: u64,
    /// `releases_seen` when it was last seen.
    seen: u64,
}

/// When a contender began to wait, as the number of releases seen until then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entered(u64);

/// How many slots a try leaves to others.
pub(crate) type Slots = u32;

impl Fairness {
    /// A hint: a term was released, or may have been.
    pub(crate) fn hinted(&mut self) {
        match self.expected_hints {
            0 => self.releases_seen += 1,
            expected_hints => self.expected_hints = expected_hints - 1,
        }
    }

    /// Another client holds the lock: with this label, if it can be told by one.
    pub(crate) fn refused(&mut self, owner: Option<&str>) {
        self.contended = true;
        self.idle_yields = 0;
        self.streak = None;
        self.followed = true;
        self.tenure.ended();
        let Some(owner) = owner else { return };
        let mut hasher = DefaultHasher::new();
        owner.hash(&mut hasher);
        let (label, seen) = (hasher.finish(), self.releases_seen);
        let known = self.others.len();
        self.others.retain(|other| other.label != label);
        if self.others.len() == known {
            self.probe_after = FIRST_PROBE;
        }
        if self.others.len() == OTHERS_KEPT {
            self.others.remove(0);
        }
        self.others.push(Other { label, seen });
        self.forget();
    }

    /// A contender begins to wait.
    pub(crate) fn enter(&self) -> Entered {
        Entered(self.releases_seen)
    }

    /// What the first try of a newcomer leaves to others, and how much of that time is left: its client may have
    /// released a moment ago, and waiters elsewhere have to hear of that first. `elders`: on how many other runtimes of
    /// its process another has waited longer, which is beside what is left to other processes.
    pub(crate) fn newcomer(
        &mut self,
        entered: Entered,
        elders: Slots,
        clock: &Clock,
    ) -> (Slots, Duration) {
        let Some(given_back) = self.given_back else {
            return (0, Duration::ZERO);
        };
        let now = clock.contender_now();
        let ago = now.since(given_back);
        if self.contended || elders > 0 {
            if !self.was_last(clock) {
                return (0, Duration::ZERO);
            }
            let slots = self.slots(entered, clock);
            return (slots, span(slots + elders).saturating_sub(ago));
        }
        let alone = self.streak.is_some_and(|since| now.since(since) >= STREAK);
        if !alone || ago >= RECENT {
            return (0, Duration::ZERO);
        }
        self.streak = None;
        (1, span(1))
    }

    /// What a try leaves to others once the lock may be free.
    pub(crate) fn slots(&self, entered: Entered, clock: &Clock) -> Slots {
        if !self.contended {
            return 0;
        }
        let passed = self.passed(entered);
        let before = self.rank().saturating_sub(passed);
        // At most MOST_SLOTS, so it fits.
        let slots = Slots::try_from(before.min(MOST_SLOTS)).unwrap_or(Slots::MAX);
        if passed == 0 && self.was_last(clock) {
            slots + 1
        } else {
            slots
        }
    }

    /// A contender has won, by a try that had yielded so many slots.
    pub(crate) fn won(&mut self, entered: Entered, yielded: Slots, clock: &Clock) {
        if !self.contended {
            return;
        }
        let (passed, rank) = (self.passed(entered), self.rank());
        if yielded > 0 && passed == 0 && self.was_last(clock) {
            // No other client wanted it, or one was too slow on a busy machine.
            self.idle_yields += 1;
            self.contended = self.idle_yields < MOST_IDLE_YIELDS;
            if !self.contended {
                self.others.clear();
            }
        }
        if yielded > 0 && passed < rank {
            // No other client had waited longer.
            let known = self.others.len() as u64;
            self.assumed = passed.saturating_sub(known).min(MOST_ASSUMED);
            self.probe_after = (4 * self.probe_after.max(FIRST_PROBE)).min(LAST_PROBE);
            self.wins = 0;
        } else {
            self.wins += 1;
            if self.wins >= self.probe_after.max(FIRST_PROBE) {
                self.assumed = (self.assumed + 1).min(MOST_ASSUMED);
                self.wins = 0;
            }
        }
        self.forget();
    }

    /// A term of ours begins, by a try that was sent at `asked`. Another client that polls finds the name free, sooner or later, if this one leaves it
    /// alone for longer than `longest_idle` between its terms.
    pub(crate) fn granted(
        &mut self,
        asked: ContenderInstant,
        longest_idle: Duration,
        clock: &Clock,
    ) {
        let now = clock.contender_now();
        let idle = self.given_back.map(|since| now.since(since));
        let alone = idle.map(|idle| idle.saturating_sub(now.since(asked)));
        self.tenure.granted(alone, longest_idle, now);
        let again = idle.is_some_and(|idle| idle < RECENT);
        self.streak = again.then(|| self.streak.unwrap_or(now));
        self.followed = false;
    }

    /// A term of ours ends: its release begins, or was applied just now.
    pub(crate) fn gives_back(&mut self, now: ContenderInstant) {
        self.given_back = Some(now);
    }

    /// A release of ours is sent; a hint of it will come, as of any other's. From a store that tells only those who wait,
    /// none comes if nobody does: as many releases of others are then taken for ours, and a few tries leave a slot more.
    pub(crate) fn releases(&mut self) {
        self.expected_hints = (self.expected_hints + 1).min(MOST_EXPECTED_HINTS);
    }

    /// That release changed nothing: no hint of it will come.
    pub(crate) fn did_not_release(&mut self) {
        self.expected_hints = self.expected_hints.saturating_sub(1);
    }

    /// Another client has had the name: its term is in the record.
    pub(crate) fn followed(&mut self) {
        self.followed = true;
        self.tenure.ended();
    }

    /// F11: whether to look for a reservation: this client has had the name to itself for a `span`, and gave it
    /// back no longer ago than a try may take, which may have been under way then.
    pub(crate) fn reservation_is_due(
        &mut self,
        span: Duration,
        longest_try: Duration,
        clock: &Clock,
    ) -> bool {
        let now = clock.contender_now();
        let idle = self.given_back.map(|since| now.since(since));
        idle.is_some_and(|idle| idle <= longest_try) && self.tenure.is_due(span, now)
    }

    /// That read got no answer: the next one comes after this pause (F11).
    pub(crate) fn look_failed(&mut self, pause: Duration, clock: &Clock) {
        self.tenure.look_failed(pause, clock.contender_now());
    }

    /// Another client has this reservation of such a duration: the name is left to others for so long (F12).
    pub(crate) fn heed(
        &mut self,
        reservation: Version,
        duration: Duration,
        lasts: Duration,
        clock: &Clock,
    ) {
        self.tenure
            .heed(reservation, duration, lasts, clock.contender_now());
    }

    /// No other client has a reservation (F12).
    pub(crate) fn nobody_reserves(&mut self) {
        self.tenure.nobody_reserves();
    }

    /// As far as is known, another client has a reservation (F13).
    pub(crate) fn is_reserved(&self, clock: &Clock) -> bool {
        self.tenure.is_reserved(clock)
    }

    /// For how much longer the name is left to others (F12).
    pub(crate) fn away(&self, clock: &Clock) -> Duration {
        self.tenure.away(clock)
    }

    /// How many others go first.
    fn rank(&self) -> u64 {
        self.others.len() as u64 + self.assumed
    }

    /// How many terms of others a contender has let go by.
    pub(crate) fn passed(&self, Entered(at): Entered) -> u64 {
        self.releases_seen.saturating_sub(at)
    }

    /// This client was the last to hold the lock, as far as it knows.
    fn was_last(&self, clock: &Clock) -> bool {
        let recent = |since: ContenderInstant| clock.elapsed(since) < RECENT;
        !self.followed && self.given_back.is_some_and(recent)
    }

    /// Forgets clients that have not been seen for two rounds and a few terms more.
    fn forget(&mut self) {
        let kept = 2 * (self.others.len() as u64 + 1) + 8;
        let releases_seen = self.releases_seen;
        self.others
            .retain(|other| releases_seen - other.seen <= kept);
    }
}
