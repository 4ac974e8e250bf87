//! Flaws that the cases of whole locks must catch. They may catch others too, some of them by chance.

use super::super::Flaw::{self, *};

/// Each case with flaws that make it fail.
pub(in super::super) const TABLE: &[(&str, &[Flaw])] = &[
    ("clones_find_the_same_client", &[OwnerDecides]),
    ("lock_is_held_until_it_is_released", &[ReleasedStaysHeld]),
    (
        "work_is_done_under_the_lock",
        &[OwnerDecides, ReleasedStaysHeld],
    ),
    ("dropped_guard_frees_the_lock", &[ReleasedStaysHeld]),
    (
        "waiter_that_left_is_in_nobodys_way",
        &[OwnerDecides, ReleasedStaysHeld],
    ),
    (
        "kept_lease_outlives_its_duration",
        &[OwnerDecides, RenewalDoesNotExtend],
    ),
    (
        "many_leases_are_kept_at_once",
        &[RenewalDoesNotExtend, BatchDoesNotExtend],
    ),
    (
        "waiter_takes_over_from_a_dead_holder",
        &[ExpiredStaysHeld, ExpiresEarly],
    ),
    (
        "repeated_tries_take_over_from_a_dead_holder",
        &[ExpiredStaysHeld, ExpiresEarly],
    ),
    (
        "stale_holder_knows_and_frees_nothing",
        &[KeepsExpiry, ReleaseOfAnyTerm],
    ),
    (
        "release_reaches_a_waiter_at_once",
        &[WatchIsMissing, WatchHearsLate],
    ),
    (
        "waiter_without_hints_polls",
        &[OwnerDecides, ReleasedStaysHeld],
    ),
    ("contenders_take_turns", &[OwnerDecides, NotAtomic]),
    (
        "contenders_without_hints_take_turns",
        &[OwnerDecides, NotAtomic],
    ),
    (
        "early_release_closes_the_name",
        &[ClosingIgnored, ClosingKeepsDuration, ClosingIsNotSaid],
    ),
    (
        "ticket_gives_the_lock_to_another_process",
        &[ClaimIgnored, KeepsToken],
    ),
    (
        "holder_hears_that_it_was_asked_and_revoked",
        &[RequestIsNotTold, RenewalOfAnyTerm],
    ),
];
