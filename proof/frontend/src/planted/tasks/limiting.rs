//! Wrong decisions about queues with a limit.

use std::collections::BTreeMap;

use dlock_core::ProviderError;
use dlock_tasks::{Claim, Claimed, LimitedQueue, State, TaskId, TaskStore, limits};
use dlock_testkit::tasks::memory::table::Row;
use tokio::task::yield_now;

use super::{TaskFlaw as Flaw, store::PlantedTasks};

impl PlantedTasks {
    pub(super) async fn limit(&self, queue: &str, limit: Option<u32>) -> Result<(), ProviderError> {
        let before = self.inner.call(|table, _| table.limits.get(queue).copied());
        let running = self.running(queue, |_| true);
        match (self.flaw, limit) {
            (Some(Flaw::LimitOfBadName), _) if limits::queue(queue).is_err() => return Ok(()),
            (Some(Flaw::LimitOfZero), Some(0)) => return Ok(()),
            (Some(Flaw::LimitIsNeverLowered), limit)
                if before.is_some() && limit.is_some() && limit < before =>
            {
                return Ok(());
            }
            (Some(Flaw::LimitCountsWhatComes), Some(limit)) if before.is_none() => {
                let limit = limit.saturating_add(running);
                return self.inner.set_limit(queue, Some(limit)).await;
            }
            (Some(Flaw::LimitIsNotHinted), _) => {
                limits::queue(queue)?;
                limits::limit(limit)?;
                self.inner.call(|table, _| match limit {
                    Some(limit) => drop(table.limits.insert(queue.to_owned(), limit)),
                    None => drop(table.limits.remove(queue)),
                });
                return Ok(());
            }
            (Some(Flaw::LimitStopsWorkers), Some(limit)) if limit < running => {
                self.edit_all(|row, _| {
                    if row.new.queue == queue {
                        super::ending::set_released(row, true);
                    }
                });
            }
            _ => {}
        }
        self.inner.set_limit(queue, limit).await
    }

    pub(super) async fn shown_as_limited(&self) -> Result<Vec<LimitedQueue>, ProviderError> {
        if self.has(Flaw::LimitIsNotShown) {
            return Ok(Vec::new());
        }
        self.inner.limits().await
    }

    pub(super) async fn take_beside_limits(&self, claim: &Claim) -> Result<Claimed, ProviderError> {
        let seen = self.rows();
        if self.has(Flaw::LimitIsInTwoSteps) {
            yield_now().await;
        }
        let limits = self.inner.call(|table, _| table.limits.clone());
        let is_full = limits.iter().any(|(queue, limit)| {
            claim.queues.contains(queue) && self.running(queue, |_| true) >= *limit
        });
        match self.flaw {
            Some(Flaw::LimitStopsOthers) if is_full => return Ok(Claimed::default()),
            Some(Flaw::LimitStopsRepeats) if is_full && claim.again => {
                return Ok(Claimed::default());
            }
            _ => {}
        }
        let wrong = limits.iter().filter_map(|(queue, limit)| {
            let limit = self.mistaken(queue, *limit, &seen)?;
            Some((queue.clone(), limit))
        });
        let wrong: BTreeMap<String, u32> = wrong.collect();
        self.inner.call(|table, _| table.limits = wrong);
        let claimed = self.inner.claim(claim).await;
        self.inner.call(|table, _| table.limits = limits);
        let mut claimed = claimed?;
        if is_full {
            match self.flaw {
                Some(Flaw::FullTellsNothing) => claimed.next = None,
                Some(Flaw::FullTellsWhatFallsDue) => {
                    let now = self.inner.now();
                    let rows = self.rows();
                    let due = rows
                        .values()
                        .filter_map(|row| row.run_at.duration_since(now).ok());
                    claimed.next = claimed.next.into_iter().chain(due).min();
                }
                _ => {}
            }
        }
        Ok(claimed)
    }

    /// The limit that a claim sees instead.
    fn mistaken(&self, queue: &str, limit: u32, seen: &BTreeMap<TaskId, Row>) -> Option<u32> {
        let now = self.inner.now();
        Some(match self.flaw {
            Some(Flaw::LimitIsForgotten) => return None,
            Some(Flaw::LimitIsOneClaims) => limit.saturating_add(self.running(queue, |_| true)),
            Some(Flaw::PlaceIsFreeTooEarly) => limit.saturating_add(self.running(queue, |row| {
                let term = row.held();
                term.is_some_and(|term| term.expiry <= now + term.record.duration / 2)
            })),
            Some(Flaw::PlaceIsOfTheDead) => limit.saturating_sub(self.stalled(queue)),
            Some(Flaw::LimitIsInTwoSteps) => limit.saturating_add(self.running(queue, |row| {
                let ran = |seen: &Row| seen.state(now) == State::Running;
                !seen.get(&row.id).is_some_and(ran)
            })),
            _ => limit,
        })
    }

    /// How many such tasks of a queue run.
    fn running(&self, queue: &str, which: impl Fn(&Row) -> bool) -> u32 {
        self.in_state(queue, State::Running, which)
    }

    fn stalled(&self, queue: &str) -> u32 {
        self.in_state(queue, State::Stalled, |_| true)
    }

    fn in_state(&self, queue: &str, state: State, which: impl Fn(&Row) -> bool) -> u32 {
        let (rows, now) = (self.rows(), self.inner.now());
        let of_it = |row: &&Row| row.new.queue == queue && row.state(now) == state && which(row);
        u32::try_from(rows.values().filter(of_it).count()).unwrap_or(u32::MAX)
    }
}
