//! The order in which woken waiters try: the one that has waited longest tries first.
//!
//! Each contender counts the releases that it hears of, and remembers which others it has lately seen holding or
//! waiting. It leaves the freed lock for one slot to each of those that may have waited longer. In a steady round of
//! `n` the first in line has let `n - 1` terms go by and tries at once; the next tries a slot later, as a backup.

use std::time::Duration;

/// The delay for each contender that may have waited longer: the grain of Tokio's timers.
pub(super) const SLOT: Duration = Duration::from_millis(1);

/// The most that a try is held back for others. Contenders further back than that need not be distinguished: others
/// try before them.
pub(super) const MOST_SLOTS: u32 = 4;

/// Hints reach all contenders in about the same order, so without chance one of few may lose every race. Among many,
/// one more slot costs more order than it brings.
const FEW: usize = 8;

/// The most other contenders that one remembers.
const OTHERS_KEPT: usize = 64;

/// The most hints that are expected for this contender's own releases: the rest have been lost.
const MOST_OWN_HINTS: u64 = 2;

/// How long to sleep for this many slots. A timer fires at the next whole millisecond of its wheel, and the thread is
/// woken up to one later: a sleep of one slot takes two or more, a sleep of a tenth takes one.
pub(crate) fn span(slots: Slots) -> Duration {
    (SLOT * slots).saturating_sub(SLOT * 9 / 10)
}

/// How many slots a try leaves to others.
pub(crate) type Slots = u32;

/// When a contender began to wait, as the number of releases heard until then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrival(u64);

#[derive(Default)]
pub(super) struct Order {
    /// The releases of others: the hints that came, without those of its own releases.
    heard: u64,
    /// Hints of its own releases that have yet to come.
    own_hints: u64,
    others: Vec<Other>,
}

/// Another contender, known by its mark: a hint is enough here.
struct Other {
    mark: u32,
    /// `heard` when it was last seen.
    seen: u64,
}

impl Order {
    /// Whether this hint is that of another's release.
    pub(super) fn hinted(&mut self) -> bool {
        let another = self.own_hints == 0;
        if another {
            self.heard += 1;
        } else {
            self.own_hints -= 1;
        }
        another
    }

    pub(super) fn releases(&mut self, hinted: bool) {
        let expected = self.own_hints + u64::from(hinted);
        self.own_hints = expected.min(MOST_OWN_HINTS);
    }

    pub(super) fn no_hint_comes(&mut self) {
        self.own_hints = self.own_hints.saturating_sub(1);
    }

    /// Another contender has the name, or waits for it.
    pub(super) fn saw(&mut self, mark: u32) {
        self.others.retain(|other| other.mark != mark);
        if self.others.len() == OTHERS_KEPT {
            self.others.remove(0);
        }
        let seen = self.heard;
        self.others.push(Other { mark, seen });
        // Those that have not been seen for two rounds and a few terms more are forgotten.
        let kept = 2 * (self.others.len() as u64 + 1) + 8;
        self.others.retain(|other| seen - other.seen <= kept);
    }

    pub(super) const fn arrive(&self) -> Arrival {
        Arrival(self.heard)
    }

    pub(super) const fn passed(&self, Arrival(at): Arrival) -> u64 {
        self.heard.saturating_sub(at)
    }

    pub(super) fn slots(&self, arrival: Arrival, luck: bool) -> Slots {
        let others = self.others.len();
        let before = (others as u64).saturating_sub(self.passed(arrival));
        let slots = Slots::try_from(before).map_or(MOST_SLOTS, |slots| slots.min(MOST_SLOTS));
        slots + Slots::from(luck && (1..=FEW).contains(&others))
    }
}
