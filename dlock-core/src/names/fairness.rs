//! Fair turns between processes (F1 to F5, I18): whoever has waited longest asks first, and whoever has just
//! had the lock asks last.
//!
//! No process sees the others' queue, but all hear the same releases. So each counts how many terms
//! have gone by since it began to wait, and how many others it has seen holding lately; it leaves the
//! freed lock for one slot to everyone who may have waited longer. In a steady round of `n` the first
//! in line has let `n - 1` terms go by and asks at once, the next asks a slot later, as a backup.
//!
//! Nothing depends on it: it only ever delays a try (W2), by a few milliseconds. Who sleeps and until
//! when is `waiting`'s; here is what is counted, and the rule.

mod tenure;
#[cfg(test)]
mod tests;

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use self::tenure::Tenure;
use crate::{Clock, Version, time::Look};

/// What one place in the line costs (F1): the grain of Tokio's timers.
const SLOT: Duration = Duration::from_millis(1);

/// How long to sleep for so many slots. A timer fires at the next whole millisecond of its wheel, and the
/// thread is woken up to one later: who asks for a slot gets two and more, who asks for a tenth gets one.
pub(crate) fn span(slots: Slots) -> Duration {
    (SLOT * slots).saturating_sub(SLOT * 9 / 10)
}

/// The most that a try is held back for those before it (F1). Whoever is further back than that need not
/// be told apart: somebody asks before them.
const MOST_SLOTS: u64 = 4;

/// F4: a client that took the lock again and again for so long, and was never refused, cannot know
/// whether others wait, since a refused try writes nothing (A7). Then it leaves them one slot. A
/// process that is alone loses a slot of this span to it.
const STREAK: Duration = Duration::from_millis(50);

/// F2: for so long after its own release a client has an advantage over the others, who have to hear of it
/// first: as long as the longest delay.
const RECENT: Duration = Duration::from_millis(MOST_SLOTS + 1);

/// F5: so often in a row a client leaves the lock to others before it takes it that there are none.
const VAIN: u32 = 4;

/// Hints that are due for a client's own releases, at most: the rest have been lost.
const MOST_OWED: u64 = 2;

/// The most others that are told apart.
const OTHERS_KEPT: usize = 64;

/// F3: after so many wins without a delay a client lets one more than the others it knows go first: there
/// may be one that never wins, and so is never seen. Four times as many after each time in vain.
const FIRST_TRIAL: u32 = 2;
const LAST_TRIAL: u32 = 64;

/// F3: how many such unseen others are assumed at most.
const MOST_UNSEEN: u64 = 2;

/// What a client knows of the others who want a name.
#[derive(Default)]
pub(crate) struct Fairness {
    /// The terms of others that have gone by: the hints that it got, but for those of its own releases.
    heard: u64,
    /// Releases of its own that it has yet to hear of.
    owed: u64,
    /// When it last gave a term back.
    given_back: Option<Look>,
    /// It has seen somebody else hold the lock since it did.
    followed: bool,
    /// Since when it has taken the lock again each time right after its own release.
    streak: Option<Look>,
    /// Others want the lock, as far as it knows.
    contended: bool,
    /// How often it has left the lock to them since, and nobody came.
    in_vain: u32,
    /// Those whom it has seen holding lately.
    others: Vec<Other>,
    /// As many more that it takes into account.
    unseen: u64,
    /// Wins since it last tried to let one more go first, and how many it takes to try again.
    wins: u32,
    trial: u32,
    /// How long it has had the name to itself (W8).
    tenure: Tenure,
}

/// Somebody else who holds the lock now and then, by the label: a hint is enough here.
struct Other {
    label: u64,
    /// `heard` when it was last seen.
    seen: u64,
}

/// Which terms a contender has let go by: those heard of since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entered(u64);

/// How many slots a try leaves to others.
pub(crate) type Slots = u32;

impl Fairness {
    /// Somebody's term was released, or may have been.
    pub(crate) fn hinted(&mut self) {
        match self.owed {
            0 => self.heard += 1,
            owed => self.owed = owed - 1,
        }
    }

    /// Somebody else holds the lock: with this label, if it tells anything.
    pub(crate) fn refused(&mut self, owner: Option<&str>) {
        self.contended = true;
        self.in_vain = 0;
        self.streak = None;
        self.followed = true;
        self.tenure.ended();
        let Some(owner) = owner else { return };
        let mut hasher = DefaultHasher::new();
        owner.hash(&mut hasher);
        let (label, seen) = (hasher.finish(), self.heard);
        let known = self.others.len();
        self.others.retain(|other| other.label != label);
        if self.others.len() == known {
            self.trial = FIRST_TRIAL;
        }
        if self.others.len() == OTHERS_KEPT {
            self.others.remove(0);
        }
        self.others.push(Other { label, seen });
        self.forget();
    }

