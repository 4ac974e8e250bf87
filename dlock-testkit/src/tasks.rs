//! The conformance suite for a [`TaskStore`]: one test of each case, on the author's store.
//!
//! A [`TaskFixture`] says how to start the store and how to reach it; [`task_store!`](crate::task_store) does the rest.
//! `tests/tasks.rs` of `dlock-sqlite` begins with a fixture of a few lines. A case that misses a bound of time is
//! repeated with longer leases; no other failure is ([details](crate#too-slow-and-wrong)).

mod cases;
#[doc(hidden)]
pub mod columns;
pub mod memory;

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use dlock_core::{
    ErrorKind, Name, Provider, ProviderError,
    provider::{Release, Renew, RenewOutcome},
};
use dlock_tasks::{
    Claim, ClaimKey, Claimed, ClaimedTask, Ended, Ending, How, NewTask, State, Task, TaskId,
    TaskStore,
};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::{
    runner::paused_runtime,
    slow::{self, in_time},
};

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

/// The lease, in the first round, of claims whose end a case waits for.
#[doc(hidden)]
pub const SHORT: Duration = Duration::from_millis(400);
/// The lease of claims that no case may see end.
const LONG: Duration = Duration::from_secs(600);
/// The limit for every event that must happen, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(30);

/// A store, and what the cases do with it.
#[doc(hidden)]
pub struct Stage {
    fixture: Box<dyn Erased>,
    store: Arc<dyn TaskStore>,
    /// The lease of claims whose end the case waits for.
    short: Duration,
}

/// A fixture without its type.
#[async_trait]
trait Erased: Send + Sync {
    async fn store(&self) -> Arc<dyn TaskStore>;
    fn hints(&self) -> bool;
    fn now(&self) -> SystemTime;
}

#[async_trait]
impl<F: TaskFixture> Erased for F {
    async fn store(&self) -> Arc<dyn TaskStore> {
        Arc::new(TaskFixture::store(self).await)
    }

    fn hints(&self) -> bool {
        F::HINTS
    }

    fn now(&self) -> SystemTime {
        TaskFixture::now(self)
    }
}

impl std::fmt::Debug for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stage").finish_non_exhaustive()
    }
}

impl Stage {
    /// On a store that was started. `short`: the lease of claims whose end the case waits for.
    pub async fn new<F: TaskFixture>(fixture: F, short: Duration) -> Self {
        let fixture: Box<dyn Erased> = Box::new(fixture);
        let store = fixture.store().await;
        Self {
            fixture,
            store,
            short,
        }
    }

    /// Adds a task.
    async fn add(&self, task: NewTask) -> TaskId {
        answered(self.store.enqueue(&[task]).await)[0].id()
    }

    /// The result of a claim.
    async fn claimed(&self, claim: &Claim) -> Claimed {
        answered(self.store.claim(claim).await)
    }

    /// The one task that a new worker gets.
    async fn take(&self, lease: Duration) -> ClaimedTask {
        let mut claimed = self.claimed(&claim(lease)).await.tasks;
        assert_eq!(claimed.len(), 1, "{claimed:?}");
        claimed.remove(0)
    }

    /// Asserts that a new worker gets nothing, provided that less than `short` has passed since this instant.
    async fn nothing_for_now(&self, since: Instant) {
        let claimed = self.claimed(&claim(LONG)).await;
        self.lasts(since);
        assert!(claimed.tasks.is_empty(), "{claimed:?}");
    }

    /// Renews a claim of `short` that was claimed or renewed at this instant. Returns the instant of this renewal.
    async fn keeps(&self, key: ClaimKey, n: u64, since: Instant) -> Instant {
        let asked = Instant::now();
        let renewed = self.renew(key, n).await;
        self.lasts(since);
        assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
        asked
    }

    /// Ends the round if `short` may have passed since this instant.
    fn lasts(&self, since: Instant) {
        in_time(since.elapsed() < self.short, "it may be over already");
    }

