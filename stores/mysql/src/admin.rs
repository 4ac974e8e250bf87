//! Administration: lists, revocations, polite requests, the clean-up of old records.

use async_trait::async_trait;
use dlock_core::{
    Name, ProviderError,
    provider::{Admin, Ask, AskOutcome, List, Page, Revoke, RevokeOutcome},
};

use crate::{
    connections::Caller,
    error,
    provider::MysqlProvider,
    record::{self, Flaw, NAME},
    requests::Call,
};

#[async_trait]
impl Admin for MysqlProvider {
    async fn list(&self, request: &List) -> Result<Page, ProviderError> {
        let limit = request.limit.max(1);
        let prefix = self.prefix.as_str();
        let after = request.after.as_ref().map_or("", Name::as_str);
        let statement = Call::new(&self.schema.list)
            .bytes(prefix.as_bytes())
            .bytes(request.prefix.as_bytes())
            .bytes(after.as_bytes())
            // One more than the limit shows whether there is another page.
            .number(limit.saturating_add(1))
            .statement();
        let mut rows = self.connections.query(Caller::Other, &statement).await?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let mut records = Vec::with_capacity(rows.len());
        let mut unreadable = Vec::new();
        let mut last = None;
        for row in &rows {
            let text = record::text(row, "name", NAME).map_err(|flaw| error::bad_answer(&flaw))?;
            let flawed = |flaw: Flaw| error::bad_record(prefix, text, &flaw);
            let name = Name::new(text).map_err(|error| flawed(error.to_string()))?;
            last = Some(name.clone());
            match record::read(row) {
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
            .call(Caller::Other, &self.schema.revoke, name, |call| {
                call.bytes(version.uuid.as_bytes())
                    .number(version.renewals)
                    .bytes(new.as_bytes())
            })
            .await?;
        match answer.verdict()? {
            "revoked" => Ok(RevokeOutcome::Revoked),
            _ => answer.refusal("changed").map(RevokeOutcome::Changed),
        }
    }

    async fn ask(&self, request: &Ask) -> Result<AskOutcome, ProviderError> {
        let Ask { name, uuid, .. } = request;
        let answer = self
            .call(Caller::Other, &self.schema.ask, name, |call| {
                call.bytes(uuid.as_bytes())
            })
            .await?;
        match answer.verdict()? {
            "asked" => Ok(AskOutcome::Asked),
            _ => answer.refusal("changed").map(AskOutcome::Changed),
        }
    }

    async fn purge(&self, limit: usize) -> Result<u64, ProviderError> {
        let statement = Call::new(&self.schema.purge)
            .bytes(self.prefix.as_str().as_bytes())
            .number(limit)
            .statement();
        let row = self
            .connections
            .query_one(Caller::Other, &statement)
            .await?;
        record::number(&row, "count", 0, 0..=u64::MAX).map_err(|flaw| error::bad_answer(&flaw))
    }
}
