//! Wrong decisions about the result of a claim.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use dlock_core::{FencingToken, ProviderError};
use dlock_tasks::{Claim, Claimed, ClaimedTask, State, TaskId, TaskStore};
use dlock_testkit::tasks::memory::table::Row;
use tokio::task::yield_now;
use uuid::Uuid;

use super::{
    TaskFlaw as Flaw,
    store::{Claims, PlantedTasks},
};

impl PlantedTasks {
    pub(super) async fn take(&self, claim: &Claim) -> Result<Claimed, ProviderError> {
        match self.flaw.map(Flaw::part) {
            Some("claiming") => {}
            Some("lanes") => return self.take_beside_lanes(claim).await,
            Some("limiting") => return self.take_beside_limits(claim).await,
            Some("pausing") => return self.take_beside_pauses(claim).await,
            _ => return self.inner.claim(claim).await,
        }
        if self.has(Flaw::ClaimIsUnchecked) && claim.check().is_err() {
            return Ok(Claimed::default());
        }
        if self.has(Flaw::ClaimIsInTwoSteps) {
            let seen = self.rows();
            yield_now().await;
            self.edit_all(|row, now| {
                let free = |row: &&Row| matches!(row.state(now), State::Ready | State::Stalled);
                if let Some(seen) = seen.get(&row.id).filter(free) {
                    *row = seen.clone();
                }
            });
        }
        let claim = self.asked(claim);
        let before = self.rows();
        self.edit_all(|row, now| self.prepare(row, &claim, now));
        if self.has(Flaw::ExpiredIsLeft) {
            self.inner.call(|table, now| {
                table.rows.retain(|_, row| row.state(now) != State::Stalled);
            });
        }
        let claimed = self.inner.claim(&claim).await;
        self.restore(
            &before,
            claimed.as_ref().map_or(&[], |claimed| &claimed.tasks),
        );
        if self.has(Flaw::OtherKindsAreNotSwept)
            && let Some(kinds) = &claim.kinds
        {
            let others = before
                .iter()
                .filter(|(_, old)| !kinds.contains(&old.new.kind));
            self.inner.call(|table, _| {
                table
                    .rows
                    .extend(others.map(|(id, old)| (*id, old.clone())));
            });
        }
        let mut claimed = claimed?;
        for task in &mut claimed.tasks {
            let Some(old) = before.get(&task.key.id) else {
                continue;
            };
            let held = old.state(self.inner.now()) == State::Running && task.key.uuid == claim.uuid;
            self.spoil(task, old, claim.again && held, claim.lease);
        }
        claimed.next = self.next(claimed.next, &before);
        Ok(claimed)
    }

    /// The claim that is made instead.
    fn asked(&self, claim: &Claim) -> Claim {
        let mut claim = claim.clone();
        match self.flaw {
            Some(Flaw::AgainIsIgnored) => claim.again = false,
            Some(Flaw::AgainExceeds) if claim.again => claim.max *= 2,
            Some(Flaw::MostIsIgnored) => claim.max = 10_000,
            Some(Flaw::AnyKindIsClaimed) if claim.check().is_ok() => claim.kinds = None,
            Some(Flaw::QueuesAreReversed) => claim.queues.reverse(),
            Some(Flaw::AnyQueueIsClaimed) if claim.check().is_ok() => {
                claim
                    .queues
                    .extend(["a", "b", "c", "default"].map(str::to_owned));
            }
            _ => {}
        }
        claim
    }

