//! The periodic tasks of a worker.

use std::time::{Duration, SystemTime};

use dlock_core::{ErrorKind, ProviderError};
use tokio::time::sleep;

use super::Worker;
use crate::{Periodic, Served};

/// The longest sleep: the wall clock may be set meanwhile.
const LONGEST: Duration = Duration::from_secs(10);
/// The pause before the store is called again after an error.
const AFTER_ERROR: Duration = Duration::from_secs(1);

/// Enqueues all periodic tasks, for ever.
///
/// # Errors
/// The store cannot be used, or a task cannot be kept.
pub(super) async fn enqueue(worker: &Worker) -> Result<(), ProviderError> {
    let each = worker.periodic.iter().map(|task| serve(worker, task));
    futures_util::future::try_join_all(each).await?;
    std::future::pending().await
}

async fn serve(worker: &Worker, periodic: &Periodic) -> Result<(), ProviderError> {
    let mut served = None;
    loop {
        let now = now();
        let instant = periodic.schedule.latest(now);
        let wait = match instant.filter(|_| served != instant) {
            None => until_next(periodic, now),
            Some(instant) => match ask(worker, periodic, instant).await? {
                Some(Served::NotYet(wait)) => wait,
                Some(_) => {
                    served = Some(instant);
                    until_next(periodic, now)
                }
                None => AFTER_ERROR,
            },
        };
        sleep(wait.clamp(Duration::from_millis(1), LONGEST)).await;
    }
}

/// The store's answer to an instant, if it answers.
async fn ask(
    worker: &Worker,
    periodic: &Periodic,
    instant: SystemTime,
) -> Result<Option<Served>, ProviderError> {
    let store = &worker.settings.store;
    let served = store.enqueue_periodic(&periodic.name, instant, &periodic.task);
    match served.await {
        Ok(served) => Ok(Some(served)),
        Err(error) if error.kind() == ErrorKind::Fatal => Err(error),
        Err(error) => {
            tracing::warn!(schedule = periodic.name, %error, "a periodic task cannot be enqueued");
            Ok(None)
        }
    }
}

fn until_next(periodic: &Periodic, now: SystemTime) -> Duration {
    let next = periodic.schedule.next(now);
    next.map_or(LONGEST, |next| next.duration_since(now).unwrap_or_default())
}

#[expect(
    clippy::disallowed_methods,
    reason = "says when to ask; whether an instant has come is for the store's clock"
)]
fn now() -> SystemTime {
    SystemTime::now()
}
