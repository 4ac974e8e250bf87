//! Which cases catch the wrong decisions of reading and of what a provider says of itself.

caught! {
    ReadHidesExpired: acquire_of_an_expired_term_is_spent expired_lock_is_taken_by_a_newcomer
        repeated_renewal_of_an_expired_term_is_still_answered renewal_of_an_expired_term_is_lost
        read_shows_the_record_and_never_a_verdict purge_deletes_only_what_is_a_week_past
        purge_keeps_a_token_that_is_ahead_of_the_clock purge_stops_at_its_limit;
    ReadHidesReleased: acquire_of_a_released_term_is_spent refused_acquire_writes_nothing released_lock_is_taken
        renewal_of_a_released_term_is_lost batch_is_answered_in_order release_keeps_everything_but_the_hold
        repeated_release_is_a_success release_of_a_strangers_term_changes_nothing
        expired_term_can_still_be_released token_of_a_release_decides_nothing
        release_does_not_depend_on_the_renewals closing_of_what_is_not_held_changes_nothing
        read_shows_the_record_and_never_a_verdict data_is_untouched_by_renewal_and_release
        tokens_end_below_two_to_the_53 floor_beyond_all_tokens_is_refused longest_name_may_be_of_any_script
        renewals_racing_with_a_release_bring_nothing_back revoke_of_another_version_changes_nothing
        ask_of_another_term_changes_nothing next_term_starts_unasked
        list_pages_through_every_name_in_byte_order;
    ReadCounts: repeated_acquire_finds_its_own_grant repeated_acquire_finds_its_own_grant_after_a_renewal
        acquire_of_a_released_term_is_spent acquire_of_an_expired_term_is_spent refused_acquire_writes_nothing
        released_lock_is_taken expired_lock_is_taken_by_a_newcomer claimed_version_is_taken
        claimed_version_is_taken_after_renewals claim_of_a_renewed_version_is_refused
        claim_of_another_version_is_refused repeated_renewal_is_a_success
        overtaken_renewal_is_a_success_that_changes_nothing
        repeated_renewal_of_an_expired_term_is_still_answered renewal_of_a_released_term_is_lost
        renewal_of_an_expired_term_is_lost renewal_of_a_strangers_term_is_lost
        one_loss_in_a_batch_leaves_the_others release_keeps_everything_but_the_hold
        repeated_release_is_a_success release_of_a_strangers_term_changes_nothing
        release_does_not_depend_on_the_renewals closing_ends_a_term_and_keeps_everybody_out
        repeated_closing_is_a_success_that_changes_nothing closing_of_what_is_not_held_changes_nothing
        tokens_grow_across_a_closing read_changes_nothing token_grows_across_takeover
        token_is_at_least_the_floor floor_below_the_next_token_changes_nothing tokens_end_below_two_to_the_53
        floor_beyond_all_tokens_is_refused block_ends_at_the_token_of_the_record
        block_is_as_long_as_was_asked_for next_grant_begins_above_the_whole_block
        block_begins_at_the_floor_or_above block_ends_below_two_to_the_53
        repeat_claims_no_token_that_was_not_minted race_of_claims_has_one_winner
        revoke_takes_the_term_away_and_gives_it_to_nobody repeated_revoke_is_a_success
        revoke_of_another_version_changes_nothing ask_is_seen_at_the_next_renewal
        ask_of_another_term_changes_nothing;
    ReadIsCached: absent_record_is_created released_lock_is_taken expired_lock_is_taken_by_a_newcomer
        claimed_version_is_taken claimed_version_is_taken_after_renewals
        renewal_changes_nothing_but_number_and_expiry renewal_numbers_may_be_skipped
        release_keeps_everything_but_the_hold release_of_a_strangers_term_changes_nothing
        closing_ends_a_term_and_keeps_everybody_out repeated_closing_is_a_success_that_changes_nothing
        closing_of_what_is_not_held_changes_nothing tokens_grow_across_a_closing
        read_shows_the_record_and_never_a_verdict read_changes_nothing token_grows_across_takeover
        token_is_at_least_the_floor floor_below_the_next_token_changes_nothing
        token_ahead_of_the_clock_goes_on_one_by_one tokens_end_below_two_to_the_53
        block_ends_at_the_token_of_the_record next_grant_begins_above_the_whole_block
        block_begins_at_the_floor_or_above repeat_claims_no_token_that_was_not_minted
        purged_name_goes_on_above_its_block race_for_a_released_lock_has_one_winner
        race_of_claims_has_one_winner revoke_takes_the_term_away_and_gives_it_to_nobody
        revoke_of_another_version_changes_nothing ask_is_seen_at_the_next_renewal
        ask_of_another_term_changes_nothing next_term_starts_unasked forced_release_frees_only_what_was_seen
        purge_deletes_only_what_is_a_week_past purge_keeps_a_token_that_is_ahead_of_the_clock
        purge_stops_at_its_limit;
    RemainingNeverEnds: repeated_closing_is_a_success_that_changes_nothing
        read_shows_the_record_and_never_a_verdict;
    RemainingAfterRelease: renewal_of_a_released_term_is_lost release_keeps_everything_but_the_hold
        release_of_a_strangers_term_changes_nothing closing_of_what_is_not_held_changes_nothing
        read_shows_the_record_and_never_a_verdict revoke_of_another_version_changes_nothing
        ask_of_another_term_changes_nothing;
    RemainingOnObserver: repeated_acquire_does_not_extend_the_lease held_lock_refuses_newcomers
        refused_acquire_writes_nothing refused_acquire_does_not_extend_the_lease owners_label_decides_nothing
        late_copy_of_an_acquire_does_not_disturb_the_next_term expired_lock_is_taken_by_a_newcomer
        lock_is_refused_until_it_expires claimed_version_is_taken claimed_version_is_taken_after_renewals
        claim_of_a_renewed_version_is_refused claim_of_another_version_is_refused
        takeover_lasts_for_the_new_lease renewal_extends_the_lease renewal_of_a_released_term_is_lost
        renewal_of_an_expired_term_is_lost batch_extends_every_lease release_keeps_everything_but_the_hold
        release_of_a_strangers_term_changes_nothing closing_ends_a_term_and_keeps_everybody_out
        closed_name_opens_when_its_own_time_is_over expired_term_can_still_be_closed
        closing_of_what_is_not_held_changes_nothing read_shows_the_record_and_never_a_verdict
        data_of_every_kind_is_kept owners_of_every_kind_are_kept every_provider_on_the_store_sees_the_same
        race_for_an_absent_record_has_one_winner race_for_a_released_lock_has_one_winner
        race_for_a_dead_holders_lock_has_one_winner race_of_claims_has_one_winner
        holders_exclude_each_other_and_tokens_follow_their_order
        revoke_takes_the_term_away_and_gives_it_to_nobody revoked_lease_ends_when_it_would_have_ended
        revoke_of_another_version_changes_nothing ask_of_another_term_changes_nothing
        prefix_and_name_are_kept_apart;
    RemainingIsMissing: held_lock_refuses_newcomers refused_acquire_writes_nothing
        refused_acquire_does_not_extend_the_lease owners_label_decides_nothing
        late_copy_of_an_acquire_does_not_disturb_the_next_term leases_of_every_length_are_kept_exactly
        lock_is_refused_until_it_expires claimed_version_is_taken claimed_version_is_taken_after_renewals
        claim_of_a_renewed_version_is_refused claim_of_another_version_is_refused
        takeover_lasts_for_the_new_lease renewal_extends_the_lease batch_extends_every_lease
        release_of_a_strangers_term_changes_nothing closing_ends_a_term_and_keeps_everybody_out
        closed_name_opens_when_its_own_time_is_over expired_term_can_still_be_closed
        repeated_closing_is_a_success_that_changes_nothing closing_of_what_is_not_held_changes_nothing
        read_shows_the_record_and_never_a_verdict data_of_every_kind_is_kept owners_of_every_kind_are_kept
        every_provider_on_the_store_sees_the_same race_for_an_absent_record_has_one_winner
        race_for_a_released_lock_has_one_winner race_for_a_dead_holders_lock_has_one_winner
        race_of_claims_has_one_winner holders_exclude_each_other_and_tokens_follow_their_order
        revoke_takes_the_term_away_and_gives_it_to_nobody revoked_lease_ends_when_it_would_have_ended
        revoke_of_another_version_changes_nothing ask_of_another_term_changes_nothing
        prefix_and_name_are_kept_apart;
    CapabilitiesChange: provider_says_what_the_fixture_says;
    WatchIsMissing: provider_says_what_the_fixture_says release_wakes_every_listener
        release_right_after_watch_is_hinted every_release_is_hinted_under_its_own_name
        watching_again_after_a_stream_was_dropped_works
        release_of_a_name_that_was_looked_at_is_hinted;
}
