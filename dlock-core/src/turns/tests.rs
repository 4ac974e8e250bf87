//! The order of woken waiters, and how long a name is left to others.

use super::*;
use crate::{Clock, testing::ManualClock};

const POLL: Duration = Duration::from_millis(300);
const LONGEST: Duration = Duration::from_millis(300);
const INSTANT: Duration = Duration::from_nanos(1);

struct Contender {
    contenders: Contenders,
    clock: Clock,
    hand: ManualClock,
    guesses: bool,
}

fn contender() -> Contender {
    let (clock, hand) = Clock::manual();
    Contender {
        contenders: Contenders::default(),
        clock,
        hand,
        guesses: false,
    }
}

fn here() -> Id {
    tokio::runtime::Handle::current().id()
}

impl Contender {
    fn turns(&mut self) -> &mut Turns {
        self.contenders.of(here())
    }

    /// A term of this length, and how long the name is left after its release.
    fn term(&mut self, length: Duration, is_wanted: bool, hinted: bool) -> Duration {
        let now = self.clock.contender_now();
        self.turns();
        self.contenders.granted(here(), now);
        self.hand.advance(length);
        let now = self.clock.contender_now();
        self.turns().releases(hinted, now);
        let wanted = Wanted {
            is_wanted,
            guessed: self.guesses,
            hinted,
            longest: LONGEST,
            poll: POLL,
        };
        self.turns().released(wanted, now);
        let clock = self.clock.clone();
        self.turns().left_for(&clock)
    }
}

/// One slot for each other contender that may have waited longer, four at most; by chance one more, among few.
#[tokio::test]
async fn slots_are_left_to_those_that_have_not_gone_by() {
    let mut contender = contender();
    let turns = contender.turns();
    let first = turns.arrive();
    assert_eq!([false, true].map(|luck| turns.slots(first, luck)), [0, 0]);
    (1..=3).for_each(|mark| turns.saw(mark));
    turns.saw(2);
    assert_eq!([false, true].map(|luck| turns.slots(first, luck)), [3, 4]);
    assert!(turns.order.hinted());
    assert_eq!((turns.slots(first, false), turns.passed(first)), (2, 1));
    assert_eq!(turns.slots(turns.arrive(), false), 3, "a later one");
    (4..=9).for_each(|mark| turns.saw(mark));
    assert_eq!([false, true].map(|luck| turns.slots(first, luck)), [4, 4]);
}

#[tokio::test]
async fn contender_that_was_not_seen_for_two_rounds_is_forgotten() {
    let mut contender = contender();
    let turns = contender.turns();
    turns.saw(1);
    for _ in 0..20 {
        turns.order.hinted();
        turns.saw(2);
    }
    assert_eq!(turns.slots(turns.arrive(), false), 1);
}

/// N3: hints of its own releases do not count as another's, and it does not wait for hints that never came.
#[tokio::test]
async fn own_hints_are_told_from_those_of_others() {
    let mut contender = contender();
    let now = contender.clock.contender_now();
    let turns = contender.turns();
    let arrival = turns.arrive();
    (0..5).for_each(|_| turns.releases(true, now));
    let others = (0..5).filter(|_| turns.order.hinted()).count();
    assert_eq!((others, turns.passed(arrival)), (3, 3));
    turns.releases(true, now);
    turns.no_hint_comes();
    assert!(turns.order.hinted());
}

/// With hints four slots, until another's release is heard; nothing if no other contender waits.
#[tokio::test]
async fn wanted_name_is_left_for_four_slots_or_until_another_releases_it() {
    let mut contender = contender();
    assert_eq!(contender.term(POLL, false, true), Duration::ZERO);
    assert_eq!(contender.term(Duration::ZERO, true, true), HAND_OFF);
    contender.hand.advance(HAND_OFF - INSTANT);
    let clock = contender.clock.clone();
    assert_eq!(contender.turns().left_for(&clock), INSTANT);
    // Its own, then another's.
    contender.contenders.hinted();
    assert_eq!(contender.turns().left_for(&clock), INSTANT);
    contender.contenders.hinted();
    assert_eq!(contender.turns().left_for(&clock), Duration::ZERO);
}

/// A contender that polls cannot come in four slots.
#[tokio::test]
async fn name_that_one_had_to_itself_is_left_for_half_a_poll() {
    let mut contender = contender();
    assert_eq!(contender.term(LONGEST / 2, true, false), Duration::ZERO);
    assert_eq!(contender.term(LONGEST / 2, false, false), Duration::ZERO);
    assert_eq!(contender.term(Duration::ZERO, true, false), POLL / 2);
    // The next span begins with the next term.
    contender.hand.advance(LONGEST);
    assert_eq!(contender.term(LONGEST / 2, true, false), Duration::ZERO);
    contender.turns().saw_another();
    assert_eq!(contender.term(LONGEST / 2, true, false), Duration::ZERO);
    assert_eq!(contender.term(LONGEST / 2, true, false), POLL / 2);
}

/// A mark that is set again soon, while hints bring no other, belongs to a contender that does not hear them.
#[tokio::test]
async fn waiter_that_hints_do_not_reach_is_told_by_its_second_mark() {
    let mut contender = contender();
    assert_eq!(contender.term(LONGEST, true, true), HAND_OFF);
    assert_eq!(contender.term(POLL / 8, true, true), POLL / 2);
    assert_eq!(
        contender.term(LONGEST / 2, true, true),
        HAND_OFF,
        "a new span"
    );
    contender.hand.advance(LONGEST + POLL);
    assert_eq!(contender.term(LONGEST, true, true), HAND_OFF, "late");
    contender.turns().saw_another();
    assert_eq!(contender.term(LONGEST, true, true), HAND_OFF, "one came");
    let long = 2 * POLL + INSTANT;
    assert_eq!(contender.term(long, true, true), POLL * 5 / 4);
}

/// Less and less often if no other comes.
#[tokio::test]
async fn without_marks_a_name_that_no_other_takes_is_left_more_and_more_rarely() {
    let mut contender = contender();
    contender.guesses = true;
    for doubled in [1, 2, 4] {
        let early = contender.term(doubled * LONGEST - INSTANT, true, true);
        assert_eq!(early, Duration::ZERO);
        assert_ne!(contender.term(INSTANT, true, true), Duration::ZERO);
    }
    contender.turns().saw_another();
    assert_eq!(contender.term(LONGEST, true, false), POLL / 2);
}

/// A runtime of the same client is another contender.
#[tokio::test]
async fn term_of_another_runtime_ends_the_time_that_the_name_is_left_for() {
    let mut contender = contender();
    contender.term(LONGEST, true, false);
    let clock = contender.clock.clone();
    assert_eq!(contender.turns().left_for(&clock), POLL / 2);
    let other = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let now = clock.contender_now();
    contender.contenders.granted(other.handle().id(), now);
    assert_eq!(contender.turns().left_for(&clock), Duration::ZERO);
    other.shutdown_background();
}
