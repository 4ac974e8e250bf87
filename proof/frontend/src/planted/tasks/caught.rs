//! Which cases catch which flaw: found by running all against all, and kept, so that a case that stops biting, or bites
//! too much, is noticed.

use super::TaskFlaw;

macro_rules! caught {
    ($($flaw:ident: $($case:ident)*;)*) => {
        pub(super) const TABLE: &[(TaskFlaw, &[&str])] = &[$((TaskFlaw::$flaw, &[$(stringify!($case)),*])),*];
    };
}

caught! {
    EndsByNumber: completion_by_another_claim_is_lost expired_claim_goes_to_another_worker_and_its_own_is_lost
        late_copy_of_a_claim_is_told_apart_by_its_token endings_of_one_call_are_answered_in_their_order
        lane_is_kept_over_a_crash;
    EndsByIdentity: completion_by_another_claim_is_lost late_copy_of_a_claim_is_told_apart_by_its_token;
    EndsByToken: completion_by_another_claim_is_lost endings_of_one_call_are_answered_in_their_order;
    EndingNeedsLife: expired_claim_that_nobody_took_can_still_be_completed;
    EndingsEndAtALoss: endings_of_one_call_are_answered_in_their_order;
    EndingsAreReversed: endings_of_one_call_are_answered_in_their_order;
    LostIsOwn: completion_by_another_claim_is_lost expired_claim_goes_to_another_worker_and_its_own_is_lost
        late_copy_of_a_claim_is_told_apart_by_its_token endings_of_one_call_are_answered_in_their_order
        cancelled_by_force_is_lost_to_its_worker retried_task_begins_anew_with_a_larger_token lane_is_kept_over_a_crash;
    RepeatIsLost: repeated_ending_answers_as_the_first endings_of_one_call_are_answered_in_their_order
        calls_without_an_answer_can_be_repeated;
    RepeatOfReleaseIsLost: repeated_ending_answers_as_the_first endings_of_one_call_are_answered_in_their_order;
    RepeatOverwrites: repeated_ending_answers_as_the_first;
    RepeatRunsAgain: repeated_ending_answers_as_the_first;
    StrangeEndingIsOwn: completion_by_another_claim_is_lost late_copy_of_a_claim_is_told_apart_by_its_token
        cancelled_by_force_is_lost_to_its_worker;
    OutputIsLost: completed_task_has_its_output;
    OutputIsUnlimited: what_cannot_be_kept_is_refused_as_a_whole;
    CompletionOfAskedIsNone: asked_task_can_still_be_completed;
    AskedIsTriedAgain: running_task_is_asked_to_stop;
    FailureComesAtOnce: failed_task_comes_again_and_dies_after_its_last_attempt repeated_ending_answers_as_the_first
        lane_goes_on_while_a_failed_task_waits;
    FailureForEver: failed_task_comes_again_and_dies_after_its_last_attempt;
    FailureIsNotKept: failed_task_comes_again_and_dies_after_its_last_attempt discarded_task_is_dead_at_once
        errors_of_the_newest_attempts_are_kept;
    ErrorsAreUncut: discarded_task_is_dead_at_once;
    ErrorsAreEndless: errors_of_the_newest_attempts_are_kept;
    DiscardedComesAgain: repeated_ending_answers_as_the_first discarded_task_is_dead_at_once
        retried_task_begins_anew_with_a_larger_token calls_without_an_answer_can_be_repeated
        counts_and_lists_tell_the_states ended_tasks_are_forgotten_by_age what_comes_back_is_hinted
        lane_of_a_task_is_shown_and_stays;
    GivenBackCounts: given_back_and_snoozed_attempts_do_not_count;
    SnoozedCounts: given_back_and_snoozed_attempts_do_not_count;
    SnoozedComesAtOnce: repeated_ending_answers_as_the_first endings_of_one_call_are_answered_in_their_order
        given_back_and_snoozed_attempts_do_not_count;
    CheckpointOfAnyClaim: checkpoint_reaches_the_next_attempt checkpoint_of_a_claim_that_is_over_is_lost;
    OlderCheckpointIsKept: checkpoint_reaches_the_next_attempt;
    CheckpointIsUnlimited: what_cannot_be_kept_is_refused_as_a_whole;
    ReleaseCounts: release_of_a_claim_gives_the_task_back calls_without_an_answer_can_be_repeated;
    ReleaseOfAnyClaim: completion_by_another_claim_is_lost expired_claim_goes_to_another_worker_and_its_own_is_lost
        release_of_a_claim_gives_the_task_back;
    RepeatedReleaseIsRefused: release_of_a_claim_gives_the_task_back calls_without_an_answer_can_be_repeated;
    ReleaseOfAskedGivesBack: running_task_is_asked_to_stop;
    ReleaseShowsNothing: release_of_a_claim_gives_the_task_back;
    BeatOfAnyClaim: completion_by_another_claim_is_lost expired_claim_goes_to_another_worker_and_its_own_is_lost
        late_copy_of_a_claim_is_told_apart_by_its_token;
    BeatByIdentity: completion_by_another_claim_is_lost late_copy_of_a_claim_is_told_apart_by_its_token;
    BeatRevives: expired_claim_that_nobody_took_can_still_be_completed;
    BeatDoesNotExtend: heartbeats_keep_a_task_and_overtaken_ones_change_nothing lane_is_kept_over_a_crash
        place_is_free_when_a_lease_ends;
    OlderBeatExtends: heartbeats_keep_a_task_and_overtaken_ones_change_nothing;
    RepeatedBeatIsLost: heartbeats_keep_a_task_and_overtaken_ones_change_nothing
        heartbeats_of_one_call_are_answered_in_their_order running_task_is_asked_to_stop
        calls_without_an_answer_can_be_repeated;
    BeatDoesNotTell: heartbeats_of_one_call_are_answered_in_their_order running_task_is_asked_to_stop;
    BeatTakesRequestBack: heartbeats_of_one_call_are_answered_in_their_order running_task_is_asked_to_stop;
    BeatsAreReversed: heartbeats_of_one_call_are_answered_in_their_order;
    BeatsEndAtALoss: heartbeats_of_one_call_are_answered_in_their_order;
    ClaimIsAcquired: claims_cannot_be_acquired;
    RecordOfAnyClaim: late_copy_of_a_claim_is_told_apart_by_its_token;
    IdentityIsUsedAgain: identity_that_is_used_up_claims_nothing_twice;
    LiveIsSwept: expired_claim_goes_to_another_worker_and_its_own_is_lost lane_is_kept_over_a_crash
        place_is_free_when_a_lease_ends;
    LiveIsTaken: two_claims_get_different_tasks many_workers_get_every_task_once
        expired_claim_goes_to_another_worker_and_its_own_is_lost
        heartbeats_keep_a_task_and_overtaken_ones_change_nothing heartbeats_of_one_call_are_answered_in_their_order
        endings_of_one_call_are_answered_in_their_order task_of_later_is_not_given_out_before
        what_is_refused_uses_no_number counts_and_lists_tell_the_states instant_of_a_schedule_has_one_task
        workers_of_one_schedule_add_one_task tasks_of_other_kinds_wait_for_other_workers
        heartbeats_claims_and_other_queues_are_not_hinted paused_queue_gives_nothing_and_others_go_on
        tasks_of_a_lane_run_one_at_a_time_and_in_order lanes_are_of_one_queue_and_wait_for_no_other
        lane_is_kept_over_a_crash lane_goes_on_while_a_failed_task_waits lane_waits_for_its_first_task_of_whatever_kind
        many_workers_run_one_task_of_a_lane_at_a_time limited_queue_gives_so_many_and_others_go_on
        limit_changes_while_tasks_run place_is_free_when_a_lease_ends lanes_and_limits_hold_together;
    ExpiredIsLeft: expired_claim_goes_to_another_worker_and_its_own_is_lost
        heartbeats_keep_a_task_and_overtaken_ones_change_nothing identity_that_is_used_up_claims_nothing_twice
        worker_that_dies_in_the_last_attempt_leaves_a_dead_task asked_task_whose_worker_dies_is_cancelled
        checkpoint_of_a_claim_that_is_over_is_lost tasks_of_other_kinds_wait_for_other_workers
        nothing_of_a_paused_queue_is_ended lane_is_kept_over_a_crash lane_goes_on_after_what_nobody_runs_any_more
        place_is_free_when_a_lease_ends;
    ClaimIsInTwoSteps: many_workers_get_every_task_once many_workers_run_one_task_of_a_lane_at_a_time;
    AgainIsIgnored: repeated_claim_answers_what_it_holds calls_without_an_answer_can_be_repeated
        task_that_runs_in_a_paused_queue_goes_on lanes_are_of_one_queue_and_wait_for_no_other
        limited_queue_gives_so_many_and_others_go_on;
    AgainExceeds: repeated_claim_answers_what_it_holds;
    AgainMintsTokens: repeated_claim_answers_what_it_holds calls_without_an_answer_can_be_repeated
        task_that_runs_in_a_paused_queue_goes_on lanes_are_of_one_queue_and_wait_for_no_other
        limited_queue_gives_so_many_and_others_go_on;
    AgainExtends: repeated_claim_answers_what_it_holds;
    AgainAnswersExpired: identity_that_is_used_up_claims_nothing_twice;
    MostIsIgnored: two_claims_get_different_tasks repeated_claim_answers_what_it_holds
        what_cannot_be_kept_is_refused_as_a_whole lane_of_a_task_is_shown_and_stays limit_changes_while_tasks_run;
    TokenIsKept: expired_claim_goes_to_another_worker_and_its_own_is_lost
        late_copy_of_a_claim_is_told_apart_by_its_token;
    TokenIsOfTheTask: key_is_used_once_at_a_time retried_task_begins_anew_with_a_larger_token;
    TokenBeginsAnew: retried_task_begins_anew_with_a_larger_token;
    AttemptIsNotCounted: expired_claim_goes_to_another_worker_and_its_own_is_lost;
    PoisonIsTriedForEver: worker_that_dies_in_the_last_attempt_leaves_a_dead_task nothing_of_a_paused_queue_is_ended
        lane_goes_on_after_what_nobody_runs_any_more place_is_free_when_a_lease_ends;
    SilenceIsNotKept: expired_claim_goes_to_another_worker_and_its_own_is_lost;
    AskedIsClaimed: asked_task_whose_worker_dies_is_cancelled tasks_of_other_kinds_wait_for_other_workers
        lane_goes_on_after_what_nobody_runs_any_more;
    PrioritiesAreReversed: priorities_and_ages_decide_the_order tasks_of_a_lane_run_one_at_a_time_and_in_order
        limited_queue_gives_so_many_and_others_go_on place_is_free_when_a_lease_ends;
    PrioritiesAreIgnored: priorities_and_ages_decide_the_order tasks_of_a_lane_run_one_at_a_time_and_in_order
        limited_queue_gives_so_many_and_others_go_on place_is_free_when_a_lease_ends;
    NewestIsFirst: two_claims_get_different_tasks priorities_and_ages_decide_the_order
        calls_without_an_answer_can_be_repeated paused_queue_gives_nothing_and_others_go_on
        tasks_of_a_lane_run_one_at_a_time_and_in_order lanes_are_of_one_queue_and_wait_for_no_other
        lane_goes_on_after_what_nobody_runs_any_more lane_goes_on_while_a_failed_task_waits
        lane_waits_for_its_first_task_of_whatever_kind lane_of_a_task_is_shown_and_stays
        limited_queue_gives_so_many_and_others_go_on lanes_and_limits_hold_together;
    TimeIsIgnored: failed_task_comes_again_and_dies_after_its_last_attempt given_back_and_snoozed_attempts_do_not_count
        task_of_later_is_not_given_out_before paused_queue_gives_nothing_and_others_go_on
        tasks_of_a_lane_run_one_at_a_time_and_in_order lane_goes_on_while_a_failed_task_waits;
    QueuesAreReversed: queues_are_claimed_in_their_order lanes_are_of_one_queue_and_wait_for_no_other
        limited_queue_gives_so_many_and_others_go_on;
    AnyQueueIsClaimed: queues_are_claimed_in_their_order;
    AnyKindIsClaimed: tasks_of_other_kinds_wait_for_other_workers heartbeats_claims_and_other_queues_are_not_hinted
        lane_waits_for_its_first_task_of_whatever_kind;
    OtherKindsAreNotSwept: tasks_of_other_kinds_wait_for_other_workers;
    NextIsNotTold: expired_claim_goes_to_another_worker_and_its_own_is_lost task_of_later_is_not_given_out_before
        paused_queue_gives_nothing_and_others_go_on tasks_of_a_lane_run_one_at_a_time_and_in_order
        limited_queue_gives_so_many_and_others_go_on;
    NextIgnoresLeases: expired_claim_goes_to_another_worker_and_its_own_is_lost
        tasks_of_a_lane_run_one_at_a_time_and_in_order limited_queue_gives_so_many_and_others_go_on;
    NextIsLate: expired_claim_goes_to_another_worker_and_its_own_is_lost task_of_later_is_not_given_out_before
        tasks_of_a_lane_run_one_at_a_time_and_in_order limited_queue_gives_so_many_and_others_go_on;
    OwnerIsLost: completed_task_has_its_output expired_claim_goes_to_another_worker_and_its_own_is_lost;
    ClaimIsUnchecked: what_cannot_be_kept_is_refused_as_a_whole tasks_of_other_kinds_wait_for_other_workers;
    CheckpointIsCleared: checkpoint_reaches_the_next_attempt;
    CheckpointsGoOn: checkpoint_reaches_the_next_attempt;
    CancelledIsClaimed: waiting_task_is_cancelled_at_once counts_and_lists_tell_the_states
        lane_waits_for_its_first_task_of_whatever_kind;
    EnqueueIsNotAtomic: what_cannot_be_kept_is_refused_as_a_whole what_is_refused_uses_no_number;
    EnqueueIsUnchecked: what_cannot_be_kept_is_refused_as_a_whole what_is_refused_uses_no_number;
    RefusalUsesNumber: what_is_refused_uses_no_number;
    PayloadIsText: completed_task_has_its_output;
    KeyCountsIfReady: key_is_used_once_at_a_time what_is_refused_uses_no_number;
    KeyCountsForEver: key_is_used_once_at_a_time retried_task_begins_anew_with_a_larger_token;
    KeyCountsEverywhere: key_is_used_once_at_a_time;
    KeyIsInTwoSteps: many_writers_of_one_key_add_one_task;
    NumbersComeAgain: retried_task_begins_anew_with_a_larger_token what_is_refused_uses_no_number
        counts_and_lists_tell_the_states ended_tasks_are_forgotten_by_age;
    InstantIsServedTwice: instant_of_a_schedule_has_one_task workers_of_one_schedule_add_one_task
        periodic_task_whose_key_is_in_use_is_not_added;
    InstantAfterALater: instant_of_a_schedule_has_one_task;
    InstantIsServedEarly: instant_to_come_is_not_served;
    EarlyInstantIsKept: instant_to_come_is_not_served;
    FirstInstantIsServed: instant_of_a_schedule_has_one_task workers_of_one_schedule_add_one_task
        instant_to_come_is_not_served periodic_task_whose_key_is_in_use_is_not_added;
    SchedulesAreOne: instant_of_a_schedule_has_one_task periodic_task_that_cannot_be_kept_is_refused;
    ScheduleIsInTwoSteps: workers_of_one_schedule_add_one_task;
    DuplicateServesNothing: periodic_task_whose_key_is_in_use_is_not_added;
    RefusedInstantIsServed: periodic_task_that_cannot_be_kept_is_refused;
    BadScheduleIsKept: periodic_task_that_cannot_be_kept_is_refused;
    CancelIsByForce: heartbeats_of_one_call_are_answered_in_their_order running_task_is_asked_to_stop
        asked_task_can_still_be_completed calls_without_an_answer_can_be_repeated;
    ForceAsks: cancelled_by_force_is_lost_to_its_worker lane_waits_for_its_first_task_of_whatever_kind;
    CancelTellsAfterwards: waiting_task_is_cancelled_at_once cancelled_by_force_is_lost_to_its_worker
        lane_waits_for_its_first_task_of_whatever_kind;
    CancelEndsTwice: waiting_task_is_cancelled_at_once;
    RetryOfSuccessMoves: retried_success_is_a_copy lane_of_a_task_is_shown_and_stays;
    RetryKeepsClaim: retried_task_begins_anew_with_a_larger_token;
    RetryKeepsAttempts: retried_task_begins_anew_with_a_larger_token calls_without_an_answer_can_be_repeated;
    RetryOfWaiting: retried_task_begins_anew_with_a_larger_token;
    RetryIgnoresKey: retried_task_begins_anew_with_a_larger_token calls_without_an_answer_can_be_repeated;
    CopyIsEmpty: retried_success_is_a_copy;
    PruneTakesLiving: calls_without_an_answer_can_be_repeated ended_tasks_are_forgotten_by_age;
    PruneTakesYoung: ended_tasks_are_forgotten_by_age;
    PruneMixesAges: ended_tasks_are_forgotten_by_age;
    PruneIsUnlimited: ended_tasks_are_forgotten_by_age;
    PauseIsForgotten: paused_queue_gives_nothing_and_others_go_on task_that_runs_in_a_paused_queue_goes_on
        nothing_of_a_paused_queue_is_ended;
    PauseStopsOthers: paused_queue_gives_nothing_and_others_go_on;
    PauseStopsRepeats: task_that_runs_in_a_paused_queue_goes_on;
    PauseStopsWorkers: task_that_runs_in_a_paused_queue_goes_on nothing_of_a_paused_queue_is_ended;
    PausedIsSwept: nothing_of_a_paused_queue_is_ended;
    PausedTellsNext: paused_queue_gives_nothing_and_others_go_on;
    PauseIsNotShown: paused_queues_are_listed;
    PauseBeginsAnew: paused_queues_are_listed;
    PauseOfBadName: paused_queues_are_listed;
    ResumeIsNotHinted: resumed_queue_is_hinted;
    LaneIsForgotten: tasks_of_a_lane_run_one_at_a_time_and_in_order lanes_are_of_one_queue_and_wait_for_no_other
        lane_is_kept_over_a_crash lane_goes_on_after_what_nobody_runs_any_more lane_goes_on_while_a_failed_task_waits
        lane_waits_for_its_first_task_of_whatever_kind many_workers_run_one_task_of_a_lane_at_a_time
        lanes_and_limits_hold_together;
    LaneIsOneClaims: tasks_of_a_lane_run_one_at_a_time_and_in_order lanes_are_of_one_queue_and_wait_for_no_other
        lane_is_kept_over_a_crash lane_goes_on_after_what_nobody_runs_any_more lane_goes_on_while_a_failed_task_waits
        lane_waits_for_its_first_task_of_whatever_kind many_workers_run_one_task_of_a_lane_at_a_time
        lanes_and_limits_hold_together;
    LanesAreOfAllQueues: lanes_are_of_one_queue_and_wait_for_no_other;
    LaneStopsItsQueue: lanes_are_of_one_queue_and_wait_for_no_other lanes_and_limits_hold_together;
    LaneIsReversed: tasks_of_a_lane_run_one_at_a_time_and_in_order lanes_are_of_one_queue_and_wait_for_no_other
        lane_goes_on_after_what_nobody_runs_any_more lane_goes_on_while_a_failed_task_waits
        lane_waits_for_its_first_task_of_whatever_kind lanes_and_limits_hold_together;
    LaneForgetsWhatHasBegun: lane_is_kept_over_a_crash lane_goes_on_after_what_nobody_runs_any_more;
    LaneWaitsForTheDead: lane_is_kept_over_a_crash lane_goes_on_after_what_nobody_runs_any_more;
    LaneIsFreeTooEarly: lane_is_kept_over_a_crash lane_goes_on_after_what_nobody_runs_any_more;
    LaneWaitsForLater: tasks_of_a_lane_run_one_at_a_time_and_in_order lane_goes_on_while_a_failed_task_waits;
    LaneIsOfAKind: lane_waits_for_its_first_task_of_whatever_kind;
    LaneIsInTwoSteps: many_workers_run_one_task_of_a_lane_at_a_time;
    LaneIsNotShown: lane_of_a_task_is_shown_and_stays many_workers_run_one_task_of_a_lane_at_a_time;
    RetryForgetsLane: lane_of_a_task_is_shown_and_stays;
    LaneEndIsNotHinted: end_of_a_task_of_a_lane_is_hinted;
    LimitIsForgotten: limited_queue_gives_so_many_and_others_go_on limit_changes_while_tasks_run
        place_is_free_when_a_lease_ends many_workers_run_no_more_than_the_limit lanes_and_limits_hold_together;
    LimitIsOneClaims: limited_queue_gives_so_many_and_others_go_on limit_changes_while_tasks_run
        place_is_free_when_a_lease_ends many_workers_run_no_more_than_the_limit lanes_and_limits_hold_together;
    LimitStopsOthers: limited_queue_gives_so_many_and_others_go_on;
    LimitStopsRepeats: limited_queue_gives_so_many_and_others_go_on;
    LimitStopsWorkers: limit_changes_while_tasks_run;
    LimitCountsWhatComes: limit_changes_while_tasks_run;
    LimitIsNeverLowered: limit_changes_while_tasks_run limits_are_listed;
    PlaceIsFreeTooEarly: place_is_free_when_a_lease_ends;
    PlaceIsOfTheDead: place_is_free_when_a_lease_ends;
    LimitIsInTwoSteps: many_workers_run_no_more_than_the_limit;
    FullTellsNothing: limited_queue_gives_so_many_and_others_go_on;
    FullTellsWhatFallsDue: limited_queue_gives_so_many_and_others_go_on;
    LimitIsNotShown: limits_are_listed;
    LimitOfZero: limits_are_listed;
    LimitOfBadName: limits_are_listed;
    LimitIsNotHinted: place_of_a_limited_queue_is_hinted;
    PlaceIsNotHinted: place_of_a_limited_queue_is_hinted;
    EndedIsNotCounted: counts_and_lists_tell_the_states;
    StalledIsRunning: counts_and_lists_tell_the_states;
    NothingIsHinted: what_is_enqueued_is_hinted_to_everyone what_comes_back_is_hinted
        heartbeats_claims_and_other_queues_are_not_hinted hint_that_was_not_read_stands_for_all resumed_queue_is_hinted
        end_of_a_task_of_a_lane_is_hinted place_of_a_limited_queue_is_hinted;
    BeatsAreHinted: heartbeats_claims_and_other_queues_are_not_hinted;
    UnreadHintIsTheLast: hint_that_was_not_read_stands_for_all end_of_a_task_of_a_lane_is_hinted
        place_of_a_limited_queue_is_hinted;
    ListIgnoresQueue: counts_and_lists_tell_the_states;
    ListIgnoresState: calls_without_an_answer_can_be_repeated counts_and_lists_tell_the_states;
    ListIgnoresPlace: counts_and_lists_tell_the_states;
    ListIsUnlimited: counts_and_lists_tell_the_states;
    EndedIsNotListed: counts_and_lists_tell_the_states lane_of_a_task_is_shown_and_stays;
}
