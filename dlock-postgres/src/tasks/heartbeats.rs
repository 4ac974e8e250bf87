//! The claims of a queue as leases: heartbeats are renewals (R1 to R3), a release returns a task to the queue (L1 to
//! L3).

use std::{slice, sync::Arc};

use async_trait::async_trait;
use deadpool_postgres::tokio_postgres::{Row, types::Type};
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Discipline, Durability, Release, ReleaseOutcome,
        Renew, RenewOutcome, Sharing,
    },
};
use dlock_tasks::ClaimName;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::{requests::token, row::bad_task, schema::Statements};
use crate::{
    connections::{Caller, Connections, bigint},
    error,
    record::{self, PLACE, VERDICT},
};

type Renewed = Result<RenewOutcome, ProviderError>;

/// The claims of one queue.
#[derive(Clone)]
pub(super) struct Heartbeats {
    connections: Connections,
    statements: Arc<Statements>,
    sharing: Sharing,
}

/// A heartbeat, and its place in the request.
struct Heartbeat {
    place: usize,
    name: ClaimName,
    uuid: Uuid,
    n: u64,
}

impl Heartbeats {
    pub(super) fn new(connections: Connections, statements: Arc<Statements>) -> Self {
        Self {
            connections,
            statements,
            sharing: Sharing::default(),
        }
    }

    /// All of them in one statement.
    async fn renew_together(
        &self,
        beats: &[Heartbeat],
    ) -> Result<Vec<(usize, Renewed)>, ProviderError> {
        if beats.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<i64> = beats.iter().map(|beat| beat.name.id.get()).collect();
        let uuids: Vec<Uuid> = beats.iter().map(|beat| beat.uuid).collect();
        let tokens: Vec<i64> = beats.iter().map(|beat| token(beat.name.token)).collect();
        let numbers: Vec<i64> = beats.iter().map(|beat| bigint(beat.n)).collect();
        let rows = self
            .connections
            .query(
                Caller::Holder,
                &self.statements.renew,
                &[
                    (&ids, Type::INT8_ARRAY),
                    (&uuids, Type::UUID_ARRAY),
                    (&tokens, Type::INT8_ARRAY),
                    (&numbers, Type::INT8_ARRAY),
                ],
            )
            .await?;
        let answer = |row: Row| {
            let place: i64 = record::value(&row, "place", PLACE).ok()?;
            let beat = beats.get(usize::try_from(place).ok()?.checked_sub(1)?)?;
            Some((beat.place, renewed(&row, beat)))
        };
        let answers: Option<Vec<_>> = rows.into_iter().map(answer).collect();
        answers.ok_or_else(|| error::bad_answer("a heartbeat that was not asked for"))
    }

    /// Each separately, as many at once as the pool allows. Dropping this future stops them all.
    async fn renew_apart(&self, beats: Vec<Heartbeat>) -> Vec<(usize, Renewed)> {
        let mut renewals = JoinSet::new();
        for beat in beats {
            let own = self.clone();
            renewals.spawn(async move {
                let mut answers = own.renew_together(slice::from_ref(&beat)).await?;
                Ok(answers.pop())
            });
        }
        let mut answers = Vec::new();
        while let Some(done) = renewals.join_next().await {
            // A heartbeat that did not end, because its runtime does, stays without an answer.
            if let Ok(Ok(Some(answer))) = done.map(|answer: Result<_, ProviderError>| answer) {
                answers.push(answer);
            }
        }
        answers
    }
}

fn name(name: &Name) -> Result<ClaimName, ProviderError> {
    ClaimName::try_from(name).map_err(|error| ProviderError::fatal(error.to_string()))
}

/// The outcome in a row of `call_renew.sql`.
fn renewed(row: &Row, beat: &Heartbeat) -> Renewed {
    let id = beat.name.id.get();
    let bad = |flaw: String| bad_task(id, &flaw);
    let verdict: &str =
        record::value(row, "verdict", VERDICT).map_err(|flaw| error::bad_answer(&flaw))?;
    match verdict {
        "renewed" => {
            let asked = record::asked(row).map_err(bad)?;
            Ok(RenewOutcome::Renewed { asked })
        }
        "lost" => shown(row).map(RenewOutcome::Lost).map_err(bad),
        "absent" => Ok(RenewOutcome::Lost(None)),
        "locked" => Err(error::locked()),
        "unsound" => Err(bad(record::read(row)
            .err()
            .unwrap_or_else(|| "the database finds it unsound".into()))),
        other => Err(error::bad_answer(other)),
    }
}

/// The record in an answer, if the task has one.
fn shown(row: &Row) -> Result<Option<Record>, record::Flaw> {
    match record::optional::<Uuid>(row, "uuid", 0)? {
        Some(_) => record::read(row).map(Some),
        None => Ok(None),
    }
}

#[async_trait]
impl Provider for Heartbeats {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new("postgres", Discipline::StoreClock)
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
        // A name that is no claim's fails alone.
        let (mut outcomes, mut beats) = (Vec::new(), Vec::new());
        for (place, request) in requests.iter().enumerate() {
            let checked = request.check().and_then(|()| name(&request.name));
            outcomes.push(match checked {
                Ok(name) => {
                    let (uuid, n) = (request.uuid, request.n);
                    beats.push(Heartbeat {
                        place,
                        name,
                        uuid,
                        n,
                    });
                    Err(error::bad_answer("no row for a heartbeat"))
                }
                Err(error) => Err(error),
            });
        }
        let answers = match self.renew_together(&beats).await {
            Ok(answers) => answers,
            Err(error) if beats.len() > 1 && error::of_one_row(&error) => {
                self.renew_apart(beats).await
            }
            Err(error) => beats
                .iter()
                .map(|beat| (beat.place, Err(error.clone())))
                .collect(),
        };
        for (place, outcome) in answers {
            outcomes[place] = outcome;
        }
        outcomes
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        if request.closing.is_some() {
            return Err(ProviderError::fatal(
                "a task is not closed: complete it, or snooze it",
            ));
        }
        let name = name(&request.name)?;
        let row = self
            .connections
            .query_one(
                Caller::Holder,
                &self.statements.release,
                &[
                    (&name.id.get(), Type::INT8),
                    (&request.uuid, Type::UUID),
                    (&token(name.token), Type::INT8),
                ],
            )
            .await?;
        let own = record::value(&row, "own", VERDICT).map_err(|flaw| error::bad_answer(&flaw))?;
        if own {
            return Ok(ReleaseOutcome::Released { wanted: false });
        }
        let record = shown(&row).map_err(|flaw| bad_task(name.id.get(), &flaw))?;
        Ok(ReleaseOutcome::NotHeld(record))
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let name = self::name(name)?;
        let rows = self
            .connections
            .query(
                Caller::Other,
                &self.statements.read,
                &[
                    (&name.id.get(), Type::INT8),
                    (&token(name.token), Type::INT8),
                ],
            )
            .await?;
        let record = rows.first().map(record::read).transpose();
        record.map_err(|flaw| bad_task(name.id.get(), &flaw))
    }

    fn sharing(&self) -> Option<&Sharing> {
        Some(&self.sharing)
    }
}
