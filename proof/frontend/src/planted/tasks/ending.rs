//! Wrong decisions about endings and checkpoints.

use std::time::Duration;

use dlock_core::ProviderError;
use dlock_tasks::{ClaimKey, Ended, Ending, FailedAttempt, How, Kept, State, TaskStore, limits};
use dlock_testkit::tasks::memory::table::Row;
use serde_json::Value;

use super::{TaskFlaw as Flaw, store::PlantedTasks};

impl PlantedTasks {
    pub(super) async fn end(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError> {
        if !self.has(Flaw::OutputIsUnlimited) {
            endings.iter().try_for_each(|one| one.check().map(drop))?;
        }
        let mut answers = Vec::new();
        for ending in endings {
            let lost_before = answers
                .iter()
                .find(|answer| matches!(answer, Ended::Lost(_)));
            answers.push(match lost_before {
                Some(lost) if self.has(Flaw::EndingsEndAtALoss) => *lost,
                _ => self.end_one(ending).await?,
            });
        }
        if self.has(Flaw::EndingsAreReversed) {
            answers.reverse();
        }
        Ok(answers)
    }

    async fn end_one(&self, ending: &Ending) -> Result<Ended, ProviderError> {
        let mut ending = ending.clone();
        let id = ending.key.id;
        ending.key = self.key(
            ending.key,
            [Flaw::EndsByNumber, Flaw::EndsByIdentity, Flaw::EndsByToken],
        );
        let Some(old) = self.rows().remove(&id) else {
            return Ok(Ended::Lost(None));
        };
        let now = self.inner.now();
        let (state, own) = (old.state(now), old.is_of(&ending.key));
        let left_before = own && old.done.is_none() && old.held().is_none();
        match (self.flaw, &mut ending.how) {
            (Some(Flaw::EndingNeedsLife), _) if state == State::Stalled => {
                return Ok(Ended::Lost(Some(state)));
            }
            (Some(Flaw::RepeatIsLost), _) if old.done.is_some() => {
                return Ok(Ended::Lost(Some(state)));
            }
            (Some(Flaw::RepeatOfReleaseIsLost), _) if left_before => {
                return Ok(Ended::Lost(Some(state)));
            }
            (Some(Flaw::RepeatRunsAgain), _) if left_before => {
                self.edit(id, |row, _| set_released(row, false));
            }
            (Some(Flaw::RepeatOverwrites), How::Complete(output)) if own => {
                self.edit(id, |row, _| {
                    if let Some(done) = &mut row.done {
                        done.output = Some(output.clone());
                    }
                });
            }
            (Some(Flaw::StrangeEndingIsOwn), _) if old.done.is_some() => {
                return Ok(Ended::Own(state));
            }
            (Some(Flaw::OutputIsLost), How::Complete(output)) => *output = Value::Null,
            (Some(Flaw::CompletionOfAskedIsNone), how @ How::Complete(_)) if old.is_asked() => {
                *how = How::GiveBack;
            }
            (Some(Flaw::AskedIsTriedAgain), How::Fail { .. } | How::GiveBack | How::Snooze(_))
                if own =>
            {
                self.edit(id, |row, _| set_asked(row, false));
            }
            (Some(Flaw::FailureComesAtOnce), How::Fail { retry_in, .. }) => {
                *retry_in = Duration::ZERO;
            }
            (Some(Flaw::FailureForEver), How::Fail { .. }) => {
                self.edit(id, |row, _| row.new.max_attempts = u32::MAX);
            }
            (Some(Flaw::DiscardedComesAgain), how @ How::Discard { .. }) => {
                *how = How::Fail {
                    error: "x".to_owned(),
                    retry_in: Duration::ZERO,
                };
            }
            (Some(Flaw::SnoozedComesAtOnce), How::Snooze(delay)) => *delay = Duration::ZERO,
            _ => {}
        }
        let answer = self.ended(&ending).await?;
        self.edit(id, |row, _| {
            self.spoil_ended(row, &old, &ending.how, answer);
        });
        Ok(match answer {
            Ended::Lost(Some(state)) if self.has(Flaw::LostIsOwn) => Ended::Own(state),
            answer => answer,
        })
    }

    /// Skips the check of sizes.
    async fn ended(&self, ending: &Ending) -> Result<Ended, ProviderError> {
        if ending.check().is_ok() {
            return Ok(self.inner.finish(std::slice::from_ref(ending)).await?[0]);
        }
        let small = Ending::new(ending.key, How::Complete(Value::Null));
        Ok(self.inner.finish(&[small]).await?[0])
    }

    /// Changes what an ending leaves.
    fn spoil_ended(&self, row: &mut Row, old: &Row, how: &How, answer: Ended) {
        row.new.max_attempts = old.new.max_attempts;
        let ended_now =
            old.held().is_some() && old.done.is_none() && matches!(answer, Ended::Own(_));
        if !ended_now {
            return;
        }
        match (self.flaw, how) {
            (Some(Flaw::FailureIsNotKept), _) => row.errors.clone_from(&old.errors),
            (Some(Flaw::ErrorsAreUncut), How::Discard { error } | How::Fail { error, .. }) => {
                if let Some(last) = row.errors.last_mut() {
                    last.error.clone_from(error);
                }
            }
            (Some(Flaw::ErrorsAreEndless), How::Fail { .. })
                if row.errors.len() == FailedAttempt::KEPT =>
            {
                row.errors.splice(..0, old.errors.first().cloned());
            }
            (Some(Flaw::GivenBackCounts), How::GiveBack)
            | (Some(Flaw::SnoozedCounts), How::Snooze(_)) => {
                row.attempt = old.attempt;
            }
            _ => {}
        }
    }

    pub(super) async fn keep(
        &self,
        key: &ClaimKey,
        number: u64,
        checkpoint: &Value,
    ) -> Result<Kept, ProviderError> {
        let id = key.id;
        match self.flaw {
            Some(Flaw::CheckpointOfAnyClaim) if limits::checkpoint(checkpoint).is_ok() => {
                let kept = self.edit(id, |row, _| row.checkpoint = Some(checkpoint.clone()));
                return Ok(kept.map_or(Kept::Lost(None), |()| Kept::Kept));
            }
            Some(Flaw::OlderCheckpointIsKept) => {
                self.edit(id, |row, _| row.checkpoints = 0);
            }
            Some(Flaw::CheckpointIsUnlimited) if checkpoint.to_string().len() > 4096 => {
                return Ok(Kept::Kept);
            }
            _ => {}
        }
        self.inner.checkpoint(key, number, checkpoint).await
    }

    /// The claim that is addressed instead, if one of these flaws names too little: the task alone, the task and the
    /// identity, or the task and the token.
    pub(super) fn key(
        &self,
        key: ClaimKey,
        [by_number, by_identity, by_token]: [Flaw; 3],
    ) -> ClaimKey {
        let Some(newest) = self.newest(key.id) else {
            return key;
        };
        let meant = self.has(by_number)
            || self.has(by_identity) && newest.uuid == key.uuid
            || self.has(by_token) && newest.token == key.token;
        if meant { newest } else { key }
    }
}

pub(super) fn set_asked(row: &mut Row, asked: bool) {
    if let Some(term) = &mut row.term {
        term.record.asked = asked;
    }
}

pub(super) fn set_released(row: &mut Row, released: bool) {
    if let Some(term) = &mut row.term {
        term.record.released = released;
    }
}
