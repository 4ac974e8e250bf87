//! Every case of the suite: what it is called, which group it belongs to, which rules it covers.
//!
//! The list below is the only one: `conformance!`, [`CASES`] and the planted-bug matrix are made
//! from it. A new case is a function in one of the modules and a line here; it needs a planted bug
//! that it catches.

mod acquire;
mod admin;
mod batch;
mod closed;
mod frontend;
mod list;
mod names;
mod races;
mod read;
mod release;
mod renew;
mod takeover;
mod tokens;
mod watch;

use std::{future::Future, pin::Pin};

use tokio::task::JoinError;

use self::frontend::{
    at_least, batching, cancelling, closing, fairness, ghosts, handing, letting, limits, looking,
    observing, outages, outliving, polling, queueing, releasing, renewing, scoped, sharing,
    stories, tickets, tries, validity,
};
use crate::Bench;

/// One case of the suite.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Case {
    /// What it is called: the property it checks.
    pub name: &'static str,
    /// The group it can be left out with; `required` cannot be left out.
    pub group: &'static str,
    /// The module it lives in.
    pub module: &'static str,
    /// The rules, invariants and acceptance numbers it covers.
    pub rules: &'static [&'static str],
    /// Runs it; it panics if the property does not hold.
    pub run: fn(Bench) -> Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Case {
    /// Whether it checks the frontend, over the provider, rather than the provider itself.
    #[must_use]
    pub fn is_of_the_frontend(&self) -> bool {
        frontend::MODULES.contains(&self.module)
    }
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}::{}", self.group, self.name)
    }
}

/// The groups, and what a fixture that leaves one out lacks.
pub const GROUPS: &[(&str, &str)] = &[
    ("required", "nothing: what every provider must do"),
    ("watch", "Capabilities::watch"),
    ("admin", "Fixture::admin"),
    ("purge", "Fixture::admin or Fixture::age"),
    ("prefix", "Fixture::prefixed"),
    ("sharing", "Provider::sharing"),
];