    /// A contender begins to wait.
    pub(crate) fn enter(&self) -> Entered {
        Entered(self.heard)
    }

    /// What the first try of a newcomer leaves to others, and how much of that is left: its client may
    /// have given the lock back a moment ago, and those who wait have to hear of that first.
    pub(crate) fn newcomer(&mut self, entered: Entered, clock: &Clock) -> (Slots, Duration) {
        let Some(ago) = self.given_back.map(|since| clock.elapsed(since)) else {
            return (0, Duration::ZERO);
        };
        if self.contended {
            if !self.was_last(clock) {
                return (0, Duration::ZERO);
            }
            let slots = self.slots(entered, clock);
            return (slots, span(slots).saturating_sub(ago));
        }
        let alone = self
            .streak
            .is_some_and(|since| clock.elapsed(since) >= STREAK);
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

    /// A contender has won, by a try that had left so many slots to others.
    pub(crate) fn won(&mut self, entered: Entered, left: Slots, clock: &Clock) {
        if !self.contended {
            return;
        }
        let (passed, rank) = (self.passed(entered), self.rank());
        if left > 0 && passed == 0 && self.was_last(clock) {
            // Nobody wanted it; or somebody was too slow, on a busy machine.
            self.in_vain += 1;
            self.contended = self.in_vain < VAIN;
            if !self.contended {
                self.others.clear();
            }
        }
        if left > 0 && passed < rank {
            // Nobody had waited longer.
            let known = self.others.len() as u64;
            self.unseen = passed.saturating_sub(known).min(MOST_UNSEEN);
            self.trial = (4 * self.trial.max(FIRST_TRIAL)).min(LAST_TRIAL);
            self.wins = 0;
        } else {
            self.wins += 1;
            if self.wins >= self.trial.max(FIRST_TRIAL) {
                self.unseen = (self.unseen + 1).min(MOST_UNSEEN);
                self.wins = 0;
            }
        }
        self.forget();
    }

    /// A term of ours begins, which was asked for then; `None` if it was handed over, so that the name was
    /// not free. Another client that polls finds it free, sooner or later, if we leave it alone for longer
    /// than `longest_idle` between our terms.
    pub(crate) fn granted(&mut self, asked: Option<Look>, longest_idle: Duration, clock: &Clock) {
        let idle = self.given_back.map(|since| clock.elapsed(since));
        let alone = idle.map(|idle| {
            asked.map_or(Duration::ZERO, |asked| {
                idle.saturating_sub(clock.elapsed(asked))
            })
        });
        self.tenure.granted(alone, longest_idle, clock.look());
        let again = idle.is_some_and(|idle| idle < RECENT);
        self.streak = again.then(|| self.streak.unwrap_or_else(|| clock.look()));
        self.followed = false;
    }

    /// A term of ours ends: its release begins, or was applied just now.
    pub(crate) fn gives_back(&mut self, clock: &Clock) {
        self.given_back = Some(clock.look());
    }

    /// A release of ours leaves, which we shall hear of as of any other's.
    pub(crate) fn releases(&mut self) {
        self.owed = (self.owed + 1).min(MOST_OWED);
    }

    /// It was none: there will be no hint.
    pub(crate) fn did_not_release(&mut self) {
        self.owed = self.owed.saturating_sub(1);
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
        let idle = self.given_back.map(|since| clock.elapsed(since));
        idle.is_some_and(|idle| idle <= longest_try) && self.tenure.is_due(span, clock)
    }

    /// That look got no answer: the next one comes after this pause (F11).
    pub(crate) fn look_failed(&mut self, pause: Duration, clock: &Clock) {
        self.tenure.look_failed(pause, clock);
    }

    /// Another client has this reservation of such a duration: the name is left to others for so long (F12).
    pub(crate) fn heed(
        &mut self,
        reservation: Version,
        duration: Duration,
        lasts: Duration,
        clock: &Clock,
    ) {
        self.tenure.heed(reservation, duration, lasts, clock);
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
        self.others.len() as u64 + self.unseen
    }

    /// How many terms of others a contender has let go by.
    pub(crate) fn passed(&self, Entered(at): Entered) -> u64 {
        self.heard.saturating_sub(at)
    }

    /// We have just had the lock, as far as we know.
    fn was_last(&self, clock: &Clock) -> bool {
        let recent = |since: Look| clock.elapsed(since) < RECENT;
        !self.followed && self.given_back.is_some_and(recent)
    }

    /// Forgets those who have not been seen for two rounds, and a few terms that went by unseen.
    fn forget(&mut self) {
        let kept = 2 * (self.others.len() as u64 + 1) + 8;
        let heard = self.heard;
        self.others.retain(|other| heard - other.seen <= kept);
    }
}
