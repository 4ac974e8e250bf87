//! The statement for each request, and the reading of its function's answer. Renewals come alone and in
//! batches.

use deadpool_postgres::tokio_postgres::{
    Row,
    types::{ToSql, Type},
};
use dlock_core::{
    FencingToken, Name, Provider, ProviderError, Record,
    provider::{Closing, Prefix, Release, ReleaseOutcome, Renew, RenewOutcome},
};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::{
    connections::{Caller, Parameters, bigint, millis},
    error,
    provider::PostgresProvider,
    record::{self, PLACE, VERDICT},
};

type Renewed = Result<RenewOutcome, ProviderError>;

impl PostgresProvider {
    /// Calls one of the functions for one lock; the lock's prefix and name come before the other
    /// parameters.
    pub(crate) async fn call<'a>(
        &'a self,
        caller: Caller,
        function: &str,
        name: &'a Name,
        others: &Parameters<'_>,
    ) -> Result<Answer<'a>, ProviderError> {
        self.prefix.check(name)?;
        let (prefix, text) = (self.prefix.as_str(), name.as_str());
        let mut parameters: Vec<(&(dyn ToSql + Sync), Type)> =
            vec![(&prefix, Type::TEXT), (&text, Type::TEXT)];
        parameters.extend_from_slice(others);
        let row = self
            .connections
            .query_one(caller, function, &parameters)
            .await?;
        Answer::new(row, &self.prefix, name)
    }

    /// Releases, and notifies the listeners if there is a hint and the term is marked (N3).
    pub(crate) async fn release_with(
        &self,
        Release { name, uuid, .. }: &Release,
        hint: Option<String>,
    ) -> Result<ReleaseOutcome, ProviderError> {
        let parameters: &Parameters<'_> = &[(uuid, Type::UUID), (&hint, Type::TEXT)];
        let function = &self.statements.release;
        let answer = self
            .call(Caller::Holder, function, name, parameters)
            .await?;
        match answer.verdict()? {
            "released" => record::wanted(&answer.row)
                .map(|mark| ReleaseOutcome::Released { wanted: mark != 0 })
                .map_err(|flaw| answer.bad_record(&flaw)),
            _ => answer.refusal("not held").map(ReleaseOutcome::NotHeld),
        }
    }

    /// Ends a term and leaves the name closed (B4). No waiter is notified: nothing is free.
    pub(crate) async fn close(
        &self,
        Release { name, uuid, .. }: &Release,
        closing: &Closing,
    ) -> Result<ReleaseOutcome, ProviderError> {
        let answer = self
            .call(
                Caller::Holder,
                &self.statements.close,
                name,
                &[
                    (uuid, Type::UUID),
                    (&closing.uuid(), Type::UUID),
                    (&millis(closing.lasts()), Type::INT8),
                ],
            )
            .await?;
        match answer.verdict()? {
            "closed" => Ok(ReleaseOutcome::Released { wanted: false }),
            _ => answer.refusal("not held").map(ReleaseOutcome::NotHeld),
        }
    }

    /// Renews all terms that can be renewed, in one statement; the answers are in the order of the
    /// requests.
    ///
    /// The statement is one transaction, so an error in one row undoes all of them: then each is
    /// renewed separately.
    pub(crate) async fn renew_all(&self, requests: &[Renew]) -> Vec<Renewed> {
        // A name that is too long for the prefix fails alone.
        let mut outcomes: Vec<Option<Renewed>> = requests
            .iter()
            .map(|request| self.prefix.check(&request.name).err().map(Err))
            .collect();
        let open: Vec<usize> = (0..requests.len())
            .filter(|&place| outcomes[place].is_none())
            .collect();
        let answers = match self.renew_together(requests, &open).await {
            Ok(answers) => answers,
            Err(error) if open.len() > 1 && error::of_one_row(&error) => {
                self.renew_apart(requests, &open).await
            }
            Err(error) => open
                .iter()
                .map(|&place| (place, Err(error.clone())))
                .collect(),
        };
        for (place, outcome) in answers {
            outcomes[place] = Some(outcome);
        }
        outcomes
            .into_iter()
            .map(|outcome| {
                outcome.unwrap_or_else(|| Err(error::bad_answer("no row for a renewal")))
            })
            .collect()
    }

    /// All of them in one statement.
    async fn renew_together(
        &self,
        requests: &[Renew],
        open: &[usize],
    ) -> Result<Vec<(usize, Renewed)>, ProviderError> {
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let asked = || open.iter().map(|&place| &requests[place]);
        let names: Vec<&str> = asked().map(|request| request.name.as_str()).collect();
        let uuids: Vec<Uuid> = asked().map(|request| request.uuid).collect();
        let numbers: Vec<i64> = asked().map(|request| bigint(request.n)).collect();
        let rows = self
            .connections
            .query(
                Caller::Holder,
                &self.statements.renew_many,
                &[
                    (&self.prefix.as_str(), Type::TEXT),
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
            let request = &requests[place];
            let outcome = Answer::new(row, &self.prefix, &request.name)
                .and_then(|answer| answer.renewal(request));
            answers.push((place, outcome));
        }
        Ok(answers)
    }

    /// Each separately, as many at once as the pool allows. Dropping this future stops them all.
    async fn renew_apart(&self, requests: &[Renew], open: &[usize]) -> Vec<(usize, Renewed)> {
        let mut renewals = JoinSet::new();
        for &place in open {
            let (provider, request) = (self.clone(), requests[place].clone());
            renewals.spawn(async move { (place, provider.renew(&request).await) });
        }
        let mut answers = Vec::with_capacity(open.len());
        while let Some(done) = renewals.join_next().await {
            // A renewal that did not end, because its runtime does, stays without an answer.
            answers.extend(done.ok());
        }
        answers
    }
}

