//! Every case of the suite: its name, its group, and the rules it covers.
//!
//! The list below is the only one: `conformance!`, [`CASES`] and the planted-bug matrix are generated from it. A new
//! case is a function in one of the modules and a line here; it needs a planted bug that it catches.

mod acquire;
mod admin;
mod batch;
mod blocks;
mod closed;
mod futures;
mod list;
mod locks;
mod marks;
mod names;
mod races;
mod read;
mod release;
mod renew;
mod takeover;
mod tokens;
mod watch;

use std::{future::Future, pin::Pin};

use crate::Bench;

/// One case of the suite.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Case {
    /// Its name: the property it checks.
    pub name: &'static str,
    /// The group it can be left out with; the group `required` cannot be left out.
    pub group: &'static str,
    /// The module it lives in.
    pub module: &'static str,
    /// The rules and invariants it covers.
    pub rules: &'static [&'static str],
    /// Runs the case; it panics if the property does not hold.
    pub run: fn(Bench) -> Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Case {
    /// One case of a list. `run` panics if the property does not hold.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(
        name: &'static str,
        group: &'static str,
        module: &'static str,
        rules: &'static [&'static str],
        run: fn(Bench) -> Pin<Box<dyn Future<Output = ()> + Send>>,
    ) -> Self {
        Self {
            name,
            group,
            module,
            rules,
            run,
        }
    }
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}::{}", self.group, self.name)
    }
}

/// The groups, each with the capability that a fixture without the group lacks.
pub const GROUPS: &[(&str, &str)] = &[
    ("required", "nothing: what every provider must do"),
    ("watch", "Capabilities::watch"),
    ("admin", "Fixture::admin"),
    ("purge", "Fixture::admin or Fixture::age"),
    ("prefix", "Fixture::prefixed"),
    ("sharing", "Provider::sharing"),
];

