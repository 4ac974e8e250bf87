//! How long a contender leaves a name that it has released and that others want.
//!
//! Waiters that a hint wakes need some milliseconds. Those that poll cannot come so soon: a contender that had the
//! name to itself for a while leaves it to them until they must have tried. `dlock-model` has the bound that follows.

use std::time::Duration;

use super::HAND_OFF;
use crate::{
    Clock,
    time::{ContenderInstant, Plan},
};

/// Without marks, how many times the period doubles for which a contender has a name to itself: to 32 times D/10.
const MOST_DOUBLED: u32 = 5;

#[derive(Default)]
pub(super) struct Tenure {
    /// When this contender had its first term since it saw another's.
    since: Option<ContenderInstant>,
    /// When its newest term began.
    granted: Option<ContenderInstant>,
    /// It has seen another's term since its last one ended.
    another: bool,
    /// When the last wanted release began, and the number of such releases in a row, each soon after the one before,
    /// while no other contender came: hints do not reach the one that waits.
    wanted_at: Option<ContenderInstant>,
    unheard: u32,
    /// When its latest release began, which may still be in flight.
    released_at: Option<ContenderInstant>,
    left: Option<(ContenderInstant, Duration)>,
    /// How often in a row it left the name and no other contender came.
    vain: u32,
}

/// The answer to a release, and the times that follow from the lock's settings.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) is_wanted: bool,
    /// Whether that is a guess, since the store has no marks.
    pub(crate) guessed: bool,
    /// Whether hints of it reach the waiters.
    pub(crate) hinted: bool,
    /// How long a contender may have a name to itself: D/10, within 50 ms and 1 s.
    pub(crate) longest: Duration,
    /// P, at most D.
    pub(crate) poll: Duration,
}

impl Wanted {
    pub(crate) fn of(plan: &Plan, is_wanted: bool, hinted: bool) -> Self {
        Self {
            is_wanted,
            guessed: false,
            hinted,
            longest: plan.longest_tenure(),
            // A mark may be that of a waiter that gave up: it costs at most about as long as a dead holder would.
            poll: plan.poll_every.min(plan.duration),
        }
    }
}

impl Tenure {
    pub(super) fn saw_another(&mut self) {
        self.another = true;
        self.left = None;
        self.vain = 0;
    }

    pub(super) fn granted(&mut self, now: ContenderInstant) {
        if self.another || self.since.is_none() {
            self.since = Some(now);
        }
        self.granted = Some(now);
        self.left = None;
    }

    /// A release begins; others may come from now on.
    pub(super) fn releases(&mut self, now: ContenderInstant) {
        if self.another {
            self.unheard = 0;
        }
        self.another = false;
        self.released_at = Some(now);
    }

    pub(super) fn released(&mut self, wanted: Wanted, now: ContenderInstant) {
        let Wanted {
            is_wanted,
            guessed,
            hinted,
            longest,
            poll,
        } = wanted;
        // A guess costs a lone contender half a poll each time, so it becomes rare.
        let longest = if guessed {
            longest * 2_u32.pow(self.vain.min(MOST_DOUBLED))
        } else {
            longest
        };
        let began = self.released_at.unwrap_or(now);
        let granted = self.granted.unwrap_or(began);
        if is_wanted {
            let soon = |at| granted.since(at) <= longest + poll / 4;
            self.unheard = if self.wanted_at.is_some_and(soon) {
                self.unheard + 1
            } else {
                1
            };
            self.wanted_at = Some(began);
        }
        // Another's hint came before this answer.
        if self.another {
            return;
        }
        let since = *self.since.get_or_insert(began);
        let overheard = guessed || !hinted || self.unheard >= 2;
        if is_wanted && overheard && began.since(since) >= longest {
            // During a long term a waiter tries once per poll interval and its jitter, otherwise four times in one.
            let lasts = if began.since(granted) > 2 * poll {
                poll * 5 / 4
            } else {
                poll / 2
            };
            *self = Self {
                left: Some((now, lasts)),
                unheard: self.unheard,
                wanted_at: self.wanted_at,
                vain: self.vain.saturating_add(1),
                ..Self::default()
            };
        } else if is_wanted && hinted && !guessed {
            self.left = Some((now, HAND_OFF));
        }
    }

    pub(super) fn left_for(&self, clock: &Clock) -> Duration {
        self.left.map_or(Duration::ZERO, |(since, lasts)| {
            lasts.saturating_sub(clock.elapsed(since))
        })
    }
}
