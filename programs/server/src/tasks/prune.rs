//! Ended tasks are forgotten. The workers behind a server may have no right to do it.

use std::{convert::Infallible, time::Duration};

use tokio::time::sleep;

use crate::{Service, api, asking::Asking, store_calls::Class};

/// How often, and how many in one call of the store.
const EVERY: Duration = Duration::from_secs(600);
const PORTION: usize = 1_000;

impl Service {
    /// Forgets tasks that ended longer ago than they are [kept](crate::Limits::keep), at once and then regularly, until
    /// the future is dropped. Any number of servers may do it.
    pub(crate) async fn forget_ended_tasks(&self) -> Infallible {
        let mut numbers = None;
        loop {
            if self.tasks().is_ok() {
                if self.0.api.get().is_some() {
                    let service = Asking::new(self.clone(), Class::List);
                    // Numbers left out now are checked in another round.
                    let next = api::forget_some(&service, numbers).await;
                    numbers = next.unwrap_or_default();
                }
                self.prune().await;
            }
            sleep(EVERY).await;
        }
    }

    async fn prune(&self) {
        let (limit, keep) = (self.0.limits.call_time, self.0.limits.keep);
        let service = Asking::new(self.clone(), Class::List);
        let portion = async || {
            service
                .ask_tasks(
                    limit,
                    |store| async move { store.prune(keep, PORTION).await },
                )
                .await
        };
        loop {
            match portion().await {
                Ok(PORTION) => {}
                Ok(_) => return,
                Err(refusal) => {
                    let code = refusal.0.code;
                    return tracing::warn!(?code, "not all ended tasks were forgotten this time");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dlock_tasks::{Ages, NewTask, TaskStore};
    use dlock_testkit::{
        memory::{MemoryProvider, MemoryStore},
        tasks::memory::MemoryTasks,
    };

    use super::*;
    use crate::Limits;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    /// How many tasks there are.
    async fn all(tasks: &MemoryTasks) -> u64 {
        let counts = tasks.counts().await.unwrap();
        counts.iter().map(|count| count.tasks).sum()
    }

    #[tokio::test(start_paused = true)]
    async fn ended_tasks_are_forgotten_however_many_and_others_stay() {
        let tasks = MemoryTasks::new();
        let many = vec![NewTask::builder().kind("resize").build(); 2_500];
        let added = tasks.enqueue(&many).await.unwrap();
        for task in &added[1..] {
            tasks.cancel(task.id(), false).await.unwrap();
        }
        let locks = MemoryProvider::new(&MemoryStore::store_clock());
        let limits = Limits {
            keep: Ages::new(DAY, 3 * DAY),
            ..Limits::default()
        };
        let service = Service::new(Arc::new(locks), limits);
        let service = service.with_tasks(Arc::new(tasks.clone()));
        tokio::spawn(async move { service.forget_ended_tasks().await });
        // Halfway between two rounds.
        sleep(3 * DAY - EVERY / 2).await;
        assert_eq!(all(&tasks).await, 2_500);
        sleep(2 * EVERY).await;
        assert_eq!(all(&tasks).await, 1);
    }
}