/// Hands the list of all cases to a macro.
#[doc(hidden)]
#[macro_export]
macro_rules! __for_each_case {
    ($callback:ident) => {
        $callback! {
            required acquire absent_record_is_created ["A1", "000-1", "003-1"];
            required acquire repeated_acquire_finds_its_own_grant ["A2", "T2", "I11"];
            required acquire repeated_acquire_finds_its_own_grant_after_a_renewal ["A2", "I11"];
            required acquire repeated_acquire_does_not_extend_the_lease ["A2", "G2", "I10"];
            required acquire acquire_of_a_released_term_is_spent ["A3", "I11"];
            required acquire acquire_of_an_expired_term_is_spent ["A3", "I11"];
            required acquire held_lock_refuses_newcomers ["A7", "001-1", "003-2"];
            required acquire refused_acquire_writes_nothing ["A7", "001-1", "003-2"];
            required acquire refused_acquire_does_not_extend_the_lease ["A7", "001-1"];
            required acquire owners_label_decides_nothing ["A7", "R3", "L3", "I12"];
            required acquire late_copy_of_an_acquire_does_not_disturb_the_next_term ["A7", "I9", "I11"];
            required acquire leases_of_every_length_are_kept_exactly ["A1"];

            required takeover released_lock_is_taken ["A4", "001-1"];
            required takeover expired_lock_is_taken_by_a_newcomer ["A5", "001-2", "I10"];
            required takeover lock_is_refused_until_it_expires ["A7", "I2"];
            required takeover claimed_version_is_taken ["A6", "001-2"];
            required takeover claimed_version_is_taken_after_renewals ["A6"];
            required takeover claim_of_a_renewed_version_is_refused ["A6", "A7", "I2", "003-3"];
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
            required release release_of_a_strangers_term_changes_nothing ["L3", "I9", "001-3", "003-8"];
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

            required read read_shows_the_record_and_never_a_verdict ["read"];
            required read read_changes_nothing ["read"];
            required read data_of_every_kind_is_kept ["data", "003-11"];
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

            required names names_that_differ_in_a_byte_are_different_locks ["I13", "003-9"];
            required names long_names_are_compared_to_their_end ["I13"];
            required names longest_name_may_be_of_any_script ["I13"];

            required races race_for_an_absent_record_has_one_winner ["A1", "two looks"];
            required races race_for_a_released_lock_has_one_winner ["A4", "two looks"];
            required races race_for_a_dead_holders_lock_has_one_winner ["A5", "A6", "two looks"];
            required races race_of_claims_has_one_winner ["A6", "two looks", "003-4"];
            required races copies_of_one_acquire_at_once_grant_once ["A2", "I11"];
            required races renewals_racing_with_a_release_bring_nothing_back ["R3", "L1"];
            required races holders_exclude_each_other_and_tokens_follow_their_order ["A7", "I3", "I4", "two looks"];

            watch watch release_wakes_whoever_listens ["watch"];
            watch watch release_right_after_watch_is_hinted ["watch"];
            watch watch every_release_is_hinted_under_its_own_name ["watch", "I13"];
            watch watch watching_again_after_a_stream_was_dropped_works ["watch"];

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

            required validity deadline_counts_from_the_request ["V1", "I6"];
            required validity repeated_try_keeps_its_first_deadline ["V1", "I6"];
            required validity margin_is_kept ["V1", "I2", "I6"];
            required validity validity_is_computed_at_every_question ["V2", "I8"];
            required validity renewal_counts_from_its_own_request ["V4", "I6"];
            required validity late_renewal_revives_nothing ["V4", "I7"];
            required validity success_counts_for_the_attempt_it_answers ["V4", "I6"];
            required validity deadline_never_moves_back ["V4", "R2", "I7"];
            required validity every_renewal_attempt_has_a_larger_number ["V4", "R1"];
            required validity refused_renewal_is_a_loss_at_once ["V5", "R3"];
            required validity failed_renewal_is_no_loss ["V5", "V6"];
            required validity expired_lease_tells_its_holder ["V2", "V5", "I8"];
            required validity loss_is_told_on_time_while_renewals_hang ["V5", "V6", "I8"];
            required validity holder_stops_before_another_starts ["V1", "I1", "I2", "I15"];

            required renewing renewal_is_sent_when_it_is_due ["V6"];
            required renewing kept_lease_outlives_its_duration ["V6", "000-2", "003-7"];
            required renewing hung_renewal_is_followed_by_the_next ["V6"];
            required renewing lost_reply_of_a_renewal_is_no_loss ["V5", "V6", "R1"];
            required renewing outage_within_the_bound_loses_no_lease ["V6", "I17"];
            required renewing late_renewal_is_shown_before_the_loss ["V8"];
            required renewing fatal_renewal_is_shown_at_once ["V8"];
            required renewing polite_request_is_seen_by_the_holder ["B3"];
            required renewing renewals_stop_at_the_longest_hold ["longest hold"];
            required renewing failing_renewals_stop_at_the_longest_hold_too ["longest hold"];
            required renewing lease_that_was_not_renewed_was_not_held_too_long ["longest hold"];

            required releasing validity_ends_where_the_release_begins ["V7", "I9"];
            required releasing no_renewal_is_sent_after_the_release_began ["V7"];
            required releasing renewal_under_way_does_not_outlive_the_release ["V7", "R3"];
            required releasing unanswered_release_is_repeated ["V7", "L2", "I9"];
            required releasing release_without_an_answer_ends_unconfirmed ["V7"];
            required releasing fatal_answer_to_a_release_is_an_error_at_once ["V7"];
            required releasing stale_holder_releases_nothing_and_is_told ["L3", "I9", "001-3"];
            required releasing repeated_release_that_finds_a_stranger_is_no_loss ["V7", "L3"];
            required releasing acquire_that_arrives_after_its_release_is_undone ["W5", "G2", "I14"];
            required releasing dropped_lease_is_given_back ["G3", "I14", "000-2", "003-7"];
            required releasing lease_dropped_without_a_runtime_is_given_back ["G3"];
            required releasing lease_dropped_while_unwinding_is_given_back ["G3"];

            required batching leases_due_together_travel_together ["V4", "V6", "renew_many"];
            required batching refused_renewal_of_a_batch_ends_one_lease ["V5", "renew_many"];
            required batching failed_renewal_of_a_batch_leaves_the_others ["V5", "V6"];
            required batching unanswered_batch_is_retried_one_by_one ["V5", "V6"];
            required batching hung_batch_delays_no_other ["V6"];
            required batching dead_shard_delays_only_its_own ["V6"];
            required batching short_lease_cuts_no_long_ones_attempt ["V6"];
            required batching batch_gets_as_long_as_its_shortest_lease_allows ["V6"];
            required batching answers_of_another_number_are_none ["V4", "renew_many"];
            required batching late_answer_of_a_batch_counts_for_leases_still_valid ["V4", "V5"];
            required batching lease_released_during_a_batch_is_renewed_no_more ["V7"];
            required batching released_leases_leave_nothing_behind ["V7", "G3"];

            required scoped with_acquires_renews_and_releases ["001-4", "V6"];
            required scoped lost_lease_ends_the_work ["V5", "V9"];
            required scoped work_is_gone_before_the_release_is_sent ["V7"];
            required scoped panic_of_the_work_goes_on_after_the_release ["V7"];
            required scoped work_that_ended_too_late_is_reported ["V9"];
            required scoped failing_release_does_not_hide_the_result ["V7"];
            required scoped hung_release_delays_the_result_to_the_end_of_the_lease_at_most ["V7"];
            required scoped error_of_the_work_comes_through_one_question_mark ["001-4"];
            required scoped work_of_a_lease_is_kept_alive_or_not_begun ["001-4"];
            required scoped dropped_with_gives_the_lock_back ["G1", "G3", "I14"];

            required cancelling acquire_dropped_anywhere_leaves_nothing ["G1", "I10", "I14"];
            required cancelling dropped_try_runs_to_its_answer ["G1", "I10", "I14"];
            required cancelling dropped_waiter_leaves_the_queue ["G1", "W1"];
            required cancelling grant_nobody_picks_up_is_given_back ["W6"];
            required cancelling grant_that_died_before_it_was_picked_up_is_not_handed_out ["V9", "W6"];
            required cancelling limit_that_passed_while_nobody_looked_sends_nothing_more ["W4"];

            required ghosts late_copy_of_a_try_given_up_does_not_block_its_client ["G4", "W5"];
            required ghosts late_copy_of_a_refused_try_does_not_block_its_client ["G4"];
            required ghosts late_copy_of_a_spent_try_does_not_block_its_client ["G4", "A3"];
            required ghosts late_copy_of_a_late_grants_try_does_not_block_its_client ["G4", "V9"];
            required ghosts late_copy_of_a_grant_nobody_took_does_not_block_its_client ["G4", "G1"];
            required ghosts late_copy_of_a_released_leases_try_does_not_block_its_client ["G4"];
            required ghosts unreleased_lease_of_ours_does_not_block_its_client ["G4"];
            required ghosts last_eight_are_remembered_for_two_leases ["G4"];
            required ghosts live_lease_of_ours_is_never_claimed ["G4", "I12", "no re-entrancy"];

            required tries each_try_of_a_waiter_has_its_own_identity ["W5"];
            required tries lost_reply_of_an_acquire_is_not_contention ["W5", "A2", "I11"];
            required tries try_without_an_answer_is_given_up ["W5"];
            required tries fatal_answer_ends_an_acquire_at_once ["W5"];
            required tries silent_store_ends_an_acquire ["W5"];
            required tries waiter_outlasts_an_outage ["W5"];
            required outages silent_store_is_asked_at_one_pace ["V6", "V7", "W5"];
            required outages first_answer_ends_an_outage_for_everybody ["V6", "W5"];
            required outages renewal_in_an_outage_keeps_its_last_chance ["V6"];
            required tries refusal_by_a_ghost_of_our_own_is_an_answer ["W5", "G4"];
            required tries spent_try_is_followed_by_a_fresh_one_at_once ["A3", "W5"];
            required tries late_grant_is_given_back_and_asked_for_again ["V9", "T6"];

            required queueing waiters_of_one_client_are_one_contender ["W1"];
            required queueing waiters_are_served_in_the_order_they_came ["W1", "I18"];
            required queueing try_stands_in_no_queue ["W1"];
            watch fairness waiter_is_served_before_the_releaser ["F2", "I18"];
            watch fairness equal_processes_get_equal_shares ["F1", "I18"];
            watch fairness waiters_ask_at_most_once_a_grant ["F1"];
            watch fairness process_that_was_never_refused_lets_others_in ["F4"];
            required fairness lone_process_is_hardly_slowed ["F4"];
            required fairness releaser_leaves_the_lock_to_others_for_an_instant ["F2", "W2"];
            required fairness try_leaves_nothing_to_others ["F2", "W1"];
            required fairness limit_holds_while_others_go_first ["F6", "W4"];
            watch fairness hint_during_a_delay_counts ["F6", "W3"];
            watch fairness hint_during_a_delay_does_not_start_it_anew ["F6", "W3"];
            watch letting crowded_client_lets_others_in ["W8", "F8", "F12"];
            required letting crowded_client_lets_others_in_without_hints ["W8", "F8", "F12"];
            watch letting crowded_clients_take_turns ["W8", "F9", "F13"];
            required letting crowded_clients_take_turns_without_hints ["W8", "F9"];
            required queueing own_release_wakes_the_next_waiter ["W7", "I16"];
            required queueing release_of_an_orphan_wakes_the_next_waiter ["W7", "W5"];

            required handing released_lock_goes_to_the_next_waiter_in_one_write ["H1", "V7", "A6"];
            required handing lock_is_handed_on_past_a_renewal_under_way ["H2", "G4"];
            required handing giver_has_stopped_before_the_next_is_asked_for ["H1", "V7"];
            required handing hand_over_that_is_refused_is_followed_by_the_release ["H3", "L3"];
            required handing hand_over_without_an_answer_is_followed_by_the_release ["H3", "V7"];
            required handing waiter_that_leaves_takes_no_hand_over_along ["H3", "G1"];
            required handing giver_is_not_stale_when_its_own_client_was_faster ["H4", "L3"];
            required handing lock_goes_back_to_the_store_after_a_row_of_hand_overs ["H5", "H6", "W1"];
            required handing lock_goes_back_to_the_store_after_a_while_of_hand_overs ["H5"];

            required at_least early_release_closes_the_name_until_its_time ["B4", "V7", "G3"];
            required at_least closed_name_is_handed_to_no_waiter ["B4", "H1"];
            required at_least client_does_not_claim_what_it_is_about_to_close ["B4", "G4"];
            required at_least release_after_its_time_frees_the_name ["B4"];
            required at_least lost_lease_closes_nothing ["B4", "V5"];
            required at_least work_that_was_not_done_closes_nothing ["B4"];
            required at_least grant_that_nobody_took_closes_nothing ["B4", "G1"];
            required at_least repeated_release_closes_the_name_once ["B4", "V7", "I9"];
            required at_least closing_that_somebody_overtook_is_told ["B4", "V7"];
            required at_least client_opens_its_own_closing_when_it_is_over ["B4", "A6"];
            required at_least ticket_carries_what_is_left_to_be_closed ["B4", "H7"];

            required tickets ticket_gives_the_lock_to_whoever_redeems_it ["H7", "H8", "A6", "V7"];
            required tickets ticket_is_good_whatever_its_number ["H2", "H8"];
            required tickets giver_does_not_claim_what_it_handed_over ["H10", "G4"];
            required tickets ticket_waits_behind_nobody ["H9", "W1"];
            required tickets ticket_opens_no_other_lock ["H11"];
            required tickets lost_lease_is_not_handed_over ["H7", "V5"];

            required polling waiter_asks_at_its_interval ["W2"];
            required polling waiter_enters_when_the_lease_ends ["W2", "I15"];
            required polling waiter_of_another_duration_waits_for_the_records ["W2", "O1", "003-2"];
            required polling waiter_does_not_spin_while_nothing_remains ["W2"];
            watch polling hint_wakes_a_waiter_at_once ["W3", "I16"];
            watch polling lost_hint_costs_one_interval ["W3", "I16"];
            watch polling broken_channel_wakes_everyone ["W3"];
            watch polling opened_channel_wakes_everyone ["W3"];

            required limits limit_is_a_total_while_the_lock_is_held ["W4", "003-12"];
            required limits limit_is_a_total_over_a_store_that_hangs ["W4"];
            required limits silent_store_is_told_apart_from_a_lock_that_is_held ["W4"];
            required limits limit_counts_the_time_in_the_queue ["W4", "W1"];
            required limits no_call_waits_longer_than_a_sixth_of_the_lease ["W4", "V7"];
            required limits failing_calls_are_repeated_only_after_a_pause ["V6", "V7", "W5"];

            required looking waiter_looks_where_that_costs_less ["O3"];
            required looking look_observes_as_a_refusal_does ["O3", "A6", "003-3"];
            required looking look_without_an_answer_is_repeated ["W4"];
            required looking look_is_an_answer_of_its_store ["W5"];
            required looking look_at_a_store_beyond_help_ends_the_wait ["W5"];

            required observing repeated_tries_take_over_from_a_dead_holder ["O2", "A6", "003-6"];
            required observing renewal_restarts_the_observation ["O1", "A6", "003-3"];
            required observing observation_lasts_for_the_records_duration ["O1", "A6", "003-2"];
            required observing read_observes_too ["O3"];
            required observing observation_is_forgotten_after_ten_leases ["O2"];
            required observing grant_of_our_own_replaces_the_observation ["O2"];
            required observing acquire_asks_for_more_than_the_highest_token_seen ["T6"];
            required observing floor_that_a_resource_reported_is_kept ["T6"];

            required outliving observation_outlives_its_process ["O4", "A6", "003-6"];
            required outliving observation_of_another_boot_counts_for_nothing ["O4"];
            required outliving kept_observation_is_of_one_version ["O4", "A6", "003-3"];
            required outliving observation_is_kept_only_where_it_decides ["O4"];

            required closing close_ends_waiters_and_later_acquires ["G3"];
            required closing close_waits_until_everything_is_given_back ["G3"];
            required closing close_leaves_leases_to_their_holders ["G3"];

            sharing sharing clones_of_a_provider_share_a_client ["W1"];
            required sharing lock_keeps_what_it_was_built_with ["data", "001-4"];

            required stories contender_is_refused_until_the_holder_releases ["001-1"];
            required stories waiter_takes_over_from_a_dead_holder ["001-2", "A6", "I15", "003-4"];
            required stories paused_holder_is_fenced_and_told ["001-3", "I9"];
            required stories holder_cut_off_from_its_store_stops_in_time ["000-3", "I1", "I15"];
        }
    };
}

macro_rules! table {
    ($($group:ident $module:ident $name:ident [$($rule:literal),*];)*) => {
        /// Every case, in the order of the contract.
        pub const CASES: &[Case] = &[$(Case {
            name: stringify!($name),
            group: stringify!($group),
            module: stringify!($module),
            rules: &[$($rule),*],
            run: |bench| Box::pin($module::$name(bench)),
        }),*];
    };
}

__for_each_case!(table);

/// The result of a task; its panic is the case's.
fn joined<T>(done: Result<T, JoinError>) -> T {
    match done {
        Ok(value) => value,
        Err(error) => panic!("a task of the case failed: {error}"),
    }
}
