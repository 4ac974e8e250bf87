//! The rules of the frontend, run over a provider through the fault wrapper: how long a holder believes in its lease,
//! how a waiter waits, and what remains when a caller goes away.
//!
//! Most cases move the client's clock by hand, so that a whole lease passes in no time and to the nanosecond, on a
//! store whose own time advances as usual.

mod adopting;
mod at_least;
mod batching;
mod cancelling;
mod closing;
mod crowds;
mod fairness;
mod following;
mod growing;
mod handing;
mod harness;
mod interceptor;
mod limits;
mod looking;
mod observing;
mod orphans;
mod outages;
mod outliving;
mod own_hints;
mod polling;
mod queueing;
mod releasing;
mod renewing;
mod scoped;
mod sharing;
mod tickets;
mod tries;
mod validity;

use std::{future::Future, pin::Pin};

use tokio::task::JoinHandle;

/// [`tokio::spawn`] without the future's type: the code that runs a task is compiled once for each kind of result, and
/// not for each of two hundred futures.
fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    let future: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(future);
    tokio::spawn(future)
}

/// For [`frontend!`].
#[doc(hidden)]
pub use dlock_testkit as __testkit;

/// Passes the list of all cases to a macro.
#[doc(hidden)]
#[macro_export]
macro_rules! __for_each_frontend_case {
    ($callback:path) => {
        $callback! {
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
            required validity loss_while_suspended_is_reported_within_a_second ["V2", "V5", "I8"];
            required validity loss_is_told_on_time_while_renewals_hang ["V5", "V6", "I8"];
            required validity holder_stops_before_another_starts ["V1", "I1", "I2", "I15"];

            required adopting adopted_lease_counts_from_its_request ["V1", "I6"];
            required adopting adopted_lease_is_renewed_and_given_back ["V6", "V7"];
            required adopting adopted_lease_that_is_dropped_is_given_back ["G3"];

            required renewing renewal_is_sent_when_it_is_due ["V6"];
            required renewing short_lease_beside_a_long_one_is_renewed_after_a_suspend ["V2", "V6"];
            required renewing kept_lease_outlives_its_duration ["V6"];
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
            required releasing stale_holder_releases_nothing_and_is_told ["L3", "I9"];
            required releasing repeated_release_that_finds_a_stranger_is_no_loss ["V7", "L3"];
            required releasing acquire_that_arrives_after_its_release_is_undone ["W5", "G2", "I14"];
            required releasing dropped_lease_is_given_back ["G3", "I14"];
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

            required scoped with_acquires_renews_and_releases ["V6"];
            required scoped lost_lease_ends_the_work ["V5", "V9"];
            required scoped work_is_gone_before_the_release_is_sent ["V7"];
            required scoped panic_of_the_work_goes_on_after_the_release ["V7"];
            required scoped work_that_ended_too_late_is_reported ["V9"];
            required scoped failing_release_does_not_hide_the_result ["V7"];
            required scoped hung_release_delays_the_result_to_the_end_of_the_lease_at_most ["V7"];
            required scoped error_of_the_work_comes_through_one_question_mark [];
            required scoped work_of_a_lease_is_kept_alive_or_not_begun [];
            required scoped dropped_with_gives_the_lock_back ["G1", "G3", "I14"];

            required cancelling acquire_dropped_anywhere_leaves_nothing ["G1", "C2", "I10", "I14"];
            required cancelling dropped_try_runs_to_its_answer ["G1", "I10", "I14"];
            required cancelling dropped_waiter_leaves_the_queue ["G1", "W1"];
            required cancelling grant_nobody_picks_up_is_given_back ["W6"];
            required cancelling grant_that_died_before_it_was_picked_up_is_not_handed_out ["V9", "W6"];
            required cancelling limit_that_passed_while_nobody_looked_sends_nothing_more ["W4", "C3"];

            required orphans late_copy_of_a_try_given_up_does_not_block_its_client ["G4", "W5"];
            required orphans late_copy_of_a_refused_try_does_not_block_its_client ["G4"];
            required orphans late_copy_of_a_spent_try_does_not_block_its_client ["G4", "A3"];
            required orphans late_copy_of_a_late_grants_try_does_not_block_its_client ["G4", "V9"];
            required orphans late_copy_of_a_grant_nobody_took_does_not_block_its_client ["G4", "G1"];
            required orphans late_copy_of_a_released_leases_try_does_not_block_its_client ["G4"];
            required orphans unreleased_lease_of_ours_does_not_block_its_client ["G4"];
            required orphans last_eight_are_remembered_for_two_leases ["G4"];
            required orphans live_lease_of_ours_is_never_claimed ["G4", "I12", "no re-entrancy"];
            required orphans try_whose_caller_has_gone_is_not_made_anew ["G1", "G4"];

            required tries each_try_of_a_waiter_has_its_own_identity ["W5"];
            required tries lost_reply_of_an_acquire_is_not_contention ["W5", "A2", "I11"];
            required tries try_without_an_answer_is_given_up ["W5"];
            required tries attempt_that_hung_for_its_whole_time_is_the_reason ["W5"];
            required tries fatal_answer_ends_an_acquire_at_once ["W5"];
            required tries silent_store_ends_an_acquire ["W5"];
            required tries waiter_outlasts_an_outage ["W5"];
            required outages silent_store_is_asked_at_one_pace ["V6", "V7", "W5"];
            required outages first_answer_ends_an_outage_for_everybody ["V6", "W5"];
            required outages try_of_a_silent_store_ends_with_half_of_the_lease ["W5"];
            required outages renewal_in_an_outage_keeps_its_last_chance ["V6"];
            required tries refusal_by_an_orphan_of_our_own_is_an_answer ["W5", "G4"];
            required tries spent_try_is_followed_by_a_fresh_one_at_once ["A3", "W5"];
            required tries late_grant_is_given_back_and_asked_for_again ["V9", "T6"];

            required queueing waiters_of_one_client_are_one_contender ["W1"];
            required queueing waiters_are_served_in_the_order_they_came ["W1", "I18"];
            required queueing try_stands_in_no_queue ["W1"];
            watch fairness waiter_is_served_before_the_releaser ["N7", "I18"];
            watch fairness equal_processes_get_equal_shares ["N6", "I18"];
            watch fairness waiters_ask_at_most_once_a_grant ["N6"];
            watch fairness process_that_was_never_refused_lets_others_in ["N3", "N7"];
            required fairness lone_process_makes_two_calls_and_waits_for_nothing ["N3", "N7"];
            watch fairness releaser_leaves_a_wanted_lock_to_others_for_four_slots ["N7", "W2"];
            watch own_hints hint_before_the_answer_to_its_release_ends_no_delay ["N7"];
            watch own_hints hint_after_the_answer_to_its_first_wanted_release_ends_no_delay ["N7"];
            required fairness claim_overtakes_no_release_of_a_wanted_term ["N7", "G4"];
            required fairness try_leaves_nothing_to_others ["N7", "W1"];
            watch fairness hint_during_a_delay_counts ["N6", "N7", "W3"];
            watch fairness hint_during_a_delay_does_not_start_it_anew ["N6", "W3"];
            watch crowds crowded_client_lets_others_in ["W8", "N7"];
            required crowds crowded_client_lets_others_in_without_hints ["W8", "N7", "N8"];
            watch crowds crowded_client_with_hints_lets_in_one_that_polls ["W8", "N7", "N8"];
            watch crowds crowded_clients_take_turns ["W8", "N6", "N7"];
            required crowds crowded_clients_take_turns_without_hints ["W8", "N7", "N8"];
            required queueing own_release_wakes_the_next_waiter ["W7", "I16"];
            required queueing release_of_an_orphan_wakes_the_next_waiter ["W7", "W5"];

            required following term_goes_on_with_the_next_waiter_without_a_call ["S1", "I3", "W1"];
            required growing terms_of_short_leases_grow ["S1"];
            required growing terms_of_longer_leases_have_sixteen ["S1", "B3"];
            required following term_that_has_had_its_time_goes_back_to_the_store ["S3"];
            required following waiter_that_leaves_takes_no_term_along ["S1", "G1"];
            required following lease_that_nobody_picks_up_goes_back_with_its_term ["S4", "W6"];
            required following next_lease_goes_on_where_its_term_is ["S2", "R1", "V7"];
            required following next_lease_hears_what_an_earlier_ones_renewal_is_told ["S2", "V5", "B3"];
            required following term_that_was_refused_while_on_offer_does_not_go_on ["S1"];
            required following term_goes_on_with_no_lease_that_does_not_fit ["S3", "T6"];
            required handing waiters_with_locks_of_their_own_are_served_in_order ["S3", "W1", "W7"];
            required handing giver_is_not_stale_when_its_own_client_was_faster ["H4", "L3"];

            required at_least early_release_closes_the_name_until_its_time ["B4", "V7", "G3"];
            required at_least closed_name_is_handed_to_no_waiter ["B4", "S3"];
            required at_least client_does_not_claim_what_it_is_about_to_close ["B4", "G4"];
            required at_least release_after_its_time_frees_the_name ["B4"];
            required at_least lost_lease_closes_nothing ["B4", "V5"];
            required at_least work_that_was_not_done_closes_nothing ["B4"];
            required at_least grant_that_nobody_took_closes_nothing ["B4", "G1"];
            required at_least repeated_release_closes_the_name_once ["B4", "V7", "I9"];
            required at_least closing_that_somebody_overtook_is_told ["B4", "V7"];
            required at_least client_opens_its_own_closing_when_it_is_over ["B4", "A6"];
            required at_least ticket_carries_what_is_left_to_be_closed ["B4", "H7"];

            required tickets ticket_gives_the_lock_to_its_redeemer ["H7", "H8", "A6", "V7"];
            required tickets ticket_is_good_whatever_its_number ["H2", "H8"];
            required tickets giver_does_not_claim_what_it_handed_over ["H10", "G4"];
            required tickets ticket_waits_behind_nobody ["H9", "W1"];
            required tickets ticket_opens_no_other_lock ["H11"];
            required tickets lost_lease_is_not_handed_over ["H7", "V5"];

            required polling waiter_asks_at_its_interval ["W2"];
            required polling waiter_enters_when_the_lease_ends ["W2", "I15"];
            required polling waiter_of_another_duration_waits_for_the_records ["W2", "O1"];
            required polling waiter_does_not_spin_while_nothing_remains ["W2"];
            watch polling hint_wakes_a_waiter_at_once ["W3", "I16"];
            watch polling lost_hint_costs_one_interval ["W3", "I16"];
            watch polling broken_channel_wakes_everyone ["W3"];
            watch polling opened_channel_wakes_everyone ["W3"];

            required limits limit_is_a_total_while_the_lock_is_held ["W4"];
            required limits waiter_that_slept_past_its_limit_asks_no_more ["W4"];
            required limits limit_is_a_total_over_a_store_that_hangs ["W4"];
            required limits silent_store_is_told_apart_from_a_lock_that_is_held ["W4"];
            required limits limit_counts_the_time_in_the_queue ["W4", "W1"];
            required limits no_call_waits_longer_than_a_sixth_of_the_lease ["W4", "V7"];
            required limits failing_calls_are_repeated_only_after_a_pause ["V6", "V7", "W5"];
            required limits wake_up_ends_no_pause_after_a_failure ["W5", "W7"];

            required looking waiter_looks_where_that_costs_less ["O3"];
            required looking look_observes_as_a_refusal_does ["O3", "A6"];
            required looking look_without_an_answer_is_repeated ["W4"];
            required looking look_is_an_answer_of_its_store ["W5"];
            required looking look_at_a_store_beyond_help_ends_the_wait ["W5"];

            required observing repeated_tries_take_over_from_a_dead_holder ["O2", "A6"];
            required observing renewal_restarts_the_observation ["O1", "A6"];
            required observing observation_lasts_for_the_records_duration ["O1", "A6"];
            required observing read_observes_too ["O3"];
            required observing observation_is_forgotten_after_ten_leases ["O2"];
            required observing grant_of_our_own_replaces_the_observation ["O2"];
            required observing grant_that_came_too_late_replaces_the_observation ["O2", "V9"];
            required observing acquire_asks_for_more_than_the_highest_token_seen ["T6"];
            required observing floor_that_a_resource_reported_is_kept ["T6"];

            required outliving observation_outlives_its_process ["O4", "A6"];
            required outliving observation_of_another_boot_counts_for_nothing ["O4"];
            required outliving kept_observation_is_of_one_version ["O4", "A6"];
            required outliving observation_is_kept_only_where_it_decides ["O4"];

            required closing close_ends_waiters_and_later_acquires ["G3"];
            required closing close_waits_until_everything_is_given_back ["G3"];
            required closing close_leaves_leases_to_their_holders ["G3"];

            sharing sharing clones_of_a_provider_share_a_client ["W1"];
            required sharing lock_keeps_what_it_was_built_with ["data"];
        }
    };
}

__for_each_frontend_case!(dlock_testkit::__case_table);

/// Makes one `#[test]` for each case of the frontend over a [`Fixture`](dlock_testkit::Fixture)'s provider, as
/// [`conformance!`](dlock_testkit::conformance) does for the cases of a provider. Only for paused time: the bounds of
/// time are ordinary assertions, which a busy machine would fail.
#[macro_export]
macro_rules! frontend {
    ($fixture:ty, without [$($group:ident),* $(,)?]) => {
        $crate::__testkit::__conformance! {
            ($) $fixture, [$($group)*], $crate::__for_each_frontend_case, $crate::CASES
        }
    };
}
