//! Which cases catch the wrong decisions of minting blocks of tokens.

caught! {
    BlockShownByItsFirst: block_ends_at_the_token_of_the_record next_grant_begins_above_the_whole_block
        block_begins_at_the_floor_or_above repeat_claims_no_token_that_was_not_minted;
    BlockBeginsAtTheLast: next_grant_begins_above_the_whole_block block_begins_at_the_floor_or_above
        block_ends_below_two_to_the_53;
    BlockIsNotMinted: next_grant_begins_above_the_whole_block block_begins_at_the_floor_or_above
        block_ends_below_two_to_the_53;
    BlockIsOneToken: block_is_as_long_as_was_asked_for;
    BlockWithoutClock: purged_name_goes_on_above_its_block;
    BlockEndsAtTheFloor: block_begins_at_the_floor_or_above block_ends_below_two_to_the_53;
    BlockReachesBack: block_ends_below_two_to_the_53;
    RepeatClaimsBlock: repeat_claims_no_token_that_was_not_minted;
}
