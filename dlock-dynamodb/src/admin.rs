//! Administration: pages of records, revocations, polite requests, the clean-up of old records.

use std::{collections::BTreeMap, time::UNIX_EPOCH};

use async_trait::async_trait;
use aws_sdk_dynamodb::{operation::delete_item::DeleteItemError, types::AttributeValue};
use dlock_core::{
    Name, ProviderError, Record,
    provider::{Admin, Ask, AskOutcome, List, Page, Revoke, RevokeOutcome},
};

use crate::{
    key::Keys,
    provider::DynamodbProvider,
    record::Item,
    requests::{
        self,
        expression::{text, whole},
    },
    store::Store,
    walk::{Filter, Walk},
};

/// How long a released record is kept after its lease could have ended (T5): 7 days in
/// microseconds.
const KEPT: u64 = 7 * 24 * 60 * 60 * 1_000_000;

#[async_trait]
impl Admin for DynamodbProvider {
    /// With a sort key this is one query. Without one DynamoDB keeps no order, so every page is a
    /// scan of the whole table.
    async fn list(&self, request: &List) -> Result<Page, ProviderError> {
        list(&self.store, &self.keys, request).await
    }

    async fn revoke(&self, request: &Revoke) -> Result<RevokeOutcome, ProviderError> {
        requests::revoke(&self.store, &self.keys.key(&request.name)?, request).await
    }

    async fn ask(&self, request: &Ask) -> Result<AskOutcome, ProviderError> {
        requests::ask_holder(&self.store, &self.keys.key(&request.name)?, request).await
    }

    /// Deletes records that were **released** and whose term began more than 7 days and its lease
    /// ago. A record that was never released has no expiry: a process may still be renewing it, and
    /// no clock can tell. To delete such a record, acquire the lock and release it first.
    ///
    /// Two clocks have to agree that the time has passed: this machine's, and the one in DynamoDB's
    /// replies. And a token must lie 7 days below both, so that the next first token is above it
    /// even if a clock that is days behind seeds it.
    ///
    /// Scans the table (or queries the prefix where there is a sort key).
    async fn purge(&self, limit: usize) -> Result<u64, ProviderError> {
        purge(&self.store, &self.keys, limit).await
    }
}

/// One page, in byte order of the names.
async fn list(store: &Store, keys: &Keys, request: &List) -> Result<Page, ProviderError> {
    let limit = request.limit.max(1);
    // One more than the page has, to learn whether there is another page.
    let mut found: BTreeMap<Name, Item> = BTreeMap::new();
    let mut walk = Walk::new(store, keys, Filter::Records, &request.prefix);
    if let Some(after) = &request.after {
        walk.skip_to(after);
    }
    while let Some(items) = walk.next().await? {
        for item in items {
            let Some(name) = keys.name(&item) else {
                continue;
            };
            if request.after.as_ref().is_some_and(|after| name <= *after) {
                continue;
            }
            found.insert(name, item);
            if found.len() > limit + 1 {
                found.pop_last();
            }
        }
        if walk.ordered() && found.len() > limit {
            break;
        }
    }
    let mut records = Vec::with_capacity(found.len().min(limit));
    let mut unreadable = Vec::new();
    let mut last = None;
    let more = found.len() > limit;
    for (name, item) in found.into_iter().take(limit) {
        last = Some(name.clone());
        match store.record(&item, &keys.key(&name)?.text) {
            Ok(record) => records.push((name, record)),
            Err(flaw) => unreadable.push((name, flaw.to_string())),
        }
    }
    Ok(Page::new(records, last.filter(|_| more)).with_unreadable(unreadable))
}

async fn purge(store: &Store, keys: &Keys, limit: usize) -> Result<u64, ProviderError> {
    let mut purged = 0;
    let mut left = limit;
    let mut walk = Walk::new(store, keys, Filter::Released, "");
    while left > 0 {
        let Some(items) = walk.next().await? else {
            break;
        };
        // T5's "store's now", and ours: a clock that is ahead cannot cause a deletion alone.
        let here = store.wall.seed().unwrap_or(0);
        let there = walk.date().map_or(u64::MAX, |seconds| seconds * 1_000_000);
        let now = here.min(there);
        for item in items {
            let Some(name) = keys.name(&item) else {
                continue;
            };
            let key = keys.key(&name)?;
            let record = store.record(&item, &key.text)?;
            if left > 0 && is_past(&record, now) && delete(store, keys, &name, &record).await? {
                purged += 1;
                left -= 1;
            }
        }
    }
    Ok(purged)
}

/// Whether a record may be purged: the lock is free, its lease would have been over for 7 days even
/// if it had never been released, and its token is as far behind the clock.
fn is_past(record: &Record, now: u64) -> bool {
    let ended = record
        .since
        .duration_since(UNIX_EPOCH)
        .map(|since| since.saturating_add(record.duration))
        .ok()
        .and_then(|ended| u64::try_from(ended.as_micros()).ok());
    let before = now.saturating_sub(KEPT);
    record.released && ended.is_some_and(|ended| ended < before) && record.token.get() < before
}

/// Deletes a record if it is still of this released term; returns whether it was.
async fn delete(
    store: &Store,
    keys: &Keys,
    name: &Name,
    record: &Record,
) -> Result<bool, ProviderError> {
    let request = store
        .client
        .delete_item()
        .table_name(&store.table)
        .set_key(Some(keys.key(name)?.attributes()))
        .condition_expression("#u = :u AND #r = :true AND #t = :t")
        .expression_attribute_names("#u", "uuid")
        .expression_attribute_names("#r", "released")
        .expression_attribute_names("#t", "token")
        .expression_attribute_values(":u", text(&record.uuid))
        .expression_attribute_values(":true", AttributeValue::Bool(true))
        .expression_attribute_values(":t", whole(record.token.get()));
    let sent = request
        .customize()
        .config_override(store.calls.repeated())
        .send()
        .await;
    match sent {
        Ok(_) => Ok(true),
        Err(error)
            if error
                .as_service_error()
                .is_some_and(DeleteItemError::is_conditional_check_failed_exception) =>
        {
            Ok(false)
        }
        Err(error) => Err(store.error(error)),
    }
}