    /// Asserts that a new worker gets nothing.
    async fn nothing(&self) {
        let claimed = self.claimed(&claim(LONG)).await;
        assert!(claimed.tasks.is_empty(), "{claimed:?}");
    }

    /// Waits until a new worker gets a task.
    async fn eventually(&self, lease: Duration) -> ClaimedTask {
        let began = Instant::now();
        loop {
            if let Some(task) = self.claimed(&claim(lease)).await.tasks.pop() {
                return task;
            }
            in_time(began.elapsed() < PATIENCE, "a new worker gets a task");
            sleep(self.short / 20).await;
        }
    }

    async fn finish(&self, key: ClaimKey, how: How) -> Ended {
        answered(self.store.finish(&[Ending::new(key, how)]).await)[0]
    }

    async fn complete(&self, key: ClaimKey) -> Ended {
        self.finish(key, How::Complete(serde_json::Value::Null))
            .await
    }

    async fn renew(&self, key: ClaimKey, n: u64) -> RenewOutcome {
        let renewed = self
            .store
            .claims()
            .renew(&Renew::new(name(key), key.uuid, n))
            .await;
        answered(renewed)
    }

    async fn is_asked(&self, key: ClaimKey, n: u64) -> bool {
        match self.renew(key, n).await {
            RenewOutcome::Renewed { asked } => asked,
            other => panic!("{other:?}"),
        }
    }

    async fn is_lost(&self, key: ClaimKey, n: u64) {
        let renewed = self.renew(key, n).await;
        assert!(matches!(renewed, RenewOutcome::Lost(_)), "{renewed:?}");
    }

    async fn task(&self, id: TaskId) -> Task {
        let task = answered(self.store.task(id).await);
        task.unwrap_or_else(|| panic!("there is no task {id}"))
    }

    /// The remaining lease of the first task of a claim.
    async fn remaining(&self, claimed: &Claimed) -> Option<Duration> {
        let task = self.task(claimed.tasks[0].key.id).await;
        task.holder.map(|holder| holder.remaining)
    }

    async fn state(&self, id: TaskId) -> State {
        self.task(id).await.state
    }

    /// Waits until a task reaches this state without further calls.
    async fn becomes(&self, id: TaskId, state: State) {
        let began = Instant::now();
        while self.state(id).await != state {
            in_time(
                began.elapsed() < PATIENCE,
                format_args!("it becomes {state}"),
            );
            sleep(self.short / 20).await;
        }
    }

    /// The same for a state that only a claim brings about; the claims here get nothing.
    async fn is_made(&self, id: TaskId, state: State) {
        let began = Instant::now();
        while self.state(id).await != state {
            self.nothing().await;
            in_time(
                began.elapsed() < PATIENCE,
                format_args!("it is made {state}"),
            );
            sleep(self.short / 20).await;
        }
    }

    async fn cancel(&self, id: TaskId, force: bool) -> Option<State> {
        answered(self.store.cancel(id, force).await)
    }
}

/// A claim of a new worker.
fn claim(lease: Duration) -> Claim {
    Claim::new(NewTask::QUEUE, Uuid::new_v4(), lease).owner("worker")
}

fn task(kind: &str) -> NewTask {
    NewTask::builder().kind(kind).build()
}

/// The answer of the store. An error that lateness can explain ends the round ([`slow`]) and is not a wrong answer.
fn answered<T>(answer: Result<T, ProviderError>) -> T {
    answer.unwrap_or_else(|error| {
        slow::in_time(error.kind() == ErrorKind::Fatal, &error);
        panic!("{error:?}")
    })
}

fn name(key: ClaimKey) -> Name {
    let name = Name::new(key.name().to_string());
    name.unwrap_or_else(|error| panic!("{error}"))
}

fn release(key: ClaimKey) -> Release {
    Release::new(name(key), key.uuid, Some(key.token))
}
