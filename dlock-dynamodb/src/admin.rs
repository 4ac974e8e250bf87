//! What people and tools ask of the whole table: pages of records, and the clean-up of old ones.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::{operation::delete_item::DeleteItemError, types::AttributeValue};
use dlock_core::{List, Name, Page, ProviderError, Record};

use crate::{
    expression::{text, whole},
    key::Keys,
    record::Item,
    store::Store,
    walk::{Filter, Walk},
};

/// A released record is kept so long after its lease could have ended (T5): 7 days in microseconds.
const KEPT: u64 = 7 * 24 * 60 * 60 * 1_000_000;

/// One page, in byte order of the names.
pub(crate) async fn list(
    store: &Store,
    keys: &Keys,
    request: &List,
) -> Result<Page, ProviderError> {
    let limit = request.limit.max(1);
    // One more than the page has, so that it is known whether there is another.
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

/// Deletes released records, see [`Admin::purge`](dlock_core::Admin::purge) of the provider.
pub(crate) async fn purge(store: &Store, keys: &Keys, limit: usize) -> Result<u64, ProviderError> {
    let mut purged = 0;
    let mut left = limit;
    let mut walk = Walk::new(store, keys, Filter::Released, "");
    while left > 0 {
        let Some(items) = walk.next().await? else {
            break;
        };
        // T5's "store's now", and ours: a clock that is ahead deletes nothing alone.
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

/// Whether a record may be purged: nobody holds it, its lease would have been over for 7 days even
/// if it had never been released, and its token is as far behind the clock.
fn is_past(record: &Record, now: u64) -> bool {
    let ended = record
        .since
        .duration_since(std::time::UNIX_EPOCH)
        .map(|since| since.saturating_add(record.duration))
        .ok()
        .and_then(|ended| u64::try_from(ended.as_micros()).ok());
    let before = now.saturating_sub(KEPT);
    record.released && ended.is_some_and(|ended| ended < before) && record.token.get() < before
}

/// Deletes a record if it still is of this released term; whether it was.
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