/// One answer about one lock.
pub(crate) struct Answer<'a> {
    row: Row,
    prefix: &'a Prefix,
    name: &'a Name,
}

impl<'a> Answer<'a> {
    /// # Errors
    /// `Fatal` if the lock's row is no record, `Unknown` if the function ended without an answer.
    fn new(row: Row, prefix: &'a Prefix, name: &'a Name) -> Result<Self, ProviderError> {
        let answer = Self { row, prefix, name };
        match answer.verdict()? {
            "unsound" => Err(answer.unsound()),
            "open" => Err(error::overtaken()),
            _ => Ok(answer),
        }
    }

    /// The function's verdict; each file in `sql/` lists its own.
    pub(crate) fn verdict(&self) -> Result<&str, ProviderError> {
        record::value(&self.row, "verdict", VERDICT).map_err(|flaw| error::bad_answer(&flaw))
    }

    pub(crate) fn token(&self) -> Result<FencingToken, ProviderError> {
        record::token(&self.row).map_err(|flaw| self.bad_record(&flaw))
    }

    fn asked(&self) -> Result<bool, ProviderError> {
        record::asked(&self.row).map_err(|flaw| self.bad_record(&flaw))
    }

    pub(crate) fn record(&self) -> Result<Record, ProviderError> {
        record::of_lock(&self.row).map_err(|flaw| self.bad_record(&flaw))
    }

    /// The record that refused, which accompanies this verdict; `None` if there is no record.
    pub(crate) fn refusal(&self, verdict: &str) -> Result<Option<Record>, ProviderError> {
        match self.verdict()? {
            "absent" => Ok(None),
            other if other == verdict => self.record().map(Some),
            other => Err(error::bad_answer(other)),
        }
    }

    /// The outcome of a renewal.
    pub(crate) fn renewal(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        match self.verdict()? {
            "renewed" => Ok(RenewOutcome::Renewed {
                asked: self.asked()?,
            }),
            "locked" => Err(error::locked()),
            "unfit" => Err(request
                .check()
                .err()
                .unwrap_or_else(|| error::bad_answer("unfit"))),
            _ => self.refusal("lost").map(RenewOutcome::Lost),
        }
    }

    /// The database found the row unfit; this says what is wrong with it.
    fn unsound(&self) -> ProviderError {
        let flaw = record::of_lock(&self.row)
            .err()
            .unwrap_or_else(|| "the database finds it unsound".into());
        self.bad_record(&flaw)
    }

    fn bad_record(&self, flaw: &str) -> ProviderError {
        error::bad_record(self.prefix.as_str(), self.name.as_str(), flaw)
    }
}
