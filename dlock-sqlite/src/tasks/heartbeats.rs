//! The claims of a queue as leases: heartbeats are renewals (R1 to R3), a release returns a task to the queue (L1 to
//! L3).

use std::{
    slice,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Discipline, Durability, Release, ReleaseOutcome,
        Renew, RenewOutcome, Sharing,
    },
};
use dlock_tasks::{ClaimKey, ClaimName, State};

use super::{
    database::{Database, Work},
    lock,
};
use crate::{
    clock::StoreClock,
    requests::integer,
    store::Failure,
    worker::{Caller, Worker},
};

/// The claims of one database.
pub(super) struct Heartbeats {
    database: Arc<Mutex<Database>>,
    worker: Worker,
    sharing: Sharing,
}

impl Heartbeats {
    pub(super) fn new(database: Arc<Mutex<Database>>, worker: Worker) -> Self {
        Self {
            database,
            worker,
            sharing: Sharing::default(),
        }
    }

    /// Runs one transaction about these claims. It waits for other writers no longer than the shortest of their
    /// leases allows.
    async fn write<T: Send + 'static>(
        &self,
        names: Vec<ClaimName>,
        work: impl FnOnce(Work<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let database = Arc::clone(&self.database);
        let lease = move |work: Work<'_>| names.iter().filter_map(|name| work.lease(name)).min();
        self.worker
            .run(Caller::Holder, move || lock(&database).write(lease, work))
            .await
    }
}

fn name(name: &Name) -> Result<ClaimName, ProviderError> {
    ClaimName::try_from(name).map_err(|error| ProviderError::fatal(error.to_string()))
}

#[async_trait]
impl Provider for Heartbeats {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new("sqlite", Discipline::StoreClock)
            .batch(true)
            .durability(Durability::Durable)
    }

    async fn acquire(&self, _: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        Err(ProviderError::fatal(
            "a task is claimed by its queue, not acquired by its name: see TaskStore::claim",
        ))
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        let mut outcomes = self.renew_many(slice::from_ref(request)).await;
        outcomes
            .pop()
            .unwrap_or_else(|| Err(ProviderError::unknown("no answer")))
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        let item = |request: &Renew| {
            request.check()?;
            Ok((name(&request.name)?, request.clone()))
        };
        let items: Vec<Result<_, ProviderError>> = requests.iter().map(item).collect();
        let names = items.iter().flatten().map(|(name, _)| *name).collect();
        let renew_all = move |work: Work<'_>| {
            let mut outcomes = Vec::new();
            for item in items {
                outcomes.push(match item {
                    Ok((name, request)) => match work.renew(&name, &request) {
                        Err(Failure::Answer(error)) => Err(error),
                        answer => Ok(answer?),
                    },
                    Err(error) => Err(error),
                });
            }
            Ok(outcomes)
        };
        self.write(names, renew_all)
            .await
            .unwrap_or_else(|error| requests.iter().map(|_| Err(error.clone())).collect())
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        if request.closing.is_some() {
            return Err(ProviderError::fatal(
                "a task is not closed: complete it, or snooze it",
            ));
        }
        let (name, request) = (name(&request.name)?, request.clone());
        self.write(vec![name], move |work| work.release(&name, &request))
            .await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let name = self::name(name)?;
        let database = Arc::clone(&self.database);
        let read = move || lock(&database).read(|work| work.record(&name));
        self.worker.run(Caller::Other, read).await
    }

    fn sharing(&self) -> Option<&Sharing> {
        Some(&self.sharing)
    }
}

impl Work<'_> {
    /// The record of a task, if it is that of this claim.
    fn record(&self, name: &ClaimName) -> Result<Option<Record>, Failure> {
        let record = self.find(name.id)?.0.and_then(|task| task.seat.record);
        Ok(record.filter(|record| record.token == name.token))
    }

    fn lease(&self, name: &ClaimName) -> Option<Duration> {
        let record = self.record(name).ok()?;
        record.map(|record| record.duration)
    }

    fn renew(&self, name: &ClaimName, request: &Renew) -> Result<RenewOutcome, Failure> {
        let key = ClaimKey::new(name.id, request.uuid, name.token);
        let (task, now) = self.find(name.id)?;
        let Some(task) = task else {
            return Ok(RenewOutcome::Lost(None)); // R3
        };
        if task.is_of(&key)
            && let Some(record) = task.holder()
        {
            let asked = record.asked;
            if record.renewals >= request.n {
                return Ok(RenewOutcome::Renewed { asked }); // R2
            }
            if !task.is_free() {
                let parameters = (
                    name.id.get(),
                    integer(request.n),
                    self.clock.boot().to_string(),
                    StoreClock::expiry(now, record.duration),
                );
                self.change(include_str!("../sql/tasks/beat.sql"), parameters)?;
                return Ok(RenewOutcome::Renewed { asked }); // R1
            }
        }
        Ok(RenewOutcome::Lost(task.seat.record)) // R3
    }

    fn release(&self, name: &ClaimName, request: &Release) -> Result<ReleaseOutcome, Failure> {
        let key = ClaimKey::new(name.id, request.uuid, name.token);
        let (task, now) = self.find(name.id)?;
        let Some(task) = task else {
            return Ok(ReleaseOutcome::NotHeld(None)); // L3
        };
        if !task.is_of(&key) {
            return Ok(ReleaseOutcome::NotHeld(task.seat.record)); // L3
        }
        match task.holder() {
            Some(record) if record.asked => {
                let own = Some(key.token.get());
                self.end(&task, State::Cancelled, None, own, &task.errors, now)?;
            }
            Some(_) => drop(self.give_back(&task, now)?), // L1
            None => {}                                    // L2
        }
        Ok(ReleaseOutcome::Released { wanted: false })
    }
}
