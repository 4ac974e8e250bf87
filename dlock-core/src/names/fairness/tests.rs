//! The rule, without anybody who sleeps.

mod winning;

use super::*;

const MILLISECOND: Duration = Duration::from_millis(1);
const INSTANT: Duration = Duration::from_nanos(1);

/// No pause in these tests ends a tenure but those of the tests about it.
const LONGEST_IDLE: Duration = Duration::from_millis(20);
const LONGEST_TRY: Duration = TENURE;

/// How long a client has a name to itself before it looks for a reservation.
const TENURE: Duration = Duration::from_millis(300);

/// One that has seen so many others, was granted the lock and has given it back just now.
fn releaser(others: usize) -> (Fairness, Clock, crate::testing::ManualClock) {
    let (clock, hand) = Clock::manual();
    let mut fairness = Fairness::default();
    for other in 0..others {
        fairness.refused(Some(&format!("other {other}")));
    }
    fairness.granted(clock.contender_now(), LONGEST_IDLE, &clock);
    fairness.gives_back(clock.contender_now());
    fairness.releases();
    (fairness, clock, hand)
}

#[test]
fn who_has_waited_longest_leaves_nothing() {
    let (mut fairness, clock, _hand) = releaser(7);
    let entered = fairness.enter();
    fairness.hinted();
    let mut slots = Vec::new();
    for _ in 0..8 {
        slots.push(fairness.slots(entered, &clock));
        fairness.hinted();
    }
    // Four at most, and one more for the client that has just had the lock.
    assert_eq!(slots, [5, 4, 4, 4, 3, 2, 1, 0]);
}

#[test]
fn own_release_is_no_term_that_goes_by() {
    let (clock, _hand) = Clock::manual();
    let mut fairness = Fairness::default();
    fairness.refused(Some("other"));
    for hint_first in [false, true, true, false, false] {
        fairness.granted(clock.contender_now(), LONGEST_IDLE, &clock);
        fairness.releases();
        if hint_first {
            fairness.hinted();
        }
        fairness.gives_back(clock.contender_now());
        let entered = fairness.enter();
        if !hint_first {
            fairness.hinted();
        }
        assert_eq!(
            fairness.slots(entered, &clock),
            2,
            "hint first: {hint_first}"
        );
    }
}

#[test]
fn hint_that_comes_late_is_no_term_that_goes_by() {
    let (clock, _hand) = Clock::manual();
    let mut fairness = Fairness::default();
    fairness.refused(Some("other"));
    // The other's release, seen after our grant.
    fairness.granted(clock.contender_now(), LONGEST_IDLE, &clock);
    fairness.hinted();
    fairness.gives_back(clock.contender_now());
    fairness.releases();
    let entered = fairness.enter();
    fairness.hinted();
    assert_eq!(fairness.slots(entered, &clock), 2);
}

#[test]
fn newcomer_leaves_what_is_left_of_the_moment_after_its_release() {
    let (mut fairness, clock, hand) = releaser(1);
    let entered = fairness.enter();
    assert_eq!(fairness.newcomer(entered, 0, &clock), (2, span(2)));
    hand.advance(MILLISECOND);
    let left = span(2) - MILLISECOND;
    assert_eq!(fairness.newcomer(entered, 0, &clock), (2, left));
    hand.advance(4 * MILLISECOND);
    assert_eq!(fairness.newcomer(entered, 0, &clock).1, Duration::ZERO);
}

#[test]
fn newcomer_of_a_client_that_others_came_after_leaves_nothing() {
    let (mut fairness, clock, _hand) = releaser(3);
    fairness.refused(Some("other 0"));
    let entered = fairness.enter();
    assert_eq!(fairness.newcomer(entered, 0, &clock).1, Duration::ZERO);
}

#[test]
fn client_that_nobody_came_after_forgets_the_others_after_a_while() {
    let (mut fairness, clock, _hand) = releaser(1);
    fairness.hinted();
    let mut times = 0;
    loop {
        let entered = fairness.enter();
        let (slots, left) = fairness.newcomer(entered, 0, &clock);
        if left.is_zero() {
            break;
        }
        times += 1;
        fairness.granted(clock.contender_now(), LONGEST_IDLE, &clock);
        fairness.won(entered, slots, &clock);
        fairness.gives_back(clock.contender_now());
        fairness.releases();
        fairness.hinted();
    }
    assert_eq!(times, MOST_IDLE_YIELDS);
    fairness.refused(Some("other 0"));
    let entered = fairness.enter();
    assert_eq!(fairness.slots(entered, &clock), 1);
}

#[test]
fn client_that_has_just_had_the_lock_leaves_one_slot_more_for_a_moment() {
    let (fairness, clock, hand) = releaser(1);
    let entered = fairness.enter();
    hand.advance(RECENT - INSTANT);
    assert_eq!(fairness.slots(entered, &clock), 2);
    hand.advance(INSTANT);
    assert_eq!(fairness.slots(entered, &clock), 1);
}

