//! Which cases catch the wrong decisions of list and purge.

caught! {
    ListSkipsTheFirst: list_pages_through_every_name_in_byte_order;
    ListRepeatsTheLast: list_pages_through_every_name_in_byte_order;
    ListCollates: list_pages_through_every_name_in_byte_order;
    ListHidesReleased: list_pages_through_every_name_in_byte_order;
    ListByPattern: list_takes_its_prefix_literally;
    ListIgnoresPrefix: list_takes_its_prefix_literally;
    ListIgnoresLimit: list_pages_through_every_name_in_byte_order;
    ListForgetsTheRest: list_pages_through_every_name_in_byte_order;
    PurgeAfterFiveDays: purge_deletes_only_what_is_a_week_past;
    PurgeIgnoresTokens: purge_keeps_a_token_that_is_ahead_of_the_clock;
    PurgeIgnoresLimit: purge_stops_at_its_limit;
    PurgeOnlyReleased: purged_name_goes_on_above_its_block purge_deletes_only_what_is_a_week_past
        purge_keeps_a_token_that_is_ahead_of_the_clock purge_stops_at_its_limit;
}