/// Passes the list of all cases to a macro.
#[doc(hidden)]
#[macro_export]
macro_rules! __for_each_case {
    ($callback:ident) => {
        $callback! {
            required acquire absent_record_is_created ["A1"];
            required acquire repeated_acquire_finds_its_own_grant ["A2", "T2", "I11"];
            required acquire repeated_acquire_finds_its_own_grant_after_a_renewal ["A2", "I11"];
            required acquire repeated_acquire_does_not_extend_the_lease ["A2", "G2", "I10"];
            required acquire acquire_of_a_released_term_is_spent ["A3", "I11"];
            required acquire acquire_of_an_expired_term_is_spent ["A3", "I11"];
            required acquire held_lock_refuses_newcomers ["A7"];
            required acquire refused_acquire_writes_nothing ["A7"];
            required acquire refused_acquire_does_not_extend_the_lease ["A7"];
            required acquire owners_label_decides_nothing ["A7", "R3", "L3", "I12"];
            required acquire late_copy_of_an_acquire_does_not_disturb_the_next_term ["A7", "I9", "I11"];
            required acquire leases_of_every_length_are_kept_exactly ["A1"];

            required takeover released_lock_is_taken ["A4"];
            required takeover expired_lock_is_taken_by_a_newcomer ["A5", "I10"];
            required takeover lock_is_refused_until_it_expires ["A7", "I2"];
            required takeover claimed_version_is_taken ["A6"];
            required takeover claimed_version_is_taken_after_renewals ["A6"];
            required takeover claim_of_a_renewed_version_is_refused ["A6", "A7", "I2"];
            required takeover claim_of_another_version_is_refused ["A6", "A7"];
            required takeover claim_does_not_hinder_where_none_is_needed ["A1", "A4", "A5"];
            required takeover takeover_lasts_for_the_new_lease ["A4", "R1"];

            required renew renewal_extends_the_lease ["R1", "I2"];
            required renew renewal_changes_nothing_but_number_and_expiry ["R1"];
            required renew renewal_numbers_may_be_skipped ["R1"];
            required renew repeated_renewal_is_a_success ["R2"];
            required renew overtaken_renewal_is_a_success_that_changes_nothing ["R1", "R2"];
            required renew repeated_renewal_does_not_extend_the_lease ["R2", "I2"];
            required renew repeated_renewal_of_an_expired_term_is_still_answered ["R2"];
            required renew renewal_of_a_released_term_is_lost ["R3", "I9"];
            required renew renewal_of_an_expired_term_is_lost ["R3", "A5"];
            required renew renewal_without_a_record_is_lost_and_creates_none ["R3"];
            required renew renewal_of_a_strangers_term_is_lost ["R3", "I9"];
            required renew renewals_and_replays_keep_the_token ["T2", "I3"];

            required batch batch_is_answered_in_order ["renew_many"];
            required batch batch_may_name_a_lock_twice ["renew_many"];
            required batch empty_batch_has_no_answers ["renew_many"];
            required batch batch_extends_every_lease ["renew_many", "R1"];
            required batch one_loss_in_a_batch_leaves_the_others ["renew_many", "R3"];
            required batch batches_in_opposite_orders_do_not_block_each_other ["renew_many"];

            required release release_keeps_everything_but_the_hold ["L1"];
            required release repeated_release_is_a_success ["L2", "I9"];
            required release release_of_a_strangers_term_changes_nothing ["L3", "I9"];
            required release release_without_a_record_creates_none ["L3"];
            required release expired_term_can_still_be_released ["L1"];
            required release token_of_a_release_decides_nothing ["L1"];
            required release release_does_not_depend_on_the_renewals ["L1", "R3"];

            required closed closing_ends_a_term_and_keeps_everybody_out ["B4"];
            required closed closed_name_opens_when_its_own_time_is_over ["B4", "A5"];
            required closed expired_term_can_still_be_closed ["B4"];
            required closed repeated_closing_is_a_success_that_changes_nothing ["B4", "I9"];
            required closed closing_of_what_is_not_held_changes_nothing ["B4", "L3", "I9"];
            required closed tokens_grow_across_a_closing ["B4", "T1", "I3"];

            required marks refused_waiter_leaves_one_mark_and_changes_nothing_else ["N1", "A7"];
            required marks marked_term_is_renewed_and_its_release_says_so ["N1", "N2", "N3", "R1", "L1", "L2"];
            required marks next_term_begins_unmarked ["N2", "A1", "A2", "A3", "A4", "A5"];
            required marks late_copy_marks_the_next_term_and_does_nothing_more ["N1", "I9", "I11"];
            required marks claim_keeps_the_mark ["N2", "A6"];
            required marks closing_keeps_the_mark_and_answers_that_nothing_was_wanted ["N2", "N3", "B4"];
            required marks refusals_at_once_leave_one_mark ["N1", "two looks"];
            required marks marks_beside_renewals_and_releases_disturb_neither ["N1", "N2", "R1", "L1"];
            admin marks ask_revoke_and_force_keep_the_mark ["N2", "N3", "B1", "B2", "B3"];

            required read read_shows_the_record_and_never_a_verdict ["read"];
            required read read_changes_nothing ["read"];
            required read data_of_every_kind_is_kept ["data"];
            required read data_is_untouched_by_renewal_and_release ["data"];
            required read owners_of_every_kind_are_kept ["read"];
            required read every_provider_on_the_store_sees_the_same ["read", "I12"];
            required read provider_says_what_the_fixture_says ["capabilities"];

            required tokens token_grows_across_release ["T1", "I3", "I4"];
            required tokens token_grows_across_expiry ["T1", "I3", "I4"];
            required tokens token_grows_across_takeover ["T1", "I3", "I4"];
            required tokens first_token_is_the_time_in_microseconds ["T1", "I3"];
            required tokens token_follows_the_stores_clock ["T1"];
            required tokens token_is_at_least_the_floor ["T1", "T6"];
            required tokens floor_below_the_next_token_changes_nothing ["T1", "T6"];
            required tokens token_ahead_of_the_clock_goes_on_one_by_one ["T1", "I3"];
            required tokens tokens_end_below_two_to_the_53 ["T2"];
            required tokens floor_beyond_all_tokens_is_refused ["T2", "T6"];

            required blocks block_ends_at_the_token_of_the_record ["T1"];
            required blocks block_is_as_long_as_was_asked_for ["T1"];
            required blocks next_grant_begins_above_the_whole_block ["T1", "I3", "I4"];
            required blocks block_begins_at_the_floor_or_above ["T1", "T6"];
            required blocks block_ends_below_two_to_the_53 ["T2"];
            required blocks repeat_claims_no_token_that_was_not_minted ["A2", "T1", "I11"];
            purge blocks purged_name_goes_on_above_its_block ["T5", "T1", "I3"];

            required futures futures_of_calls_are_small [];

            required names names_that_differ_in_a_byte_are_different_locks ["I13"];
            required names long_names_are_compared_to_their_end ["I13"];
            required names longest_name_may_be_of_any_script ["I13"];

            required races race_for_an_absent_record_has_one_winner ["A1", "two looks"];
            required races race_for_a_released_lock_has_one_winner ["A4", "two looks"];
            required races race_for_a_dead_holders_lock_has_one_winner ["A5", "A6", "two looks"];
            required races race_of_claims_has_one_winner ["A6", "two looks"];
            required races copies_of_one_acquire_at_once_grant_once ["A2", "I11"];
            required races renewals_racing_with_a_release_bring_nothing_back ["R3", "L1"];
            required races holders_exclude_each_other_and_tokens_follow_their_order ["A7", "I3", "I4", "two looks"];

            watch watch release_wakes_every_listener ["watch"];
            watch watch release_right_after_watch_is_hinted ["watch"];
            watch watch every_release_is_hinted_under_its_own_name ["watch", "I13"];
            watch watch watching_again_after_a_stream_was_dropped_works ["watch"];
            watch watch release_of_a_name_that_was_looked_at_is_hinted ["watch"];
            watch watch unmarked_release_tells_nobody ["watch", "N3"];
            watch watch mark_beside_a_release_loses_no_hint ["watch", "N1", "N3"];
            admin watch forced_release_of_a_marked_term_is_hinted ["watch", "N3", "B2"];

            admin admin revoke_takes_the_term_away_and_gives_it_to_nobody ["B1"];
            admin admin revoked_lease_ends_when_it_would_have_ended ["B1"];
            admin admin repeated_revoke_is_a_success ["B1"];
            admin admin revoke_of_another_version_changes_nothing ["B1"];
            admin admin ask_is_seen_at_the_next_renewal ["B3"];
            admin admin ask_of_another_term_changes_nothing ["B3"];
            admin admin next_term_starts_unasked ["B3", "A4"];
            admin admin forced_release_frees_only_what_was_seen ["B2"];
            admin list list_pages_through_every_name_in_byte_order ["list"];
            admin list list_takes_its_prefix_literally ["list"];
            purge list purge_deletes_only_what_is_a_week_past ["T5", "T1", "I3"];
            purge list purge_keeps_a_token_that_is_ahead_of_the_clock ["T5", "I3"];
            purge list purge_stops_at_its_limit ["T5"];
            prefix names prefix_and_name_are_kept_apart ["I13"];
            prefix names name_that_is_too_long_with_its_prefix_is_refused ["I13"];

            sharing locks clones_find_the_same_client ["W1"];
            required locks lock_is_held_until_it_is_released ["A7", "L1"];
            required locks work_of_a_lone_process_takes_two_calls ["N3", "N7"];
            required locks dropped_guard_frees_the_lock ["G3"];
            required locks waiter_that_left_is_in_nobodys_way ["G1", "W4"];
            required locks kept_lease_outlives_its_duration ["V6", "R1"];
            required locks many_leases_are_kept_at_once ["V6", "renew_many"];
            required locks waiter_takes_over_from_a_dead_holder ["A5", "A6", "I15"];
            required locks repeated_tries_take_over_from_a_dead_holder ["A5", "A6", "O2"];
            required locks stale_holder_knows_and_frees_nothing ["L3", "I9"];
            watch locks release_reaches_a_waiter_at_once ["W3", "I16"];
            required locks waiter_without_hints_polls ["W2"];
            watch locks contenders_take_turns ["I1", "I3", "W8"];
            required locks contenders_without_hints_take_turns ["I1", "I3", "W8"];
            required locks early_release_closes_the_name ["B4"];
            required locks ticket_gives_the_lock_to_another_process ["H7", "H8"];
            admin locks holder_hears_that_it_was_asked_and_revoked ["B1", "B3", "V5"];
        }
    };
}

/// Makes the table of a list of cases.
#[doc(hidden)]
#[macro_export]
macro_rules! __case_table {
    ($($group:ident $module:ident $name:ident [$($rule:literal),*];)*) => {
        /// Every case, in the order of the contract.
        // A constant would be compiled again in every crate that names it.
        pub static CASES: &[$crate::Case] = &[$($crate::Case::new(
            stringify!($name),
            stringify!($group),
            stringify!($module),
            &[$($rule),*],
            |bench| Box::pin($module::$name(bench)),
        )),*];
    };
}

__for_each_case!(__case_table);
