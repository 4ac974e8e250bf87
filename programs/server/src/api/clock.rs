//! The store's clock.
//!
//! A store shows by its clock when a term began, and how much of the term is left. For a term that was never renewed
//! this gives the current time of the store. So a lock is taken for a minute at a time, and a request that finds it
//! held reads the time off it.

use std::time::{Duration, SystemTime};

use dlock_core::{
    Name, Record,
    provider::{self, AcquireOutcome},
};
use dlock_http::Code;
use uuid::Uuid;

use crate::{asking::Asking, problem::Refusal};

/// The lock.
const NAME: &str = "~api/clock";

/// For how long it is taken: if the clock was wrong at that moment, the wrong time is read for that long.
const HELD: Duration = Duration::from_secs(60);

/// The time, by the store's clock.
pub(super) async fn now(service: &Asking) -> Result<SystemTime, Refusal> {
    let name = Name::new(NAME).map_err(|_| Refusal::from(Code::Fatal))?;
    let limit = service.0.limits.call_time;
    let shown = service
        .ask(limit, |store| async move {
            let acquire = provider::Acquire::new(name.clone(), Uuid::new_v4(), HELD);
            match store.acquire(&acquire).await? {
                AcquireOutcome::Held(record) => Ok(Some(record)),
                _ => store.read(&name).await,
            }
        })
        .await?;
    let time = shown.as_ref().and_then(read);
    time.ok_or_else(|| Code::Unknown.into())
}

/// The time at which this record was shown.
fn read(record: &Record) -> Option<SystemTime> {
    let gone = record.duration.checked_sub(record.remaining?)?;
    record.since.checked_add(gone)
}
