//! Wrong decisions about paused queues.

use dlock_core::ProviderError;
use dlock_tasks::{Claim, Claimed, PausedQueue, TaskStore, limits};

use super::{TaskFlaw as Flaw, store::PlantedTasks};

impl PlantedTasks {
    pub(super) async fn pause(&self, queue: &str, paused: bool) -> Result<(), ProviderError> {
        match self.flaw {
            Some(Flaw::PauseOfBadName) if limits::queue(queue).is_err() => return Ok(()),
            Some(Flaw::PauseBeginsAnew) if paused => self.inner.set_paused(queue, false).await?,
            Some(Flaw::ResumeIsNotHinted) if !paused => {
                self.inner.call(|table, _| table.paused.remove(queue));
                return Ok(());
            }
            Some(Flaw::PauseStopsWorkers) if paused => self.edit_all(|row, _| {
                if row.new.queue == queue {
                    super::ending::set_released(row, true);
                }
            }),
            _ => {}
        }
        self.inner.set_paused(queue, paused).await
    }

    pub(super) async fn shown_as_paused(&self) -> Result<Vec<PausedQueue>, ProviderError> {
        if self.has(Flaw::PauseIsNotShown) {
            return Ok(Vec::new());
        }
        self.inner.paused().await
    }

    pub(super) async fn take_beside_pauses(&self, claim: &Claim) -> Result<Claimed, ProviderError> {
        let paused = self.inner.call(|table, _| table.paused.clone());
        let concerns = claim.queues.iter().any(|queue| paused.contains_key(queue));
        if !concerns {
            return self.inner.claim(claim).await;
        }
        let resume = || self.inner.call(|table, _| table.paused.clear());
        let pause = || self.inner.call(|table, _| table.paused.clone_from(&paused));
        match self.flaw {
            Some(Flaw::PauseIsForgotten) => {
                resume();
                let claimed = self.inner.claim(claim).await;
                pause();
                claimed
            }
            Some(Flaw::PauseStopsOthers) if !claim.again => Ok(Claimed::default()),
            Some(Flaw::PauseStopsRepeats) if claim.again => Ok(Claimed::default()),
            Some(Flaw::PausedIsSwept) => {
                resume();
                // No worker has a handler for it.
                let nothing = self.inner.claim(&claim.clone().kinds(["-"])).await;
                pause();
                nothing?;
                self.inner.claim(claim).await
            }
            Some(Flaw::PausedTellsNext) => {
                let rows = self.rows();
                resume();
                let nothing = self.inner.claim(&claim.clone().kinds(["-"])).await;
                pause();
                self.inner.call(|table, _| table.rows = rows);
                let mut claimed = self.inner.claim(claim).await?;
                claimed.next = nothing?.next;
                Ok(claimed)
            }
            _ => self.inner.claim(claim).await,
        }
    }
}