#[test]
fn release_that_changed_nothing_is_waited_for_by_no_hint() {
    let (mut fairness, ..) = releaser(1);
    fairness.did_not_release();
    let entered = fairness.enter();
    fairness.hinted();
    assert_eq!(fairness.passed(entered), 1);
}

/// A timer adds up to a slot by itself.
#[test]
fn delay_of_so_many_slots_ends_soon_after_one_fewer() {
    let tenth = SLOT / 10;
    assert_eq!(
        [0, 1, 2, 5].map(span),
        [Duration::ZERO, tenth, SLOT + tenth, 4 * SLOT + tenth]
    );
}

#[test]
fn one_other_counts_once() {
    let (mut fairness, clock, _hand) = releaser(1);
    let entered = fairness.enter();
    for _ in 0..5 {
        fairness.refused(Some("other 0"));
    }
    assert_eq!(fairness.slots(entered, &clock), 1);
}

#[test]
fn others_are_forgotten_once_they_are_not_seen_any_more() {
    let (mut fairness, _clock, _hand) = releaser(7);
    for _ in 0..25 {
        fairness.hinted();
    }
    fairness.refused(Some("other 0"));
    assert_eq!(fairness.rank(), 7);
    fairness.hinted();
    fairness.refused(Some("other 0"));
    assert_eq!(fairness.rank(), 1);
}

#[test]
fn crowd_is_bounded() {
    let (mut fairness, ..) = releaser(2 * OTHERS_KEPT);
    assert_eq!(fairness.others.len(), OTHERS_KEPT);
    fairness.refused(Some("other 0"));
    assert_eq!(fairness.others.len(), OTHERS_KEPT);
}

/// A client that wins by tries without a delay probes for one more rival, and gives up when that was in vain;
/// each time later.
#[test]
fn unseen_others_get_a_chance_now_and_then() {
    let (mut fairness, clock, _hand) = releaser(1);
    let mut wins_until_a_trial = Vec::new();
    for _ in 0..4 {
        let mut wins = 0;
        while fairness.rank() == 1 {
            let entered = fairness.enter();
            fairness.hinted();
            fairness.hinted();
            fairness.refused(Some("other 0"));
            fairness.won(entered, 0, &clock);
            wins += 1;
        }
        wins_until_a_trial.push(wins);
        let entered = fairness.enter();
        fairness.hinted();
        fairness.hinted();
        fairness.refused(Some("other 0"));
        assert_eq!(fairness.rank(), 2);
        fairness.won(Entered(entered.0 + 1), 1, &clock);
        assert_eq!(fairness.rank(), 1, "in vain");
    }
    assert_eq!(wins_until_a_trial, [2, 8, 32, 64]);
}

#[test]
fn client_that_is_alone_leaves_a_slot_once_in_a_streak() {
    let (clock, hand) = Clock::manual();
    let mut fairness = Fairness::default();
    let mut left = 0;
    for _ in 0..1000 {
        let entered = fairness.enter();
        let (slots, delay) = fairness.newcomer(entered, 0, &clock);
        hand.advance(delay);
        left += slots;
        fairness.granted(clock.contender_now(), LONGEST_IDLE, &clock);
        fairness.won(entered, slots, &clock);
        hand.advance(MILLISECOND);
        fairness.gives_back(clock.contender_now());
        fairness.releases();
        fairness.hinted();
    }
    assert!((18..=20).contains(&left), "{left} of a thousand");
}

#[test]
fn client_that_comes_now_and_then_leaves_nothing() {
    let (clock, hand) = Clock::manual();
    let mut fairness = Fairness::default();
    for _ in 0..100 {
        let entered = fairness.enter();
        assert_eq!(fairness.newcomer(entered, 0, &clock).1, Duration::ZERO);
        fairness.granted(clock.contender_now(), LONGEST_IDLE, &clock);
        fairness.gives_back(clock.contender_now());
        fairness.releases();
        hand.advance(RECENT);
    }
    // Nor when it comes again at once: a streak begins there.
    fairness.granted(clock.contender_now(), LONGEST_IDLE, &clock);
    fairness.gives_back(clock.contender_now());
    let entered = fairness.enter();
    assert_eq!(fairness.newcomer(entered, 0, &clock).1, Duration::ZERO);
}

/// Takes the name for a millisecond again and again, with so long between two terms, for a whole second. How often a
/// reservation was looked for.
fn looks(idle: Duration) -> usize {
    let (clock, hand) = Clock::manual();
    let mut fairness = Fairness::default();
    let mut looks = 0;
    for _ in 0..(Duration::from_secs(1).as_millis() / (idle + MILLISECOND).as_millis()) {
        looks += usize::from(fairness.reservation_is_due(TENURE, LONGEST_TRY, &clock));
        fairness.granted(clock.contender_now(), LONGEST_IDLE, &clock);
        hand.advance(MILLISECOND);
        fairness.gives_back(clock.contender_now());
        hand.advance(idle);
    }
    looks
}

