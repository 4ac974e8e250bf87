//! A [`Provider`] over the lease in a task's row: it shows that a claim keeps every rule of a lock.
//!
//! A lock is a queue with one task under a key. An acquire enqueues that task, if it does not exist, and claims it;
//! every other call goes to [`TaskStore::claims`]. So the calls under test are the store's own claim, heartbeat,
//! release and read. The data of a lock is the task's checkpoint. Two operations that are one step for a lock take two
//! here: an acquire writes its data after its grant, and it releases the task of a version that no client acts on any
//! more (A6) before it claims it.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Release, ReleaseOutcome, Renew, RenewOutcome,
    },
};
use dlock_tasks::{Claim, ClaimName, NewTask, TaskStore};
use serde_json::json;
use tokio::time::{Instant, sleep};

/// Reads the store's table.
#[async_trait]
pub trait Seats: Send + Sync + 'static {
    /// The number and the newest token of the only task of a queue, once it was claimed.
    async fn seat(&self, queue: &str) -> Result<Option<ClaimName>, ProviderError>;
}

/// Treats each queue of a store as a lock.
#[derive(Clone)]
pub struct Columns {
    store: Arc<dyn TaskStore>,
    claims: Arc<dyn Provider>,
    seats: Arc<dyn Seats>,
}

/// How long a store may take to find a task that has become free.
const SWEEP: Duration = Duration::from_secs(10);

impl Columns {
    pub fn new(store: impl TaskStore, seats: impl Seats) -> Self {
        Self {
            claims: store.claims(),
            store: Arc::new(store),
            seats: Arc::new(seats),
        }
    }

    async fn seat(&self, name: &Name) -> Result<Option<Name>, ProviderError> {
        self.seats.seat(name.as_str()).await?.map(named).transpose()
    }
}

fn named(seat: ClaimName) -> Result<Name, ProviderError> {
    Name::new(seat.to_string()).map_err(|error| ProviderError::fatal(error.to_string()))
}

#[async_trait]
impl Provider for Columns {
    fn capabilities(&self) -> Capabilities {
        self.claims.capabilities()
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        request.check()?;
        let queue = request.name.as_str();
        if self.seats.seat(queue).await?.is_none() {
            let task = NewTask::builder().kind("lock").queue(queue).key("lock");
            let task = task.max_attempts(1000).build();
            self.store.enqueue(&[task]).await?;
        }
        let mut claim = Claim::new(queue, request.new, request.duration).owner(&*request.owner);
        let began = Instant::now();
        while began.elapsed() < SWEEP {
            let claimed = self.store.claim(&claim).await?;
            if let Some(task) = claimed.tasks.into_iter().find(|task| task.queue == queue) {
                if request.data.is_some() || task.checkpoint.is_some() {
                    let data = json!(request.data);
                    self.store.checkpoint(&task.key, 1, &data).await?;
                }
                return Ok(AcquireOutcome::Acquired(task.key.token.into())); // A1, A2, A4, A5
            }
            if let Some(record) = self.read(&request.name).await? {
                let over = record.released || record.remaining == Some(Duration::ZERO);
                match record.uuid == request.new {
                    true if over => return Ok(AcquireOutcome::Spent), // A3
                    false if !over && request.prev == Some(record.version()) => {
                        let gone = Release::new(request.name.clone(), record.uuid, None);
                        self.release(&gone).await?; // A6
                    }
                    false if !over => return Ok(AcquireOutcome::Held(record)), // A7
                    true => claim = claim.repeated(),
                    false => {}
                }
            }
            // A repeat, two reads that disagree, or a store that looks for free tasks only now and then.
            sleep(Duration::from_millis(1)).await;
        }
        Err(ProviderError::unknown("a free task is not given out"))
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        let Some(seat) = self.seat(&request.name).await? else {
            return Ok(RenewOutcome::Lost(None));
        };
        let mut request = request.clone();
        request.name = seat;
        self.claims.renew(&request).await
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        // A renewal without a task is lost; the others go to the store in one call.
        let (mut outcomes, mut places, mut batch) = (Vec::new(), Vec::new(), Vec::new());
        for request in requests {
            match self.seat(&request.name).await {
                Ok(Some(seat)) => {
                    places.push(outcomes.len());
                    batch.push(request.clone());
                    if let Some(last) = batch.last_mut() {
                        last.name = seat;
                    }
                    outcomes.push(Err(ProviderError::unknown("no answer")));
                }
                Ok(None) => outcomes.push(Ok(RenewOutcome::Lost(None))),
                Err(error) => outcomes.push(Err(error)),
            }
        }
        for (place, outcome) in places.into_iter().zip(self.claims.renew_many(&batch).await) {
            outcomes[place] = outcome;
        }
        outcomes
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        let Some(seat) = self.seat(&request.name).await? else {
            return Ok(ReleaseOutcome::NotHeld(None));
        };
        let mut request = request.clone();
        request.name = seat;
        self.claims.release(&request).await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let Some(seat) = self.seats.seat(name.as_str()).await? else {
            return Ok(None);
        };
        let Some(mut record) = self.claims.read(&named(seat)?).await? else {
            return Ok(None);
        };
        let task = self.store.task(seat.id).await?;
        let data = task.and_then(|task| task.checkpoint);
        record.data = data.and_then(|data| serde_json::from_value(data).ok()?);
        Ok(Some(record))
    }
}

