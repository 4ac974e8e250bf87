//! Administration: lists, revocations, polite requests, the clean-up of old records.

use async_trait::async_trait;
use deadpool_postgres::tokio_postgres::types::Type;
use dlock_core::{
    Name, ProviderError,
    provider::{Admin, Ask, AskOutcome, List, Page, Revoke, RevokeOutcome},
};

use crate::{
    connections::{Caller, bigint},
    error,
    provider::PostgresProvider,
    record::{self, Flaw, NAME},
};

#[async_trait]
impl Admin for PostgresProvider {
    async fn list(&self, request: &List) -> Result<Page, ProviderError> {
        let limit = request.limit.max(1);
        let prefix = self.prefix.as_str();
        let mut rows = self
            .connections
            .query(
                Caller::Other,
                &self.statements.list,
                &[
                    (&prefix, Type::TEXT),
                    (&request.prefix, Type::TEXT),
                    (&request.after.as_ref().map_or("", Name::as_str), Type::TEXT),
                    // One more than the limit shows whether there is another page.
                    (&rows_of(limit.saturating_add(1)), Type::INT8),
                ],
            )
            .await?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let mut records = Vec::with_capacity(rows.len());
        let mut unreadable = Vec::new();
        let mut last = None;
        for row in &rows {
            let text: &str =
                record::value(row, "name", NAME).map_err(|flaw| error::bad_answer(&flaw))?;
            let flawed = |flaw: Flaw| error::bad_record(prefix, text, &flaw);
            let name = Name::new(text).map_err(|error| flawed(error.to_string()))?;
            last = Some(name.clone());
            match record::of_lock(row) {
                Ok(record) => records.push((name, record)),
                Err(flaw) => unreadable.push((name, flawed(flaw).to_string())),
            }
        }
        Ok(Page::new(records, last.filter(|_| more)).with_unreadable(unreadable))
    }

    async fn revoke(&self, request: &Revoke) -> Result<RevokeOutcome, ProviderError> {
        let Revoke {
            name, version, new, ..
        } = request;
        let answer = self
            .call(
                Caller::Other,
                &self.statements.revoke,
                name,
                &[
                    (&version.uuid, Type::UUID),
                    (&bigint(version.renewals), Type::INT8),
                    (new, Type::UUID),
                ],
            )
            .await?;
        match answer.verdict()? {
            "revoked" => Ok(RevokeOutcome::Revoked),
            _ => answer.refusal("changed").map(RevokeOutcome::Changed),
        }
    }

    async fn ask(&self, request: &Ask) -> Result<AskOutcome, ProviderError> {
        let Ask { name, uuid, .. } = request;
        let (function, parameters) = (&self.statements.ask, [(uuid as _, Type::UUID)]);
        let answer = self
            .call(Caller::Other, function, name, &parameters)
            .await?;
        match answer.verdict()? {
            "asked" => Ok(AskOutcome::Asked),
            _ => answer.refusal("changed").map(AskOutcome::Changed),
        }
    }

    async fn purge(&self, limit: usize) -> Result<u64, ProviderError> {
        let row = self
            .connections
            .query_one(
                Caller::Other,
                &self.statements.purge,
                &[
                    (&self.prefix.as_str(), Type::TEXT),
                    (&rows_of(limit), Type::INT8),
                ],
            )
            .await?;
        let purged: i64 =
            record::value(&row, "count", 0).map_err(|flaw| error::bad_answer(&flaw))?;
        Ok(purged.unsigned_abs())
    }
}

fn rows_of(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