#[test]
fn client_that_keeps_a_name_looks_for_a_reservation_twice_in_a_tenure() {
    assert_eq!(looks(MILLISECOND), 5);
    assert_ne!(looks(LONGEST_IDLE), 0, "it was not left for longer");
    assert_eq!(looks(LONGEST_IDLE + MILLISECOND), 0, "others find it free");
}

#[test]
fn client_that_comes_back_after_the_time_of_a_try_looks_for_none() {
    let (clock, hand) = Clock::manual();
    let mut fairness = Fairness::default();
    for _ in 0..3 {
        fairness.granted(clock.contender_now(), LONGEST_IDLE, &clock);
        hand.advance(TENURE);
        fairness.gives_back(clock.contender_now());
        hand.advance(LONGEST_TRY + MILLISECOND);
        assert!(!fairness.reservation_is_due(TENURE, LONGEST_TRY, &clock));
    }
}

#[test]
fn client_that_has_seen_another_with_the_name_looks_for_none() {
    let (clock, hand) = Clock::manual();
    let mut fairness = Fairness::default();
    fairness.granted(clock.contender_now(), LONGEST_IDLE, &clock);
    hand.advance(TENURE);
    fairness.gives_back(clock.contender_now());
    fairness.refused(None);
    assert!(!fairness.reservation_is_due(TENURE, LONGEST_TRY, &clock));
    fairness.granted(clock.contender_now(), LONGEST_IDLE, &clock);
    hand.advance(TENURE);
    fairness.gives_back(clock.contender_now());
    assert!(fairness.reservation_is_due(TENURE, LONGEST_TRY, &clock));
    fairness.followed();
    assert!(!fairness.reservation_is_due(TENURE, LONGEST_TRY, &clock));
}

#[test]
fn version_of_a_reservation_is_heeded_for_as_long_as_the_reservation_lasts() {
    let (clock, hand) = Clock::manual();
    let mut fairness = Fairness::default();
    let reservation = |renewals| Version {
        uuid: uuid::Uuid::from_u128(7),
        renewals,
    };
    let lasts = 3 * TENURE;
    for _ in 0..3 {
        fairness.heed(reservation(0), lasts, TENURE, &clock);
        assert_eq!(fairness.away(&clock), TENURE);
        hand.advance(TENURE);
        assert_eq!(fairness.away(&clock), Duration::ZERO);
    }
    // Its owner is dead.
    fairness.heed(reservation(0), lasts, TENURE, &clock);
    assert_eq!(fairness.away(&clock), Duration::ZERO);
    fairness.heed(reservation(1), lasts, TENURE, &clock);
    assert_eq!(fairness.away(&clock), TENURE);
    // Another client has come.
    fairness.followed();
    assert_eq!(fairness.away(&clock), Duration::ZERO);
}

#[test]
fn reservation_that_was_found_is_known_for_five_absences_or_until_it_is_given_back() {
    let (clock, hand) = Clock::manual();
    let mut fairness = Fairness::default();
    let reservation = Version {
        uuid: uuid::Uuid::from_u128(7),
        renewals: 0,
    };
    let lasts = 3 * TENURE;
    assert!(!fairness.is_reserved(&clock));
    fairness.heed(reservation, lasts, TENURE, &clock);
    // Another client has had the name, and the reservation may be of a third.
    fairness.followed();
    assert!(fairness.is_reserved(&clock));
    hand.advance(5 * TENURE);
    assert!(!fairness.is_reserved(&clock));
    fairness.heed(
        Version {
            renewals: 1,
            ..reservation
        },
        lasts,
        TENURE,
        &clock,
    );
    assert!(fairness.is_reserved(&clock));
    fairness.nobody_reserves();
    assert!(!fairness.is_reserved(&clock));
    assert_eq!(fairness.away(&clock), Duration::ZERO);
}

#[test]
fn look_that_failed_is_not_repeated_soon() {
    let (clock, hand) = Clock::manual();
    let mut fairness = Fairness::default();
    fairness.granted(clock.contender_now(), LONGEST_IDLE, &clock);
    hand.advance(TENURE);
    fairness.gives_back(clock.contender_now());
    assert!(fairness.reservation_is_due(TENURE, LONGEST_TRY, &clock));
    fairness.look_failed(5 * TENURE, &clock);
    for _ in 0..4 {
        hand.advance(TENURE);
        fairness.gives_back(clock.contender_now());
        assert!(!fairness.reservation_is_due(TENURE, LONGEST_TRY, &clock));
    }
    hand.advance(TENURE);
    fairness.gives_back(clock.contender_now());
    assert!(fairness.reservation_is_due(TENURE, LONGEST_TRY, &clock));
}
