//! Wrong decisions about claims as leases.

use std::time::Duration;

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Release, ReleaseOutcome, Renew, RenewOutcome,
    },
};
use dlock_tasks::{ClaimKey, ClaimName, State, TaskStore};

use super::{
    TaskFlaw as Flaw,
    ending::{set_asked, set_released},
    store::PlantedTasks,
};

/// The claims of a store with a flaw.
pub(super) struct PlantedBeats(pub(super) PlantedTasks);

fn key(name: &Name, uuid: uuid::Uuid) -> Result<ClaimKey, ProviderError> {
    let name =
        ClaimName::try_from(name).map_err(|error| ProviderError::fatal(error.to_string()))?;
    Ok(ClaimKey::new(name.id, uuid, name.token))
}

fn name(key: ClaimKey) -> Result<Name, ProviderError> {
    Name::new(key.name().to_string()).map_err(|error| ProviderError::fatal(error.to_string()))
}

#[async_trait]
impl Provider for PlantedBeats {
    fn capabilities(&self) -> Capabilities {
        self.0.inner.claims().capabilities()
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        if self.0.has(Flaw::ClaimIsAcquired) {
            let token = key(&request.name, request.new)?.token;
            return Ok(AcquireOutcome::Acquired(token.into()));
        }
        self.0.inner.claims().acquire(request).await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        let own = &self.0;
        own.hint_beat();
        let mut request = request.clone();
        let key = key(&request.name, request.uuid)?;
        // There is no flaw of the token alone: the token is the name.
        let meant = own.key(
            key,
            [
                Flaw::BeatOfAnyClaim,
                Flaw::BeatByIdentity,
                Flaw::BeatOfAnyClaim,
            ],
        );
        (request.name, request.uuid) = (name(meant)?, meant.uuid);
        let before = own.rows().remove(&key.id);
        let renewals = before
            .as_ref()
            .and_then(|row| row.term.as_ref())
            .map(|term| term.record.renewals);
        match own.flaw {
            Some(Flaw::BeatRevives) => {
                own.edit(key.id, |row, now| {
                    if row.state(now) == State::Stalled
                        && let Some(term) = &mut row.term
                    {
                        term.expiry = now + Duration::from_micros(1);
                    }
                });
            }
            Some(Flaw::OlderBeatExtends) => {
                own.edit(key.id, |row, _| {
                    if let Some(term) = &mut row.term {
                        term.record.renewals = 0;
                    }
                });
            }
            Some(Flaw::RepeatedBeatIsLost) if renewals == Some(request.n) => {
                return Ok(RenewOutcome::Lost(None));
            }
            _ => {}
        }
        let outcome = own.inner.claims().renew(&request).await?;
        own.edit(key.id, |row, _| match own.flaw {
            Some(Flaw::BeatTakesRequestBack) => set_asked(row, false),
            Some(Flaw::BeatDoesNotExtend) => {
                let old = before.and_then(|old| old.term);
                if let (Some(term), Some(old)) = (&mut row.term, old) {
                    term.expiry = old.expiry;
                }
            }
            _ => {}
        });
        Ok(match outcome {
            RenewOutcome::Renewed { .. } if own.has(Flaw::BeatDoesNotTell) => {
                RenewOutcome::Renewed { asked: false }
            }
            outcome => outcome,
        })
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        let mut outcomes = Vec::new();
        for request in requests {
            let lost = outcomes
                .iter()
                .find(|answer| matches!(answer, Ok(RenewOutcome::Lost(_))));
            outcomes.push(match lost {
                Some(lost) if self.0.has(Flaw::BeatsEndAtALoss) => lost.clone(),
                _ => self.renew(request).await,
            });
        }
        if self.0.has(Flaw::BeatsAreReversed) {
            outcomes.reverse();
        }
        outcomes
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        let own = &self.0;
        let mut request = request.clone();
        let key = key(&request.name, request.uuid)?;
        let before = own.rows().remove(&key.id);
        let attempt = before.as_ref().map_or(0, |row| row.attempt);
        match own.flaw {
            Some(Flaw::ReleaseOfAnyClaim) => {
                if let Some(meant) = own.newest(key.id) {
                    (request.name, request.uuid) = (name(meant)?, meant.uuid);
                }
            }
            Some(Flaw::RepeatedReleaseIsRefused)
                if before.is_some_and(|row| row.held().is_none()) =>
            {
                return Ok(ReleaseOutcome::NotHeld(None));
            }
            Some(Flaw::ReleaseOfAskedGivesBack) => {
                own.edit(key.id, |row, _| set_asked(row, false));
            }
            _ => {}
        }
        let outcome = own.inner.claims().release(&request).await?;
        if own.has(Flaw::ReleaseCounts) && outcome.is_released() {
            own.edit(key.id, |row, _| row.attempt = attempt);
        }
        if own.has(Flaw::ReleaseOfAnyClaim) {
            own.edit(key.id, |row, _| set_released(row, true));
        }
        Ok(match outcome {
            ReleaseOutcome::NotHeld(_) if own.has(Flaw::ReleaseShowsNothing) => {
                ReleaseOutcome::NotHeld(None)
            }
            outcome => outcome,
        })
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let mut name = name.clone();
        if self.0.has(Flaw::RecordOfAnyClaim)
            && let Some(newest) = self.0.newest(key(&name, uuid::Uuid::nil())?.id)
        {
            name = self::name(newest)?;
        }
        self.0.inner.claims().read(&name).await
    }
}
