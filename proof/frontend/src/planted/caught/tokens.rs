//! Which cases catch the wrong decisions of minting tokens.

caught! {
    TokenWithoutClock: first_token_is_the_time_in_microseconds token_follows_the_stores_clock
        block_is_as_long_as_was_asked_for purged_name_goes_on_above_its_block
        purge_deletes_only_what_is_a_week_past;
    TokenInMillis: first_token_is_the_time_in_microseconds token_follows_the_stores_clock
        block_is_as_long_as_was_asked_for;
    TokenNotAboveLast: claim_does_not_hinder_where_none_is_needed
        release_of_a_strangers_term_changes_nothing closing_ends_a_term_and_keeps_everybody_out
        tokens_grow_across_a_closing every_provider_on_the_store_sees_the_same token_grows_across_release
        token_grows_across_takeover floor_below_the_next_token_changes_nothing
        token_ahead_of_the_clock_goes_on_one_by_one tokens_end_below_two_to_the_53
        block_is_as_long_as_was_asked_for next_grant_begins_above_the_whole_block
        block_begins_at_the_floor_or_above race_for_a_released_lock_has_one_winner
        race_of_claims_has_one_winner revoke_takes_the_term_away_and_gives_it_to_nobody
        forced_release_frees_only_what_was_seen;
    ClockOnlyForTheFirst: token_follows_the_stores_clock block_is_as_long_as_was_asked_for;
    FloorIgnored: token_is_at_least_the_floor floor_below_the_next_token_changes_nothing
        token_ahead_of_the_clock_goes_on_one_by_one tokens_end_below_two_to_the_53
        block_begins_at_the_floor_or_above block_ends_below_two_to_the_53
        purge_keeps_a_token_that_is_ahead_of_the_clock;
    FloorOnlyForTheFirst: token_is_at_least_the_floor floor_below_the_next_token_changes_nothing
        block_begins_at_the_floor_or_above;
    FloorExceeded: token_is_at_least_the_floor floor_below_the_next_token_changes_nothing
        token_ahead_of_the_clock_goes_on_one_by_one tokens_end_below_two_to_the_53
        block_begins_at_the_floor_or_above block_ends_below_two_to_the_53;
    TokenLosesDigits: claim_does_not_hinder_where_none_is_needed
        release_of_a_strangers_term_changes_nothing closing_ends_a_term_and_keeps_everybody_out
        tokens_grow_across_a_closing every_provider_on_the_store_sees_the_same token_grows_across_release
        token_grows_across_takeover token_is_at_least_the_floor floor_below_the_next_token_changes_nothing
        token_ahead_of_the_clock_goes_on_one_by_one tokens_end_below_two_to_the_53
        block_is_as_long_as_was_asked_for next_grant_begins_above_the_whole_block
        block_ends_below_two_to_the_53 race_for_a_released_lock_has_one_winner race_of_claims_has_one_winner
        revoke_takes_the_term_away_and_gives_it_to_nobody forced_release_frees_only_what_was_seen;
    TokenWraps: tokens_end_below_two_to_the_53 floor_beyond_all_tokens_is_refused
        block_ends_below_two_to_the_53;
    TokensEndEarly: tokens_end_below_two_to_the_53 block_ends_below_two_to_the_53;
    CeilingWrites: tokens_end_below_two_to_the_53 floor_beyond_all_tokens_is_refused
        block_ends_below_two_to_the_53;
    HugeFloorIgnored: floor_beyond_all_tokens_is_refused;
    TokenDrawnBeforeTheLock: holders_exclude_each_other_and_tokens_follow_their_order;
}