    /// Changes the task that the claim finds.
    fn prepare(&self, row: &mut Row, claim: &Claim, now: SystemTime) {
        let (state, id) = (row.state(now), row.id.get().unsigned_abs());
        match (self.flaw, &mut row.term) {
            (Some(Flaw::PrioritiesAreReversed), _) => row.new.priority = 9 - row.new.priority,
            (Some(Flaw::PrioritiesAreIgnored), _) => row.new.priority = 0,
            (Some(Flaw::NewestIsFirst), _) if row.run_at <= now => {
                row.run_at = now - Duration::from_micros(id);
            }
            (Some(Flaw::TimeIsIgnored), _) => row.run_at = row.run_at.min(now),
            (Some(Flaw::PoisonIsTriedForEver), _) => row.new.max_attempts = u32::MAX,
            (Some(Flaw::CancelledIsClaimed), None) if state == State::Cancelled => row.done = None,
            (Some(Flaw::IdentityIsUsedAgain), Some(term))
                if term.record.uuid == claim.uuid && state != State::Running =>
            {
                term.record.uuid = Uuid::new_v4();
            }
            (Some(Flaw::AgainAnswersExpired), Some(term))
                if claim.again && term.record.uuid == claim.uuid && state == State::Stalled =>
            {
                term.expiry = now + Duration::from_micros(1);
            }
            (Some(Flaw::LiveIsSwept), Some(term))
                if term.expiry <= now + term.record.duration / 2 =>
            {
                term.expiry = now;
            }
            (Some(Flaw::LiveIsTaken), Some(term)) if term.record.uuid != claim.uuid => {
                term.expiry = now;
            }
            (Some(Flaw::AskedIsClaimed), Some(term)) if state == State::Stalled => {
                term.record.asked = false;
            }
            _ => {}
        }
    }

    /// Keeps only the changes to tasks that the claim has taken or ended.
    pub(super) fn restore(&self, before: &BTreeMap<TaskId, Row>, tasks: &[ClaimedTask]) {
        self.inner.call(|table, _| {
            for (id, old) in before {
                let taken = tasks.iter().any(|task| task.key.id == *id);
                match table.rows.get_mut(id) {
                    Some(row) if taken => {
                        row.new.clone_from(&old.new);
                        row.run_at = old.run_at;
                    }
                    Some(row) if row.done.is_some() && old.done.is_none() => {}
                    _ => drop(table.rows.insert(*id, old.clone())),
                }
            }
        });
    }

    /// Changes what the claim leaves and answers.
    fn spoil(&self, task: &mut ClaimedTask, old: &Row, held: bool, lease: Duration) {
        let id = task.key.id;
        task.max_attempts = old.new.max_attempts;
        let claims = self.claims_of(id);
        if !held {
            self.count(
                id,
                Claims {
                    number: claims.number + 1,
                    ..claims
                },
            );
        }
        let last = old.term.as_ref().map(|term| term.record.token);
        let token = match (self.flaw, last) {
            (Some(Flaw::TokenIsKept), Some(last)) => last,
            (Some(Flaw::TokenIsOfTheTask), _) => token(claims.number + u64::from(!held)),
            (Some(Flaw::TokenBeginsAnew), _) if claims.retried => token(1),
            (Some(Flaw::AgainMintsTokens), Some(last)) if held => token(last.get() + 1),
            _ => task.key.token,
        };
        task.key.token = token;
        self.edit(id, |row, now| {
            let Some(term) = &mut row.term else { return };
            term.record.token = token;
            match self.flaw {
                Some(Flaw::AgainExtends) if held => term.expiry = now + lease,
                Some(Flaw::OwnerIsLost) => term.record.owner.clear(),
                Some(Flaw::AttemptIsNotCounted) if old.held().is_some() && !held => {
                    row.attempt -= 1;
                    task.attempt -= 1;
                }
                Some(Flaw::SilenceIsNotKept) => row.errors.clone_from(&old.errors),
                Some(Flaw::LossesAreNotSaid) => task.lost = 0,
                Some(Flaw::CheckpointIsCleared) => (row.checkpoint, task.checkpoint) = (None, None),
                Some(Flaw::CheckpointsGoOn) => row.checkpoints = old.checkpoints,
                _ => {}
            }
        });
    }

    fn next(&self, next: Option<Duration>, before: &BTreeMap<TaskId, Row>) -> Option<Duration> {
        let now = self.inner.now();
        let next_due = || {
            let due = before
                .values()
                .filter(|row| row.state(now) == State::Scheduled);
            due.filter_map(|row| row.run_at.duration_since(now).ok())
                .min()
        };
        match self.flaw {
            Some(Flaw::NextIsNotTold) => None,
            Some(Flaw::NextIgnoresLeases) => next.and_then(|_| next_due()),
            Some(Flaw::NextIsLate) => next.map(|next| next * 2),
            _ => next,
        }
    }
}

fn token(number: u64) -> FencingToken {
    FencingToken::new(number).unwrap_or_else(|| panic!("{number} is no token"))
}
