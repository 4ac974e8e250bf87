//! The conformance suite for a [`TaskStore`]: one test of each case, on the author's store.
//!
//! A [`TaskFixture`] says how to start the store and how to reach it; [`task_store!`](crate::task_store) does the rest.
//! `tests/tasks.rs` of `dlock-sqlite` begins with a fixture of a few lines. A case that misses a bound of time is
//! repeated with longer leases; no other failure is ([details](crate#too-slow-and-wrong)).

mod cases;
#[doc(hidden)]
pub mod columns;
pub mod memory;
mod stage;

use std::{future::Future, pin::Pin, time::SystemTime};

use dlock_tasks::TaskStore;

#[doc(hidden)]
pub use self::stage::{SHORT, Stage};
use crate::{runner::paused_runtime, slow};

/// How to start a task store.
pub trait TaskFixture: Sized + Send + Sync + 'static {
    /// The store.
    type Store: TaskStore;

    /// Runs each case in paused virtual time. Only for stores inside this process that take all their time from tokio.
    const PAUSED: bool = false;

    /// Whether the store sends hints ([`TaskStore::watch`]). With `false`, the cases about hints check that it sends
    /// none.
    const HINTS: bool = true;

    /// Starts an empty store.
    fn start() -> impl Future<Output = Self> + Send;

    /// Another handle to the store, with its own connections.
    fn store(&self) -> impl Future<Output = Self::Store> + Send;

    /// The time on the store's clock, at least approximately. The default is this machine's time.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "what is tested is the store's clock, and this is most stores'"
    )]
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// Makes one test of each case: `task_store!(Fixture)`.
#[macro_export]
macro_rules! task_store {
    ($fixture:ty) => {
        $crate::__for_each_task_case! { $crate::__task_store, $fixture }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __task_store {
    ($fixture:ty: $($case:ident)*) => {
        $(
            #[::core::prelude::v1::test]
            fn $case() {
                $crate::tasks::run::<$fixture>(stringify!($case));
            }
        )*
    };
}

/// Passes the list of all cases, after the given tokens, to a macro.
#[doc(hidden)]
#[macro_export]
macro_rules! __for_each_task_case {
    ($callback:path, $($with:tt)*) => {
        $callback! { $($with)*:
            completed_task_has_its_output
            completion_by_another_claim_is_lost
            two_claims_get_different_tasks
            many_workers_get_every_task_once
            expired_claim_goes_to_another_worker_and_its_own_is_lost
            expired_claim_that_nobody_took_can_still_be_completed
            heartbeats_keep_a_task_and_overtaken_ones_change_nothing
            heartbeats_of_one_call_are_answered_in_their_order
            repeated_claim_answers_what_it_holds
            identity_that_is_used_up_claims_nothing_twice
            claim_says_how_often_in_a_row_its_task_was_lost
            late_copy_of_a_claim_is_told_apart_by_its_token
            failed_task_comes_again_and_dies_after_its_last_attempt
            repeated_ending_answers_as_the_first
            late_repeat_of_an_ending_answers_as_the_first
            discarded_task_is_dead_at_once
            errors_of_the_newest_attempts_are_kept
            endings_of_one_call_are_answered_in_their_order
            given_back_and_snoozed_attempts_do_not_count
            worker_that_dies_in_the_last_attempt_leaves_a_dead_task
            priorities_and_ages_decide_the_order
            task_of_later_is_not_given_out_before
            queues_are_claimed_in_their_order
            tasks_of_other_kinds_wait_for_other_workers
            claim_names_some_queues_and_kinds
            payload_comes_out_as_it_went_in
            key_is_used_once_at_a_time
            key_can_end_when_its_task_starts
            many_writers_of_one_key_add_one_task
            waiting_task_is_cancelled_at_once
            running_task_is_asked_to_stop
            asked_task_can_still_be_completed
            asked_task_whose_worker_dies_is_cancelled
            cancelled_by_force_is_lost_to_its_worker
            retried_task_begins_anew_with_a_larger_token
            retried_success_is_a_copy
            checkpoint_reaches_the_next_attempt
            checkpoint_of_a_claim_that_is_over_is_lost
            release_of_a_claim_gives_the_task_back
            what_cannot_be_kept_is_refused_as_a_whole
            what_is_refused_uses_no_number
            calls_without_an_answer_can_be_repeated
            counts_and_lists_tell_the_states
            ended_tasks_are_forgotten_by_age
            claims_cannot_be_acquired
            instant_of_a_schedule_has_one_task
            workers_of_one_schedule_add_one_task
            instant_to_come_is_not_served
            periodic_task_whose_key_is_in_use_is_not_added
            periodic_task_that_cannot_be_kept_is_refused
            what_is_enqueued_is_hinted_to_everyone
            what_comes_back_is_hinted
            heartbeats_claims_and_other_queues_are_not_hinted
            hint_that_was_not_read_stands_for_all
            resumed_queue_is_hinted
            end_of_a_task_of_a_lane_is_hinted
            place_of_a_limited_queue_is_hinted
            paused_queue_gives_nothing_and_others_go_on
            task_that_runs_in_a_paused_queue_goes_on
            nothing_of_a_paused_queue_is_ended
            paused_queues_are_listed
            tasks_of_a_lane_run_one_at_a_time_and_in_order
            lanes_are_of_one_queue_and_wait_for_no_other
            lane_is_kept_over_a_crash
            lane_goes_on_after_what_nobody_runs_any_more
            lane_goes_on_while_a_failed_task_waits
            lane_waits_for_its_first_task_of_whatever_kind
            lane_of_a_task_is_shown_and_stays
            many_workers_run_one_task_of_a_lane_at_a_time
            limited_queue_gives_so_many_and_others_go_on
            limit_changes_while_tasks_run
            place_is_free_when_a_lease_ends
            limits_are_listed
            many_workers_run_no_more_than_the_limit
            lanes_and_limits_hold_together
        }
    };
}

/// Runs a case on its own store, with longer leases where it misses a bound of time.
#[doc(hidden)]
pub fn run<F: TaskFixture>(name: &str) {
    let Some(case) = TASK_CASES.iter().find(|case| case.name == name) else {
        panic!("there is no case {name}")
    };
    // Nothing is late in paused time.
    let (runtime, rounds) = if F::PAUSED {
        (Ok(paused_runtime()), 1)
    } else {
        let mut threads = tokio::runtime::Builder::new_multi_thread();
        (threads.worker_threads(2).enable_all().build(), 3)
    };
    let runtime = runtime.unwrap_or_else(|error| panic!("no runtime: {error}"));
    runtime.block_on(slow::rounds(
        slow::leases(SHORT, rounds),
        |short| async move {
            (case.run)(Stage::new(F::start().await, short).await).await;
        },
    ));
}

/// One case of the suite.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TaskCase {
    /// Its name: the property it checks.
    pub name: &'static str,
    /// Runs the case; it panics if the property does not hold.
    pub run: fn(Stage) -> Pin<Box<dyn Future<Output = ()> + Send>>,
}

macro_rules! table {
    (: $($case:ident)*) => {
        /// All cases, compiled once here and not for each store.
        #[doc(hidden)]
        pub static TASK_CASES: &[TaskCase] = &[$(TaskCase {
            name: stringify!($case),
            run: |stage| Box::pin(cases::$case(stage)),
        }),*];
    };
}

crate::__for_each_task_case!(table,);
