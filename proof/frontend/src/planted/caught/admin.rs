//! Which cases catch the wrong decisions of revoke, force and ask.

caught! {
    RevokeByUuid: revoke_of_another_version_changes_nothing;
    RevokeReleased: revoke_of_another_version_changes_nothing;
    RevokeFrees: revoke_takes_the_term_away_and_gives_it_to_nobody revoked_lease_ends_when_it_would_have_ended
        repeated_revoke_is_a_success;
    RevokeExtends: revoked_lease_ends_when_it_would_have_ended;
    RevokeKeepsNumber: revoke_takes_the_term_away_and_gives_it_to_nobody;
    RevokeMintsToken: revoke_takes_the_term_away_and_gives_it_to_nobody;
    RepeatedRevokeIsRefused: repeated_revoke_is_a_success;
    ForceOfAnyTerm: forced_release_frees_only_what_was_seen;
    ForceNeedsTheNumber: forced_release_frees_only_what_was_seen;
    AskOfAnyTerm: ask_of_another_term_changes_nothing;
    AskOfReleased: ask_of_another_term_changes_nothing;
    AskCounts: ask_is_seen_at_the_next_renewal;
    AskIsRefusedTwice: ask_is_seen_at_the_next_renewal;
}
