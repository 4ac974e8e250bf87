//! Which cases catch the wrong decisions of acquire.

caught! {
    ClaimHinders: claim_does_not_hinder_where_none_is_needed;
    RepeatContends: repeated_acquire_finds_its_own_grant
        repeated_acquire_finds_its_own_grant_after_a_renewal repeated_acquire_does_not_extend_the_lease
        renewals_and_replays_keep_the_token every_provider_on_the_store_sees_the_same
        tokens_end_below_two_to_the_53 repeat_claims_no_token_that_was_not_minted
        copies_of_one_acquire_at_once_grant_once;
    RepeatMintsToken: repeated_acquire_finds_its_own_grant
        repeated_acquire_finds_its_own_grant_after_a_renewal repeated_acquire_does_not_extend_the_lease
        renewals_and_replays_keep_the_token every_provider_on_the_store_sees_the_same
        tokens_end_below_two_to_the_53 repeat_claims_no_token_that_was_not_minted
        copies_of_one_acquire_at_once_grant_once;
    RepeatOnlyUnrenewed: repeated_acquire_finds_its_own_grant_after_a_renewal
        renewals_and_replays_keep_the_token;
    RepeatExtends: repeated_acquire_does_not_extend_the_lease;
    SpentForgotten: acquire_of_a_released_term_is_spent acquire_of_an_expired_term_is_spent;
    SpentOnlyIfReleased: acquire_of_an_expired_term_is_spent;
    ReleasedStaysHeld: late_copy_of_an_acquire_does_not_disturb_the_next_term released_lock_is_taken
        claim_does_not_hinder_where_none_is_needed takeover_lasts_for_the_new_lease
        renewal_of_a_released_term_is_lost batch_may_name_a_lock_twice
        closing_of_what_is_not_held_changes_nothing every_provider_on_the_store_sees_the_same
        token_grows_across_release token_follows_the_stores_clock token_is_at_least_the_floor
        token_ahead_of_the_clock_goes_on_one_by_one tokens_end_below_two_to_the_53
        floor_beyond_all_tokens_is_refused block_ends_at_the_token_of_the_record
        block_is_as_long_as_was_asked_for next_grant_begins_above_the_whole_block
        race_for_a_released_lock_has_one_winner holders_exclude_each_other_and_tokens_follow_their_order
        next_term_starts_unasked forced_release_frees_only_what_was_seen;
    ExpiredStaysHeld: repeated_acquire_does_not_extend_the_lease refused_acquire_does_not_extend_the_lease
        expired_lock_is_taken_by_a_newcomer claim_does_not_hinder_where_none_is_needed renewal_extends_the_lease
        repeated_renewal_does_not_extend_the_lease renewal_of_an_expired_term_is_lost
        closed_name_opens_when_its_own_time_is_over token_grows_across_expiry
        race_for_a_dead_holders_lock_has_one_winner revoked_lease_ends_when_it_would_have_ended;
    ExpiredIsTakenOnObserver: repeated_acquire_does_not_extend_the_lease expired_lock_is_taken_by_a_newcomer
        closed_name_opens_when_its_own_time_is_over revoked_lease_ends_when_it_would_have_ended;
    ClaimIgnored: claimed_version_is_taken claimed_version_is_taken_after_renewals
        release_of_a_strangers_term_changes_nothing closing_ends_a_term_and_keeps_everybody_out
        tokens_grow_across_a_closing token_grows_across_takeover token_is_at_least_the_floor
        floor_below_the_next_token_changes_nothing tokens_end_below_two_to_the_53
        block_ends_at_the_token_of_the_record block_is_as_long_as_was_asked_for
        next_grant_begins_above_the_whole_block block_begins_at_the_floor_or_above
        block_ends_below_two_to_the_53 repeat_claims_no_token_that_was_not_minted
        race_of_claims_has_one_winner revoke_takes_the_term_away_and_gives_it_to_nobody;
    ClaimByUuid: claim_of_a_renewed_version_is_refused claim_of_another_version_is_refused;
    ClaimByNumber: refused_acquire_writes_nothing claim_of_another_version_is_refused
        race_for_a_dead_holders_lock_has_one_winner race_of_claims_has_one_winner;
    NullClaimMatches: held_lock_refuses_newcomers refused_acquire_does_not_extend_the_lease
        owners_label_decides_nothing late_copy_of_an_acquire_does_not_disturb_the_next_term
        lock_is_refused_until_it_expires claimed_version_is_taken claimed_version_is_taken_after_renewals
        claim_of_a_renewed_version_is_refused takeover_lasts_for_the_new_lease renewal_extends_the_lease
        batch_extends_every_lease release_of_a_strangers_term_changes_nothing
        closing_ends_a_term_and_keeps_everybody_out closed_name_opens_when_its_own_time_is_over
        expired_term_can_still_be_closed data_of_every_kind_is_kept owners_of_every_kind_are_kept
        every_provider_on_the_store_sees_the_same race_for_an_absent_record_has_one_winner
        race_for_a_released_lock_has_one_winner race_for_a_dead_holders_lock_has_one_winner
        holders_exclude_each_other_and_tokens_follow_their_order release_wakes_every_listener
        release_right_after_watch_is_hinted every_release_is_hinted_under_its_own_name
        watching_again_after_a_stream_was_dropped_works revoke_takes_the_term_away_and_gives_it_to_nobody
        revoked_lease_ends_when_it_would_have_ended prefix_and_name_are_kept_apart;
    AcquireStrictlyPast: repeated_acquire_does_not_extend_the_lease acquire_of_an_expired_term_is_spent
        refused_acquire_does_not_extend_the_lease claim_does_not_hinder_where_none_is_needed
        renewal_extends_the_lease repeated_renewal_does_not_extend_the_lease renewal_of_an_expired_term_is_lost
        closed_name_opens_when_its_own_time_is_over token_grows_across_expiry
        race_for_a_dead_holders_lock_has_one_winner revoked_lease_ends_when_it_would_have_ended;
    ExpiresEarly: lock_is_refused_until_it_expires batch_extends_every_lease
        closed_name_opens_when_its_own_time_is_over;
    OwnerDecides: refused_acquire_does_not_extend_the_lease owners_label_decides_nothing
        late_copy_of_an_acquire_does_not_disturb_the_next_term lock_is_refused_until_it_expires
        claim_of_a_renewed_version_is_refused claim_of_another_version_is_refused
        takeover_lasts_for_the_new_lease renewal_extends_the_lease batch_extends_every_lease
        release_of_a_strangers_term_changes_nothing closing_ends_a_term_and_keeps_everybody_out
        closed_name_opens_when_its_own_time_is_over expired_term_can_still_be_closed data_of_every_kind_is_kept
        every_provider_on_the_store_sees_the_same race_for_an_absent_record_has_one_winner
        race_for_a_released_lock_has_one_winner race_for_a_dead_holders_lock_has_one_winner
        race_of_claims_has_one_winner holders_exclude_each_other_and_tokens_follow_their_order
        release_wakes_every_listener release_right_after_watch_is_hinted
        every_release_is_hinted_under_its_own_name watching_again_after_a_stream_was_dropped_works
        revoke_takes_the_term_away_and_gives_it_to_nobody revoked_lease_ends_when_it_would_have_ended
        prefix_and_name_are_kept_apart;
    KeepsDuration: released_lock_is_taken expired_lock_is_taken_by_a_newcomer claimed_version_is_taken
        claimed_version_is_taken_after_renewals takeover_lasts_for_the_new_lease
        closing_ends_a_term_and_keeps_everybody_out;
    KeepsExpiry: takeover_lasts_for_the_new_lease race_for_a_dead_holders_lock_has_one_winner;
    KeepsOwner: released_lock_is_taken expired_lock_is_taken_by_a_newcomer claimed_version_is_taken
        claimed_version_is_taken_after_renewals closing_ends_a_term_and_keeps_everybody_out;
    KeepsSince: released_lock_is_taken expired_lock_is_taken_by_a_newcomer claimed_version_is_taken
        claimed_version_is_taken_after_renewals;
    KeepsData: released_lock_is_taken expired_lock_is_taken_by_a_newcomer claimed_version_is_taken
        claimed_version_is_taken_after_renewals closing_ends_a_term_and_keeps_everybody_out;
    KeepsAsked: next_term_starts_unasked;
    KeepsNumber: late_copy_of_an_acquire_does_not_disturb_the_next_term released_lock_is_taken
        claimed_version_is_taken_after_renewals release_of_a_strangers_term_changes_nothing
        forced_release_frees_only_what_was_seen;
    KeepsToken: expired_lock_is_taken_by_a_newcomer claimed_version_is_taken
        claimed_version_is_taken_after_renewals claim_does_not_hinder_where_none_is_needed
        release_of_a_strangers_term_changes_nothing closing_ends_a_term_and_keeps_everybody_out
        tokens_grow_across_a_closing token_grows_across_expiry token_grows_across_takeover
        floor_below_the_next_token_changes_nothing tokens_end_below_two_to_the_53
        block_is_as_long_as_was_asked_for next_grant_begins_above_the_whole_block
        block_begins_at_the_floor_or_above race_for_a_dead_holders_lock_has_one_winner
        race_of_claims_has_one_winner revoke_takes_the_term_away_and_gives_it_to_nobody;
    RefusedAsks: held_lock_refuses_newcomers refused_acquire_writes_nothing owners_label_decides_nothing
        late_copy_of_an_acquire_does_not_disturb_the_next_term claim_of_another_version_is_refused;
    RefusedExtends: refused_acquire_does_not_extend_the_lease renewal_extends_the_lease
        closed_name_opens_when_its_own_time_is_over revoked_lease_ends_when_it_would_have_ended;
    RefusedRaisesToken: refused_acquire_writes_nothing;
    HeldFromAnotherLook: holders_exclude_each_other_and_tokens_follow_their_order;
    NotAtomic: race_for_an_absent_record_has_one_winner race_for_a_released_lock_has_one_winner
        race_for_a_dead_holders_lock_has_one_winner race_of_claims_has_one_winner
        holders_exclude_each_other_and_tokens_follow_their_order;
    FirstGrantNotAtomic: race_for_an_absent_record_has_one_winner
        holders_exclude_each_other_and_tokens_follow_their_order;
    EmptyDataIsNone: data_of_every_kind_is_kept;
    DataIsText: data_of_every_kind_is_kept;
    DataIsCut: data_of_every_kind_is_kept;
    OwnerIsCut: owners_of_every_kind_are_kept;
    DurationInSeconds: leases_of_every_length_are_kept_exactly renewal_extends_the_lease
        repeated_renewal_does_not_extend_the_lease read_shows_the_record_and_never_a_verdict;
    DurationIs24Bits: leases_of_every_length_are_kept_exactly;
}