impl fmt::Debug for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Columns").finish_non_exhaustive()
    }
}

/// Makes one test of each case of the suite for locks, over a [`Fixture`](crate::Fixture) whose provider is
/// [`Columns`]. Cases about capabilities that tasks lack show as ignored; with `ignore = "why"`, all do.
#[doc(hidden)]
#[macro_export]
macro_rules! task_columns {
    ($fixture:ty $(, ignore = $why:literal)?) => {
        $crate::__task_columns! { ($) $fixture, [$(#[ignore = $why])?], [watch admin purge prefix sharing], [
            // A task is not closed: it is snoozed (B4).
            closing_ends_a_term_and_keeps_everybody_out
            closed_name_opens_when_its_own_time_is_over
            expired_term_can_still_be_closed
            repeated_closing_is_a_success_that_changes_nothing
            closing_of_what_is_not_held_changes_nothing
            tokens_grow_across_a_closing
            early_release_closes_the_name
            provider_says_what_the_fixture_says
            // A claim carries no floor: a retry keeps the token, and nothing else resets it (T6).
            token_is_at_least_the_floor
            floor_below_the_next_token_changes_nothing
            block_begins_at_the_floor_or_above
            block_ends_below_two_to_the_53
            token_ahead_of_the_clock_goes_on_one_by_one
            tokens_end_below_two_to_the_53
            // A checkpoint is JSON: 4 KiB of bytes do not fit.
            data_of_every_kind_is_kept
        ] }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __task_columns {
    (($d:tt) $fixture:ty, [$($ignored:tt)*], [$($group:ident)*], [$($case:ident)*]) => {
        static __SHARED: $crate::runner::Shared = $crate::runner::Shared::new();

        macro_rules! __dlock_case {
            $(($group $d name:ident) => {
                #[test]
                #[ignore = "no task has that"]
                fn $d name() {}
            };)*
            $(($d group:ident $case) => {
                #[test]
                #[ignore = "no task has that"]
                fn $case() {}
            };)*
            ($d group:ident $d name:ident) => {
                #[test]
                $($ignored)*
                fn $d name() {
                    $crate::runner::run::<$fixture>(&__SHARED, $crate::CASES, stringify!($d name));
                }
            };
        }

        macro_rules! __dlock_cases {
            ($d($d group:ident $d module:ident $d name:ident [$d($d rule:literal),*];)*) => {
                $d(__dlock_case! { $d group $d name })*
            };
        }

        $crate::__for_each_case!(__dlock_cases);
    };
}
