//! Which cases catch the wrong decisions of renew and of batches.

caught! {
    RenewalDoesNotExtend: takeover_lasts_for_the_new_lease renewal_extends_the_lease
        batch_extends_every_lease;
    RenewalExtendsFromExpiry: renewal_extends_the_lease repeated_renewal_does_not_extend_the_lease;
    RenewalIsStored32Bits: renewal_numbers_may_be_skipped overtaken_renewal_is_a_success_that_changes_nothing;
    RenewalCountsByOne: repeated_acquire_finds_its_own_grant_after_a_renewal
        claimed_version_is_taken_after_renewals renewal_numbers_may_be_skipped repeated_renewal_is_a_success
        overtaken_renewal_is_a_success_that_changes_nothing repeated_renewal_does_not_extend_the_lease
        batch_is_answered_in_order;
    RenewalWithoutNumber: overtaken_renewal_is_a_success_that_changes_nothing batch_is_answered_in_order;
    RenewalMintsToken: repeated_acquire_finds_its_own_grant_after_a_renewal refused_acquire_writes_nothing
        renewal_changes_nothing_but_number_and_expiry renewals_and_replays_keep_the_token
        renewals_racing_with_a_release_bring_nothing_back;
    RenewalMovesSince: renewal_changes_nothing_but_number_and_expiry;
    RenewalClearsData: renewal_changes_nothing_but_number_and_expiry data_is_untouched_by_renewal_and_release;
    RenewalTakesRequestBack: ask_is_seen_at_the_next_renewal;
    RequestIsNotTold: ask_is_seen_at_the_next_renewal;
    RepeatedRenewalIsLost: repeated_renewal_is_a_success overtaken_renewal_is_a_success_that_changes_nothing
        repeated_renewal_does_not_extend_the_lease repeated_renewal_of_an_expired_term_is_still_answered
        renewals_and_replays_keep_the_token batch_is_answered_in_order
        batches_in_opposite_orders_do_not_block_each_other ask_is_seen_at_the_next_renewal;
    RepeatedRenewalExtends: repeated_renewal_does_not_extend_the_lease
        repeated_renewal_of_an_expired_term_is_still_answered;
    RepeatAfterExpiryIsLost: repeated_renewal_of_an_expired_term_is_still_answered;
    RenewalRevivesExpired: renewal_of_an_expired_term_is_lost;
    RenewalRevivesReleased: renewal_of_a_released_term_is_lost batch_is_answered_in_order
        release_does_not_depend_on_the_renewals every_provider_on_the_store_sees_the_same;
    RenewalCreates: renewal_without_a_record_is_lost_and_creates_none batch_is_answered_in_order;
    RenewalOfAnyTerm: refused_acquire_does_not_extend_the_lease owners_label_decides_nothing
        late_copy_of_an_acquire_does_not_disturb_the_next_term released_lock_is_taken
        expired_lock_is_taken_by_a_newcomer claimed_version_is_taken claimed_version_is_taken_after_renewals
        renewal_of_a_strangers_term_is_lost batch_is_answered_in_order batch_may_name_a_lock_twice
        one_loss_in_a_batch_leaves_the_others closing_ends_a_term_and_keeps_everybody_out
        revoke_takes_the_term_away_and_gives_it_to_nobody forced_release_frees_only_what_was_seen;
    RenewStrictlyPast: renewal_of_an_expired_term_is_lost;
    LostShowsNothing: owners_label_decides_nothing released_lock_is_taken expired_lock_is_taken_by_a_newcomer
        claimed_version_is_taken claimed_version_is_taken_after_renewals renewal_of_a_released_term_is_lost
        renewal_of_an_expired_term_is_lost renewal_of_a_strangers_term_is_lost batch_is_answered_in_order
        batch_may_name_a_lock_twice one_loss_in_a_batch_leaves_the_others
        closing_ends_a_term_and_keeps_everybody_out every_provider_on_the_store_sees_the_same
        revoke_takes_the_term_away_and_gives_it_to_nobody;
    BatchInNameOrder: batch_is_answered_in_order;
    BatchEndsAtALoss: batch_is_answered_in_order batch_may_name_a_lock_twice
        one_loss_in_a_batch_leaves_the_others;
    BatchForgetsTheLast: batch_is_answered_in_order batch_may_name_a_lock_twice batch_extends_every_lease
        one_loss_in_a_batch_leaves_the_others batches_in_opposite_orders_do_not_block_each_other
        ask_is_seen_at_the_next_renewal;
    BatchKeepsOnePerName: batch_may_name_a_lock_twice;
    BatchDoesNotExtend: batch_extends_every_lease;
    BatchDoesNotTell: ask_is_seen_at_the_next_renewal;
    BatchesBlockEachOther: batch_may_name_a_lock_twice batches_in_opposite_orders_do_not_block_each_other;
    EmptyBatchIsAnError: empty_batch_has_no_answers;
}
