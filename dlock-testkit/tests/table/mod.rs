//! Which cases catch which planted bug of the frontend.

use dlock_core::Bug;

/// Each bug, and the cases that fail because of it in one discipline at least, in the order of the
/// list of cases.
pub(crate) const CAUGHT: &[(Bug, &str)] = &[
    (
        Bug::ReplyTimeBase,
        "deadline_counts_from_the_request repeated_try_keeps_its_first_deadline grant_that_died_before_it_was_picked_up_is_not_handed_out late_copy_of_a_late_grants_try_does_not_block_its_client late_grant_is_given_back_and_asked_for_again",
    ),
    (
        Bug::RetryRestartsClock,
        "repeated_try_keeps_its_first_deadline grant_that_died_before_it_was_picked_up_is_not_handed_out",
    ),
    (
        Bug::NoMargin,
        "deadline_counts_from_the_request repeated_try_keeps_its_first_deadline margin_is_kept validity_is_computed_at_every_question renewal_counts_from_its_own_request late_renewal_revives_nothing success_counts_for_the_attempt_it_answers deadline_never_moves_back failed_renewal_is_no_loss expired_lease_tells_its_holder loss_is_told_on_time_while_renewals_hang holder_stops_before_another_starts late_renewal_is_shown_before_the_loss renewals_stop_at_the_longest_hold failing_renewals_stop_at_the_longest_hold_too repeated_release_that_finds_a_stranger_is_no_loss leases_due_together_travel_together refused_renewal_of_a_batch_ends_one_lease failed_renewal_of_a_batch_leaves_the_others unanswered_batch_is_retried_one_by_one hung_batch_delays_no_other dead_shard_delays_only_its_own batch_gets_as_long_as_its_shortest_lease_allows answers_of_another_number_are_none late_answer_of_a_batch_counts_for_leases_still_valid lease_released_during_a_batch_is_renewed_no_more lost_lease_ends_the_work work_is_gone_before_the_release_is_sent work_that_ended_too_late_is_reported hung_release_delays_the_result_to_the_end_of_the_lease_at_most work_of_a_lease_is_kept_alive_or_not_begun grant_that_died_before_it_was_picked_up_is_not_handed_out late_copy_of_a_late_grants_try_does_not_block_its_client renewal_in_an_outage_keeps_its_last_chance late_grant_is_given_back_and_asked_for_again lost_lease_is_not_handed_over holder_cut_off_from_its_store_stops_in_time",
    ),
    (
        Bug::FlagInsteadOfClock,
        "margin_is_kept validity_is_computed_at_every_question loss_is_told_on_time_while_renewals_hang late_renewal_is_shown_before_the_loss renewals_stop_at_the_longest_hold failing_renewals_stop_at_the_longest_hold_too repeated_release_that_finds_a_stranger_is_no_loss work_that_ended_too_late_is_reported grant_that_died_before_it_was_picked_up_is_not_handed_out lost_lease_closes_nothing lost_lease_is_not_handed_over paused_holder_is_fenced_and_told holder_cut_off_from_its_store_stops_in_time",
    ),
    (
        Bug::CreditNewest,
        "success_counts_for_the_attempt_it_answers",
    ),
    (
        Bug::CreditReply,
        "renewal_counts_from_its_own_request success_counts_for_the_attempt_it_answers",
    ),
    (
        Bug::EarlierSent,
        "renewal_counts_from_its_own_request success_counts_for_the_attempt_it_answers deadline_never_moves_back failed_renewal_is_no_loss renewal_is_sent_when_it_is_due hung_renewal_is_followed_by_the_next lost_reply_of_a_renewal_is_no_loss renewals_stop_at_the_longest_hold leases_due_together_travel_together refused_renewal_of_a_batch_ends_one_lease failed_renewal_of_a_batch_leaves_the_others unanswered_batch_is_retried_one_by_one hung_batch_delays_no_other dead_shard_delays_only_its_own batch_gets_as_long_as_its_shortest_lease_allows answers_of_another_number_are_none lease_released_during_a_batch_is_renewed_no_more",
    ),
    (
        Bug::ReviveAfterDeadline,
        "late_renewal_revives_nothing late_answer_of_a_batch_counts_for_leases_still_valid",
    ),
    (Bug::DeadlineMovesBack, "deadline_never_moves_back"),
    (
        Bug::SameNumber,
        "every_renewal_attempt_has_a_larger_number kept_lease_outlives_its_duration lost_reply_of_a_renewal_is_no_loss leases_due_together_travel_together holder_cut_off_from_its_store_stops_in_time",
    ),
    (
        Bug::ErrorIsLoss,
        "silent_store_is_asked_at_one_pace first_answer_ends_an_outage_for_everybody renewal_in_an_outage_keeps_its_last_chance every_renewal_attempt_has_a_larger_number failed_renewal_is_no_loss loss_is_told_on_time_while_renewals_hang hung_renewal_is_followed_by_the_next lost_reply_of_a_renewal_is_no_loss outage_within_the_bound_loses_no_lease late_renewal_is_shown_before_the_loss fatal_renewal_is_shown_at_once failing_renewals_stop_at_the_longest_hold_too failed_renewal_of_a_batch_leaves_the_others unanswered_batch_is_retried_one_by_one short_lease_cuts_no_long_ones_attempt batch_gets_as_long_as_its_shortest_lease_allows answers_of_another_number_are_none lease_released_during_a_batch_is_renewed_no_more ticket_is_good_whatever_its_number failing_calls_are_repeated_only_after_a_pause hung_release_delays_the_result_to_the_end_of_the_lease_at_most",
    ),
    (
        Bug::FatalIsLoss,
        "failed_renewal_is_no_loss fatal_renewal_is_shown_at_once",
    ),
    (
        Bug::RefusalIgnored,
        "refused_renewal_is_a_loss_at_once refused_renewal_of_a_batch_ends_one_lease lost_lease_ends_the_work",
    ),
    (
        Bug::LossWaitsForRenewal,
        "expired_lease_tells_its_holder holder_stops_before_another_starts",
    ),
    (
        Bug::RenewalUnbounded,
        "loss_is_told_on_time_while_renewals_hang hung_renewal_is_followed_by_the_next lost_reply_of_a_renewal_is_no_loss outage_within_the_bound_loses_no_lease late_renewal_is_shown_before_the_loss unanswered_batch_is_retried_one_by_one short_lease_cuts_no_long_ones_attempt batch_gets_as_long_as_its_shortest_lease_allows lease_released_during_a_batch_is_renewed_no_more holder_cut_off_from_its_store_stops_in_time",
    ),
    (Bug::OutageUnpaced, "silent_store_is_asked_at_one_pace"),
    (
        Bug::OutageEndUnheard,
        "first_answer_ends_an_outage_for_everybody",
    ),
    (
        Bug::OutageHoldsRenewals,
        "renewal_in_an_outage_keeps_its_last_chance",
    ),
    (
        Bug::NoPauseAfterFailure,
        "failing_calls_are_repeated_only_after_a_pause",
    ),
    (
        Bug::RenewalGivesUp,
        "first_answer_ends_an_outage_for_everybody renewal_in_an_outage_keeps_its_last_chance failed_renewal_is_no_loss loss_is_told_on_time_while_renewals_hang \
         hung_renewal_is_followed_by_the_next lost_reply_of_a_renewal_is_no_loss \
         outage_within_the_bound_loses_no_lease late_renewal_is_shown_before_the_loss \
         fatal_renewal_is_shown_at_once failing_renewals_stop_at_the_longest_hold_too \
         failed_renewal_of_a_batch_leaves_the_others unanswered_batch_is_retried_one_by_one \
         short_lease_cuts_no_long_ones_attempt batch_gets_as_long_as_its_shortest_lease_allows \
         answers_of_another_number_are_none lease_released_during_a_batch_is_renewed_no_more \
         failing_calls_are_repeated_only_after_a_pause",
    ),
    (
        Bug::NobodyRenews,
        "refused_renewal_is_a_loss_at_once failed_renewal_is_no_loss loss_is_told_on_time_while_renewals_hang renewal_is_sent_when_it_is_due kept_lease_outlives_its_duration hung_renewal_is_followed_by_the_next lost_reply_of_a_renewal_is_no_loss outage_within_the_bound_loses_no_lease late_renewal_is_shown_before_the_loss fatal_renewal_is_shown_at_once polite_request_is_seen_by_the_holder renewals_stop_at_the_longest_hold failing_renewals_stop_at_the_longest_hold_too renewal_under_way_does_not_outlive_the_release leases_due_together_travel_together refused_renewal_of_a_batch_ends_one_lease failed_renewal_of_a_batch_leaves_the_others unanswered_batch_is_retried_one_by_one hung_batch_delays_no_other dead_shard_delays_only_its_own short_lease_cuts_no_long_ones_attempt batch_gets_as_long_as_its_shortest_lease_allows answers_of_another_number_are_none late_answer_of_a_batch_counts_for_leases_still_valid lease_released_during_a_batch_is_renewed_no_more with_acquires_renews_and_releases lost_lease_ends_the_work work_of_a_lease_is_kept_alive_or_not_begun first_answer_ends_an_outage_for_everybody renewal_in_an_outage_keeps_its_last_chance limit_is_a_total_while_the_lock_is_held failing_calls_are_repeated_only_after_a_pause close_leaves_leases_to_their_holders holder_cut_off_from_its_store_stops_in_time",
    ),
    (
        Bug::RenewEarly,
        "renewal_is_sent_when_it_is_due hung_batch_delays_no_other failing_calls_are_repeated_only_after_a_pause",
    ),
    (
        Bug::ReleaseBelieves,
        "validity_ends_where_the_release_begins no_renewal_is_sent_after_the_release_began repeated_release_that_finds_a_stranger_is_no_loss lease_released_during_a_batch_is_renewed_no_more released_leases_leave_nothing_behind giver_has_stopped_before_the_next_is_asked_for giver_is_not_stale_when_its_own_client_was_faster early_release_closes_the_name_until_its_time closed_name_is_handed_to_no_waiter client_does_not_claim_what_it_is_about_to_close release_after_its_time_frees_the_name repeated_release_closes_the_name_once ticket_carries_what_is_left_to_be_closed",
    ),
    (
        Bug::ReleaseFirst,
        "with_acquires_renews_and_releases lost_lease_ends_the_work work_is_gone_before_the_release_is_sent panic_of_the_work_goes_on_after_the_release failing_release_does_not_hide_the_result hung_release_delays_the_result_to_the_end_of_the_lease_at_most error_of_the_work_comes_through_one_question_mark work_of_a_lease_is_kept_alive_or_not_begun early_release_closes_the_name_until_its_time",
    ),
    (
        Bug::PanicFirst,
        "panic_of_the_work_goes_on_after_the_release",
    ),
    (
        Bug::WithWaitsForRelease,
        "panic_of_the_work_goes_on_after_the_release failing_release_does_not_hide_the_result hung_release_delays_the_result_to_the_end_of_the_lease_at_most",
    ),
    (
        Bug::CutCallIsSilence,
        "silent_store_is_told_apart_from_a_lock_that_is_held",
    ),
    (
        Bug::WithOutlivesLease,
        "hung_release_delays_the_result_to_the_end_of_the_lease_at_most",
    ),
    (
        Bug::FatalReleaseRepeated,
        "fatal_answer_to_a_release_is_an_error_at_once failing_release_does_not_hide_the_result",
    ),
    (
        Bug::StaleReleaseHidden,
        "stale_holder_releases_nothing_and_is_told repeated_release_that_finds_a_stranger_is_no_loss acquire_that_arrives_after_its_release_is_undone hand_over_that_is_refused_is_followed_by_the_release closing_that_somebody_overtook_is_told paused_holder_is_fenced_and_told",
    ),
    (
        Bug::RepeatIsStale,
        "repeated_release_that_finds_a_stranger_is_no_loss closing_that_somebody_overtook_is_told",
    ),
    (
        Bug::TryReleasedOnce,
        "acquire_that_arrives_after_its_release_is_undone",
    ),
    (
        Bug::ReleaseOnce,
        "unanswered_release_is_repeated release_without_an_answer_ends_unconfirmed repeated_release_that_finds_a_stranger_is_no_loss repeated_release_closes_the_name_once no_call_waits_longer_than_a_sixth_of_the_lease failing_calls_are_repeated_only_after_a_pause",
    ),
    (
        Bug::UnconfirmedIsError,
        "release_without_an_answer_ends_unconfirmed client_does_not_claim_what_it_is_about_to_close",
    ),
    (
        Bug::AtLeastIgnored,
        "early_release_closes_the_name_until_its_time closed_name_is_handed_to_no_waiter client_does_not_claim_what_it_is_about_to_close release_after_its_time_frees_the_name repeated_release_closes_the_name_once closing_that_somebody_overtook_is_told ticket_carries_what_is_left_to_be_closed",
    ),
    (
        Bug::ClosedFromTheRelease,
        "early_release_closes_the_name_until_its_time release_after_its_time_frees_the_name work_that_was_not_done_closes_nothing",
    ),
    (
        Bug::ClosedToOthersOnly,
        "client_does_not_claim_what_it_is_about_to_close",
    ),
    (
        Bug::ClosedHandedOver,
        "closed_name_is_handed_to_no_waiter client_does_not_claim_what_it_is_about_to_close",
    ),
    (Bug::LostLeaseCloses, "lost_lease_closes_nothing"),
    (
        Bug::UnclaimedGrantCloses,
        "grant_that_nobody_took_closes_nothing",
    ),
    (
        Bug::ClosingDrawnAnew,
        "repeated_release_closes_the_name_once",
    ),
    (
        Bug::UnclosedIsReleased,
        "closing_that_somebody_overtook_is_told",
    ),
    (
        Bug::ClosingUnobserved,
        "client_opens_its_own_closing_when_it_is_over",
    ),
    (Bug::ClosedUndone, "work_that_was_not_done_closes_nothing"),
    (
        Bug::TicketForgetsAtLeast,
        "ticket_carries_what_is_left_to_be_closed",
    ),
    (
        Bug::NeverUnsure,
        "late_renewal_is_shown_before_the_loss fatal_renewal_is_shown_at_once",
    ),
    (Bug::AskedHidden, "polite_request_is_seen_by_the_holder"),
    (
        Bug::DeadGrantHandedOut,
        "grant_that_died_before_it_was_picked_up_is_not_handed_out",
    ),
    (
        Bug::LateGrantHandedOut,
        "grant_that_died_before_it_was_picked_up_is_not_handed_out late_copy_of_a_late_grants_try_does_not_block_its_client late_grant_is_given_back_and_asked_for_again",
    ),
    (Bug::LateWorkIsFine, "work_that_ended_too_late_is_reported"),
    (
        Bug::FloorForgotten,
        "late_grant_is_given_back_and_asked_for_again acquire_asks_for_more_than_the_highest_token_seen floor_that_a_resource_reported_is_kept",
    ),
    (
        Bug::DropForgets,
        "dropped_lease_is_given_back lease_dropped_without_a_runtime_is_given_back lease_dropped_while_unwinding_is_given_back lease_released_during_a_batch_is_renewed_no_more released_leases_leave_nothing_behind work_is_gone_before_the_release_is_sent dropped_with_gives_the_lock_back acquire_dropped_anywhere_leaves_nothing dropped_try_runs_to_its_answer grant_nobody_picks_up_is_given_back grant_that_died_before_it_was_picked_up_is_not_handed_out limit_that_passed_while_nobody_looked_sends_nothing_more late_copy_of_a_grant_nobody_took_does_not_block_its_client unreleased_lease_of_ours_does_not_block_its_client crowded_client_lets_others_in crowded_client_lets_others_in_without_hints own_release_wakes_the_next_waiter released_lock_goes_to_the_next_waiter_in_one_write early_release_closes_the_name_until_its_time lost_lease_closes_nothing grant_that_nobody_took_closes_nothing lost_lease_is_not_handed_over floor_that_a_resource_reported_is_kept close_waits_until_everything_is_given_back crowded_clients_take_turns",
    ),
    (
        Bug::CancelForgets,
        "acquire_dropped_anywhere_leaves_nothing dropped_try_runs_to_its_answer grant_nobody_picks_up_is_given_back limit_that_passed_while_nobody_looked_sends_nothing_more grant_that_nobody_took_closes_nothing",
    ),
    (Bug::AbandonedWaits, "dropped_waiter_leaves_the_queue"),
    (Bug::CloseUnheard, "close_ends_waiters_and_later_acquires"),
    (
        Bug::CloseCountsNothing,
        "close_leaves_leases_to_their_holders",
    ),
    (
        Bug::CloseDoesNotWait,
        "acquire_dropped_anywhere_leaves_nothing dropped_try_runs_to_its_answer close_waits_until_everything_is_given_back",
    ),
    (
        Bug::OwnGhostBlocks,
        "late_copy_of_a_try_given_up_does_not_block_its_client late_copy_of_a_refused_try_does_not_block_its_client late_copy_of_a_spent_try_does_not_block_its_client late_copy_of_a_late_grants_try_does_not_block_its_client late_copy_of_a_grant_nobody_took_does_not_block_its_client late_copy_of_a_released_leases_try_does_not_block_its_client unreleased_lease_of_ours_does_not_block_its_client last_eight_are_remembered_for_two_leases lock_is_handed_on_past_a_renewal_under_way giver_is_not_stale_when_its_own_client_was_faster client_does_not_claim_what_it_is_about_to_close",
    ),
    (
        Bug::HeldTriesForgotten,
        "late_copy_of_a_refused_try_does_not_block_its_client late_copy_of_a_spent_try_does_not_block_its_client last_eight_are_remembered_for_two_leases",
    ),
    (
        Bug::OwnLeaseClaimed,
        "dropped_waiter_leaves_the_queue grant_nobody_picks_up_is_given_back live_lease_of_ours_is_never_claimed released_lock_goes_to_the_next_waiter_in_one_write lock_is_handed_on_past_a_renewal_under_way giver_has_stopped_before_the_next_is_asked_for hand_over_that_is_refused_is_followed_by_the_release hand_over_without_an_answer_is_followed_by_the_release waiter_that_leaves_takes_no_hand_over_along giver_is_not_stale_when_its_own_client_was_faster lock_goes_back_to_the_store_after_a_row_of_hand_overs lock_goes_back_to_the_store_after_a_while_of_hand_overs closed_name_is_handed_to_no_waiter ticket_gives_the_lock_to_whoever_redeems_it ticket_waits_behind_nobody clones_of_a_provider_share_a_client",
    ),
    (
        Bug::NoTurns,
        "waiters_of_one_client_are_one_contender waiters_are_served_in_the_order_they_came lock_goes_back_to_the_store_after_a_row_of_hand_overs",
    ),
    (Bug::ClientPerLock, "clones_of_a_provider_share_a_client"),
    (Bug::TryQueues, "try_stands_in_no_queue"),
    (Bug::PollTwiceAsOften, "waiter_asks_at_its_interval"),
    (
        Bug::NoPoll,
        "lost_hint_costs_one_interval silent_store_is_told_apart_from_a_lock_that_is_held holder_cut_off_from_its_store_stops_in_time",
    ),
    (Bug::RemainingIgnored, "waiter_enters_when_the_lease_ends"),
    (
        Bug::ObservationSleptThrough,
        "waiter_enters_when_the_lease_ends waiter_of_another_duration_waits_for_the_records",
    ),
    (Bug::NoSpacing, "waiter_does_not_spin_while_nothing_remains"),
    (
        Bug::WakeupIgnored,
        "dropped_waiter_leaves_the_queue grant_nobody_picks_up_is_given_back \
         waiter_is_served_before_the_releaser equal_processes_get_equal_shares \
         waiters_ask_at_most_once_a_grant process_that_was_never_refused_lets_others_in \
         releaser_leaves_the_lock_to_others_for_an_instant try_leaves_nothing_to_others \
         limit_holds_while_others_go_first hint_during_a_delay_counts \
         hint_during_a_delay_does_not_start_it_anew own_release_wakes_the_next_waiter \
         release_of_an_orphan_wakes_the_next_waiter \
         released_lock_goes_to_the_next_waiter_in_one_write \
         lock_is_handed_on_past_a_renewal_under_way \
         giver_has_stopped_before_the_next_is_asked_for \
         hand_over_that_is_refused_is_followed_by_the_release \
         hand_over_without_an_answer_is_followed_by_the_release \
         giver_is_not_stale_when_its_own_client_was_faster \
         lock_goes_back_to_the_store_after_a_row_of_hand_overs \
         lock_goes_back_to_the_store_after_a_while_of_hand_overs ticket_waits_behind_nobody \
         hint_wakes_a_waiter_at_once broken_channel_wakes_everyone \
         opened_channel_wakes_everyone",
    ),
    (Bug::OpeningWakesNobody, "opened_channel_wakes_everyone"),
    (Bug::BreakWakesNobody, "broken_channel_wakes_everyone"),
    (
        Bug::QueueUncounted,
        "limit_that_passed_while_nobody_looked_sends_nothing_more limit_counts_the_time_in_the_queue",
    ),
    (
        Bug::LimitPerTry,
        "limit_that_passed_while_nobody_looked_sends_nothing_more limit_holds_while_others_go_first limit_is_a_total_while_the_lock_is_held limit_is_a_total_over_a_store_that_hangs silent_store_is_told_apart_from_a_lock_that_is_held limit_counts_the_time_in_the_queue",
    ),
    (
        Bug::AcquireUnbounded,
        "acquire_that_arrives_after_its_release_is_undone dropped_try_runs_to_its_answer grant_that_died_before_it_was_picked_up_is_not_handed_out late_copy_of_a_try_given_up_does_not_block_its_client late_copy_of_a_spent_try_does_not_block_its_client lost_reply_of_an_acquire_is_not_contention silent_store_ends_an_acquire refusal_by_a_ghost_of_our_own_is_an_answer spent_try_is_followed_by_a_fresh_one_at_once release_of_an_orphan_wakes_the_next_waiter hand_over_without_an_answer_is_followed_by_the_release limit_is_a_total_over_a_store_that_hangs silent_store_is_told_apart_from_a_lock_that_is_held no_call_waits_longer_than_a_sixth_of_the_lease",
    ),
    (
        Bug::UuidReused,
        "holder_stops_before_another_starts kept_lease_outlives_its_duration leases_due_together_travel_together refused_renewal_of_a_batch_ends_one_lease failed_renewal_of_a_batch_leaves_the_others unanswered_batch_is_retried_one_by_one hung_batch_delays_no_other dead_shard_delays_only_its_own answers_of_another_number_are_none late_answer_of_a_batch_counts_for_leases_still_valid lease_released_during_a_batch_is_renewed_no_more error_of_the_work_comes_through_one_question_mark grant_nobody_picks_up_is_given_back grant_that_died_before_it_was_picked_up_is_not_handed_out late_copy_of_a_try_given_up_does_not_block_its_client late_copy_of_a_refused_try_does_not_block_its_client late_copy_of_a_spent_try_does_not_block_its_client late_copy_of_a_late_grants_try_does_not_block_its_client late_copy_of_a_grant_nobody_took_does_not_block_its_client late_copy_of_a_released_leases_try_does_not_block_its_client unreleased_lease_of_ours_does_not_block_its_client last_eight_are_remembered_for_two_leases live_lease_of_ours_is_never_claimed each_try_of_a_waiter_has_its_own_identity try_without_an_answer_is_given_up refusal_by_a_ghost_of_our_own_is_an_answer spent_try_is_followed_by_a_fresh_one_at_once late_grant_is_given_back_and_asked_for_again waiters_are_served_in_the_order_they_came waiter_is_served_before_the_releaser equal_processes_get_equal_shares waiters_ask_at_most_once_a_grant process_that_was_never_refused_lets_others_in lone_process_is_hardly_slowed releaser_leaves_the_lock_to_others_for_an_instant try_leaves_nothing_to_others crowded_client_lets_others_in crowded_client_lets_others_in_without_hints release_of_an_orphan_wakes_the_next_waiter released_lock_goes_to_the_next_waiter_in_one_write lock_is_handed_on_past_a_renewal_under_way giver_has_stopped_before_the_next_is_asked_for hand_over_that_is_refused_is_followed_by_the_release hand_over_without_an_answer_is_followed_by_the_release giver_is_not_stale_when_its_own_client_was_faster lock_goes_back_to_the_store_after_a_row_of_hand_overs lock_goes_back_to_the_store_after_a_while_of_hand_overs closed_name_is_handed_to_no_waiter client_does_not_claim_what_it_is_about_to_close release_after_its_time_frees_the_name work_that_was_not_done_closes_nothing ticket_gives_the_lock_to_whoever_redeems_it ticket_is_good_whatever_its_number giver_does_not_claim_what_it_handed_over ticket_waits_behind_nobody limit_is_a_total_while_the_lock_is_held acquire_asks_for_more_than_the_highest_token_seen floor_that_a_resource_reported_is_kept clones_of_a_provider_share_a_client lock_keeps_what_it_was_built_with contender_is_refused_until_the_holder_releases paused_holder_is_fenced_and_told holder_cut_off_from_its_store_stops_in_time crowded_clients_take_turns crowded_clients_take_turns_without_hints",
    ),
    (
        Bug::FreshUuidPerRepeat,
        "acquire_that_arrives_after_its_release_is_undone dropped_try_runs_to_its_answer late_copy_of_a_try_given_up_does_not_block_its_client late_copy_of_a_refused_try_does_not_block_its_client late_copy_of_a_spent_try_does_not_block_its_client late_copy_of_a_late_grants_try_does_not_block_its_client last_eight_are_remembered_for_two_leases lost_reply_of_an_acquire_is_not_contention try_without_an_answer_is_given_up fatal_answer_ends_an_acquire_at_once spent_try_is_followed_by_a_fresh_one_at_once late_grant_is_given_back_and_asked_for_again release_of_an_orphan_wakes_the_next_waiter",
    ),
    (
        Bug::TryNeverGivenUp,
        "waiter_outlasts_an_outage acquire_that_arrives_after_its_release_is_undone late_copy_of_a_try_given_up_does_not_block_its_client try_without_an_answer_is_given_up silent_store_ends_an_acquire refusal_by_a_ghost_of_our_own_is_an_answer release_of_an_orphan_wakes_the_next_waiter",
    ),
    (
        Bug::FatalRetried,
        "fatal_answer_ends_an_acquire_at_once look_at_a_store_beyond_help_ends_the_wait",
    ),
    (Bug::SilentStoreForEver, "silent_store_ends_an_acquire"),
    (
        Bug::GivesUpAtOnce,
        "try_without_an_answer_is_given_up silent_store_ends_an_acquire waiter_outlasts_an_outage refusal_by_a_ghost_of_our_own_is_an_answer limit_is_a_total_over_a_store_that_hangs silent_store_is_told_apart_from_a_lock_that_is_held look_without_an_answer_is_repeated look_is_an_answer_of_its_store",
    ),
    (
        Bug::SpentIsContention,
        "late_copy_of_a_spent_try_does_not_block_its_client spent_try_is_followed_by_a_fresh_one_at_once",
    ),
    (
        Bug::GrantWaitsForEver,
        "grant_nobody_picks_up_is_given_back limit_that_passed_while_nobody_looked_sends_nothing_more",
    ),
    (
        Bug::ReleaseWakesNobody,
        "release_of_an_orphan_wakes_the_next_waiter \
         lock_goes_back_to_the_store_after_a_row_of_hand_overs",
    ),
    (
        Bug::ObservationNotShared,
        "holder_stops_before_another_starts client_opens_its_own_closing_when_it_is_over waiter_enters_when_the_lease_ends waiter_of_another_duration_waits_for_the_records look_observes_as_a_refusal_does repeated_tries_take_over_from_a_dead_holder renewal_restarts_the_observation observation_lasts_for_the_records_duration read_observes_too observation_is_forgotten_after_ten_leases waiter_takes_over_from_a_dead_holder holder_cut_off_from_its_store_stops_in_time",
    ),
    (
        Bug::ObservationForEver,
        "observation_is_forgotten_after_ten_leases",
    ),
    (
        Bug::ReadUnobserved,
        "read_observes_too observation_is_kept_only_where_it_decides",
    ),
    (
        Bug::SightUnread,
        "observation_outlives_its_process observation_of_another_boot_counts_for_nothing kept_observation_is_of_one_version observation_is_kept_only_where_it_decides",
    ),
    (
        Bug::FirstSightReplaced,
        "observation_outlives_its_process kept_observation_is_of_one_version",
    ),
    (
        Bug::AnyVersionRecalled,
        "kept_observation_is_of_one_version",
    ),
    (
        Bug::AnyBootCounts,
        "observation_of_another_boot_counts_for_nothing",
    ),
    (
        Bug::KeptOnAnyStore,
        "observation_outlives_its_process observation_of_another_boot_counts_for_nothing kept_observation_is_of_one_version observation_is_kept_only_where_it_decides",
    ),
    (
        Bug::GrantKeepsObservation,
        "grant_of_our_own_replaces_the_observation",
    ),
    (
        Bug::ObservationKept,
        "kept_lease_outlives_its_duration limit_is_a_total_while_the_lock_is_held look_observes_as_a_refusal_does renewal_restarts_the_observation holder_cut_off_from_its_store_stops_in_time",
    ),
    (
        Bug::ObservationByOwnDuration,
        "look_is_an_answer_of_its_store observation_lasts_for_the_records_duration contender_is_refused_until_the_holder_releases",
    ),
    (
        Bug::ClaimWithoutLook,
        "holder_stops_before_another_starts kept_lease_outlives_its_duration dropped_waiter_leaves_the_queue grant_nobody_picks_up_is_given_back last_eight_are_remembered_for_two_leases each_try_of_a_waiter_has_its_own_identity refusal_by_a_ghost_of_our_own_is_an_answer waiters_of_one_client_are_one_contender waiters_are_served_in_the_order_they_came try_stands_in_no_queue waiter_is_served_before_the_releaser equal_processes_get_equal_shares waiters_ask_at_most_once_a_grant process_that_was_never_refused_lets_others_in releaser_leaves_the_lock_to_others_for_an_instant try_leaves_nothing_to_others limit_holds_while_others_go_first hint_during_a_delay_counts hint_during_a_delay_does_not_start_it_anew early_release_closes_the_name_until_its_time closed_name_is_handed_to_no_waiter client_does_not_claim_what_it_is_about_to_close waiter_asks_at_its_interval waiter_does_not_spin_while_nothing_remains hint_wakes_a_waiter_at_once lost_hint_costs_one_interval broken_channel_wakes_everyone limit_is_a_total_while_the_lock_is_held silent_store_is_told_apart_from_a_lock_that_is_held waiter_looks_where_that_costs_less look_observes_as_a_refusal_does look_without_an_answer_is_repeated look_is_an_answer_of_its_store look_at_a_store_beyond_help_ends_the_wait repeated_tries_take_over_from_a_dead_holder renewal_restarts_the_observation observation_lasts_for_the_records_duration close_ends_waiters_and_later_acquires clones_of_a_provider_share_a_client contender_is_refused_until_the_holder_releases waiter_takes_over_from_a_dead_holder holder_cut_off_from_its_store_stops_in_time crowded_clients_take_turns crowded_clients_take_turns_without_hints",
    ),
    (
        Bug::HeldForever,
        "renewals_stop_at_the_longest_hold failing_renewals_stop_at_the_longest_hold_too",
    ),
    (
        Bug::RetriedTooLong,
        "failing_renewals_stop_at_the_longest_hold_too",
    ),
    (
        Bug::AlwaysTooLong,
        "loss_is_told_on_time_while_renewals_hang lease_that_was_not_renewed_was_not_held_too_long late_answer_of_a_batch_counts_for_leases_still_valid lost_lease_ends_the_work work_that_ended_too_late_is_reported lost_lease_is_not_handed_over holder_cut_off_from_its_store_stops_in_time",
    ),
    (Bug::DataLost, "lock_keeps_what_it_was_built_with"),
    (Bug::LooksAtAnyCost, "waiter_looks_where_that_costs_less"),
    (
        Bug::LooksForEver,
        "holder_stops_before_another_starts waiter_enters_when_the_lease_ends waiter_of_another_duration_waits_for_the_records look_observes_as_a_refusal_does waiter_takes_over_from_a_dead_holder holder_cut_off_from_its_store_stops_in_time",
    ),
    (
        Bug::LookUnobserved,
        "look_observes_as_a_refusal_does holder_cut_off_from_its_store_stops_in_time",
    ),
    (
        Bug::FreeLookIgnored,
        "waiters_are_served_in_the_order_they_came lost_hint_costs_one_interval waiter_looks_where_that_costs_less look_without_an_answer_is_repeated look_is_an_answer_of_its_store crowded_client_lets_others_in_without_hints crowded_clients_take_turns_without_hints",
    ),
    (
        Bug::LookUnbounded,
        "silent_store_is_told_apart_from_a_lock_that_is_held look_without_an_answer_is_repeated",
    ),
    (
        Bug::FatalLookRetried,
        "look_at_a_store_beyond_help_ends_the_wait",
    ),
    (Bug::LookNoAnswer, "look_is_an_answer_of_its_store"),
    (
        Bug::OnlyRefusalsAnswer,
        "refusal_by_a_ghost_of_our_own_is_an_answer",
    ),
    (
        Bug::AnswersReversed,
        "refused_renewal_of_a_batch_ends_one_lease",
    ),
    (
        Bug::OneErrorForAll,
        "failed_renewal_of_a_batch_leaves_the_others",
    ),
    (Bug::LengthUnchecked, "answers_of_another_number_are_none"),
    (
        Bug::LongestLimit,
        "batch_gets_as_long_as_its_shortest_lease_allows",
    ),
    (
        Bug::SentWhenDue,
        "hung_renewal_is_followed_by_the_next lost_reply_of_a_renewal_is_no_loss leases_due_together_travel_together failed_renewal_of_a_batch_leaves_the_others unanswered_batch_is_retried_one_by_one batch_gets_as_long_as_its_shortest_lease_allows answers_of_another_number_are_none lease_released_during_a_batch_is_renewed_no_more",
    ),
    (
        Bug::RetriedTogether,
        "unanswered_batch_is_retried_one_by_one",
    ),
    (Bug::OneBatchAtATime, "hung_batch_delays_no_other"),
    (Bug::ShardsTogether, "dead_shard_delays_only_its_own"),
    (
        Bug::DurationsTogether,
        "short_lease_cuts_no_long_ones_attempt",
    ),
    (
        Bug::NoBatches,
        "leases_due_together_travel_together unanswered_batch_is_retried_one_by_one hung_batch_delays_no_other batch_gets_as_long_as_its_shortest_lease_allows answers_of_another_number_are_none late_answer_of_a_batch_counts_for_leases_still_valid lease_released_during_a_batch_is_renewed_no_more",
    ),
    (
        Bug::ReleasedRenewed,
        "late_renewal_revives_nothing no_renewal_is_sent_after_the_release_began lease_released_during_a_batch_is_renewed_no_more released_leases_leave_nothing_behind",
    ),
    (Bug::DeadEntriesKept, "released_leases_leave_nothing_behind"),
    (
        Bug::NothingHandedOver,
        "grant_nobody_picks_up_is_given_back released_lock_goes_to_the_next_waiter_in_one_write \
         lock_is_handed_on_past_a_renewal_under_way \
         hand_over_without_an_answer_is_followed_by_the_release \
         lock_goes_back_to_the_store_after_a_row_of_hand_overs \
         lock_goes_back_to_the_store_after_a_while_of_hand_overs",
    ),
    (
        Bug::FailedHandOverForgotten,
        "hand_over_that_is_refused_is_followed_by_the_release hand_over_without_an_answer_is_followed_by_the_release waiter_that_leaves_takes_no_hand_over_along",
    ),
    (
        Bug::HandOverKeepsTheTerm,
        "grant_nobody_picks_up_is_given_back released_lock_goes_to_the_next_waiter_in_one_write lock_is_handed_on_past_a_renewal_under_way lock_goes_back_to_the_store_after_a_row_of_hand_overs",
    ),
    (
        Bug::HandOverBelieves,
        "giver_has_stopped_before_the_next_is_asked_for closed_name_is_handed_to_no_waiter",
    ),
    (
        Bug::RowNeverEnds,
        "lock_goes_back_to_the_store_after_a_row_of_hand_overs lock_goes_back_to_the_store_after_a_while_of_hand_overs crowded_client_lets_others_in crowded_client_lets_others_in_without_hints crowded_clients_take_turns crowded_clients_take_turns_without_hints",
    ),
    (
        Bug::LastInherits,
        "waiters_are_served_in_the_order_they_came lock_goes_back_to_the_store_after_a_row_of_hand_overs crowded_clients_take_turns",
    ),
    (
        Bug::LegacyForgotten,
        "waiter_that_leaves_takes_no_hand_over_along",
    ),
    (
        Bug::InheritsWithoutClaim,
        "released_lock_goes_to_the_next_waiter_in_one_write lock_is_handed_on_past_a_renewal_under_way lock_goes_back_to_the_store_after_a_row_of_hand_overs",
    ),
    (
        Bug::RowAsksAnyway,
        "lock_goes_back_to_the_store_after_a_row_of_hand_overs",
    ),
    (
        Bug::GiverBelieves,
        "ticket_gives_the_lock_to_whoever_redeems_it",
    ),
    (
        Bug::TicketReleased,
        "ticket_gives_the_lock_to_whoever_redeems_it ticket_is_good_whatever_its_number giver_does_not_claim_what_it_handed_over ticket_waits_behind_nobody",
    ),
    (
        Bug::TicketClaimed,
        "giver_does_not_claim_what_it_handed_over",
    ),
    (Bug::TicketInsists, "ticket_is_good_whatever_its_number"),
    (
        Bug::TicketUnclaimed,
        "ticket_gives_the_lock_to_whoever_redeems_it",
    ),
    (Bug::TicketQueues, "ticket_waits_behind_nobody"),
    (Bug::LostLeaseHandedOver, "lost_lease_is_not_handed_over"),
    (Bug::TicketForAnyLock, "ticket_opens_no_other_lock"),
    (
        Bug::ReleaserFirst,
        "waiter_is_served_before_the_releaser equal_processes_get_equal_shares releaser_leaves_the_lock_to_others_for_an_instant limit_holds_while_others_go_first hint_during_a_delay_counts hint_during_a_delay_does_not_start_it_anew",
    ),
    (
        Bug::NeverLeaves,
        "crowded_client_lets_others_in crowded_client_lets_others_in_without_hints ticket_waits_behind_nobody crowded_clients_take_turns crowded_clients_take_turns_without_hints",
    ),
    (
        Bug::OnePlaceOnly,
        "crowded_clients_take_turns_without_hints",
    ),
    (Bug::FoundReservationIgnored, "crowded_clients_take_turns"),
    (
        Bug::ReservationUncounted,
        "crowded_client_lets_others_in crowded_client_lets_others_in_without_hints",
    ),
    (
        Bug::NeverReserves,
        "crowded_client_lets_others_in_without_hints crowded_client_lets_others_in crowded_clients_take_turns crowded_clients_take_turns_without_hints",
    ),
    (
        Bug::SeniorityIgnored,
        "equal_processes_get_equal_shares releaser_leaves_the_lock_to_others_for_an_instant limit_holds_while_others_go_first hint_during_a_delay_counts hint_during_a_delay_does_not_start_it_anew",
    ),
    (Bug::LoneClientYieldsAlways, "lone_process_is_hardly_slowed"),
    (
        Bug::LoneClientNeverYields,
        "equal_processes_get_equal_shares",
    ),
    (
        Bug::DelayRestarts,
        "hint_during_a_delay_counts hint_during_a_delay_does_not_start_it_anew",
    ),
    (
        Bug::HeirDeniesGiver,
        "giver_is_not_stale_when_its_own_client_was_faster",
    ),
];
