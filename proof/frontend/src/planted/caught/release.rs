//! Which cases catch the wrong decisions of release.

caught! {
    ReleaseDeletes: acquire_of_a_released_term_is_spent refused_acquire_writes_nothing
        released_lock_is_taken claim_does_not_hinder_where_none_is_needed renewal_of_a_released_term_is_lost
        batch_is_answered_in_order release_keeps_everything_but_the_hold repeated_release_is_a_success
        release_of_a_strangers_term_changes_nothing expired_term_can_still_be_released
        token_of_a_release_decides_nothing release_does_not_depend_on_the_renewals
        closing_of_what_is_not_held_changes_nothing read_shows_the_record_and_never_a_verdict
        data_is_untouched_by_renewal_and_release every_provider_on_the_store_sees_the_same
        token_grows_across_release token_ahead_of_the_clock_goes_on_one_by_one tokens_end_below_two_to_the_53
        floor_beyond_all_tokens_is_refused next_grant_begins_above_the_whole_block
        longest_name_may_be_of_any_script race_for_a_released_lock_has_one_winner
        renewals_racing_with_a_release_bring_nothing_back revoke_of_another_version_changes_nothing
        ask_of_another_term_changes_nothing next_term_starts_unasked forced_release_frees_only_what_was_seen
        list_pages_through_every_name_in_byte_order purge_deletes_only_what_is_a_week_past;
    ReleaseResetsToken: refused_acquire_writes_nothing claim_does_not_hinder_where_none_is_needed
        release_keeps_everything_but_the_hold token_of_a_release_decides_nothing
        every_provider_on_the_store_sees_the_same token_grows_across_release
        token_ahead_of_the_clock_goes_on_one_by_one tokens_end_below_two_to_the_53
        next_grant_begins_above_the_whole_block race_for_a_released_lock_has_one_winner
        renewals_racing_with_a_release_bring_nothing_back forced_release_frees_only_what_was_seen;
    ReleaseClearsData: release_keeps_everything_but_the_hold data_is_untouched_by_renewal_and_release;
    ReleaseClearsRequest: next_term_starts_unasked;
    ReleaseNeedsToken: token_of_a_release_decides_nothing block_ends_at_the_token_of_the_record
        block_is_as_long_as_was_asked_for;
    ReleaseNeedsLife: expired_term_can_still_be_released read_shows_the_record_and_never_a_verdict;
    ReleaseNeedsNoRenewals: refused_acquire_writes_nothing
        late_copy_of_an_acquire_does_not_disturb_the_next_term released_lock_is_taken
        renewal_of_a_released_term_is_lost release_keeps_everything_but_the_hold
        release_does_not_depend_on_the_renewals data_is_untouched_by_renewal_and_release
        every_provider_on_the_store_sees_the_same tokens_end_below_two_to_the_53
        longest_name_may_be_of_any_script renewals_racing_with_a_release_bring_nothing_back
        revoke_of_another_version_changes_nothing forced_release_frees_only_what_was_seen;
    ClosingIgnored: closing_ends_a_term_and_keeps_everybody_out closed_name_opens_when_its_own_time_is_over
        expired_term_can_still_be_closed repeated_closing_is_a_success_that_changes_nothing
        closing_of_what_is_not_held_changes_nothing;
    ClosingKeepsUuid: closing_ends_a_term_and_keeps_everybody_out
        repeated_closing_is_a_success_that_changes_nothing;
    ClosingKeepsNumber: closing_ends_a_term_and_keeps_everybody_out;
    ClosingKeepsDuration: closing_ends_a_term_and_keeps_everybody_out;
    ClosingKeepsExpiry: closed_name_opens_when_its_own_time_is_over expired_term_can_still_be_closed
        repeated_closing_is_a_success_that_changes_nothing;
    ClosingClearsData: closing_ends_a_term_and_keeps_everybody_out;
    ClosingMintsToken: closing_ends_a_term_and_keeps_everybody_out tokens_grow_across_a_closing;
    ClosingNeedsLife: expired_term_can_still_be_closed;
    ClosingOfAnyTerm: repeated_closing_is_a_success_that_changes_nothing
        closing_of_what_is_not_held_changes_nothing;
    ClosingOfReleased: closing_of_what_is_not_held_changes_nothing;
    RepeatedClosingIsRefused: repeated_closing_is_a_success_that_changes_nothing;
    RepeatedClosingExtends: repeated_closing_is_a_success_that_changes_nothing;
    ClosingIsNotSaid: provider_says_what_the_fixture_says;
    RepeatedReleaseIsRefused: repeated_release_is_a_success;
    ReleaseOfAnyTerm: owners_label_decides_nothing late_copy_of_an_acquire_does_not_disturb_the_next_term
        released_lock_is_taken expired_lock_is_taken_by_a_newcomer claimed_version_is_taken
        claimed_version_is_taken_after_renewals release_of_a_strangers_term_changes_nothing
        closing_ends_a_term_and_keeps_everybody_out every_provider_on_the_store_sees_the_same
        revoke_takes_the_term_away_and_gives_it_to_nobody forced_release_frees_only_what_was_seen;
    ReleaseCreates: release_without_a_record_creates_none closing_of_what_is_not_held_changes_nothing;
    NotHeldShowsNothing: owners_label_decides_nothing released_lock_is_taken expired_lock_is_taken_by_a_newcomer
        claimed_version_is_taken claimed_version_is_taken_after_renewals
        release_of_a_strangers_term_changes_nothing closing_ends_a_term_and_keeps_everybody_out
        repeated_closing_is_a_success_that_changes_nothing closing_of_what_is_not_held_changes_nothing
        every_provider_on_the_store_sees_the_same revoke_takes_the_term_away_and_gives_it_to_nobody
        forced_release_frees_only_what_was_seen;
}
