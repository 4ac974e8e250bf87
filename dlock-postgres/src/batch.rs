//! Many renewals in one statement.

use deadpool_postgres::tokio_postgres::types::Type;
use dlock_core::{Prefix, Provider, ProviderError, Renew, RenewOutcome};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::{
    answers::Answer,
    connections::{Caller, Connections, bigint},
    error,
    record::{self, PLACE},
    schema::Statements,
};

type Outcome = Result<RenewOutcome, ProviderError>;

/// Where the locks are.
#[derive(Clone, Copy)]
pub(crate) struct Table<'a> {
    pub(crate) connections: &'a Connections,
    pub(crate) statements: &'a Statements,
    pub(crate) prefix: &'a Prefix,
}

/// Renews what can be renewed, in one statement; the answers are in the order of the requests.
///
/// The statement is one transaction, so an error in one row undoes all of them: then each is
/// renewed by itself, by the provider.
pub(crate) async fn renew_many(
    provider: &(impl Provider + Clone),
    table: Table<'_>,
    requests: &[Renew],
) -> Vec<Outcome> {
    // A name that is too long for the prefix fails alone.
    let mut outcomes: Vec<Option<Outcome>> = requests
        .iter()
        .map(|request| table.prefix.check(&request.name).err().map(Err))
        .collect();
    let open: Vec<usize> = (0..requests.len())
        .filter(|&place| outcomes[place].is_none())
        .collect();
    if !open.is_empty() {
        match together(table, requests, &open).await {
            Ok(answers) => {
                for (place, outcome) in answers {
                    outcomes[place] = Some(outcome);
                }
            }
            Err(error) if open.len() > 1 && error::of_one_row(&error) => {
                for (place, outcome) in apart(provider, requests, &open).await {
                    outcomes[place] = Some(outcome);
                }
            }
            Err(error) => {
                for place in open {
                    outcomes[place] = Some(Err(error.clone()));
                }
            }
        }
    }
    outcomes
        .into_iter()
        .map(|outcome| outcome.unwrap_or_else(|| Err(error::bad_answer("no row for a renewal"))))
        .collect()
}

/// All of them in one statement.
async fn together(
    Table {
        connections,
        statements,
        prefix,
    }: Table<'_>,
    requests: &[Renew],
    open: &[usize],
) -> Result<Vec<(usize, Outcome)>, ProviderError> {
    let asked = || open.iter().map(|&place| &requests[place]);
    let names: Vec<&str> = asked().map(|request| request.name.as_str()).collect();
    let uuids: Vec<Uuid> = asked().map(|request| request.uuid).collect();
    let numbers: Vec<i64> = asked().map(|request| bigint(request.n)).collect();
    let rows = connections
        .query(
            Caller::Holder,
            &statements.renew_many,
            &[
                (&prefix.as_str(), Type::TEXT),
                (&names, Type::TEXT_ARRAY),
                (&uuids, Type::UUID_ARRAY),
                (&numbers, Type::INT8_ARRAY),
            ],
        )
        .await?;
    let mut answers = Vec::with_capacity(rows.len());
    for row in rows {
        let place = record::value::<i64>(&row, "place", PLACE)
            .ok()
            .and_then(|place| usize::try_from(place).ok()?.checked_sub(1))
            .and_then(|place| open.get(place).copied())
            .ok_or_else(|| error::bad_answer("a renewal that was not asked for"))?;
        let outcome =
            Answer::new(row, prefix, &requests[place].name).and_then(|answer| answer.renewal());
        answers.push((place, outcome));
    }
    Ok(answers)
}

/// Each by itself, as many at once as the pool allows. Dropping this future stops them all.
async fn apart(
    provider: &(impl Provider + Clone),
    requests: &[Renew],
    open: &[usize],
) -> Vec<(usize, Outcome)> {
    let mut renewals = JoinSet::new();
    for &place in open {
        let (provider, request) = (provider.clone(), requests[place].clone());
        renewals.spawn(async move { (place, provider.renew(&request).await) });
    }
    let mut answers = Vec::with_capacity(open.len());
    while let Some(done) = renewals.join_next().await {
        // One that did not end, because its runtime does, stays without an answer.
        answers.extend(done.ok());
    }
    answers
}
