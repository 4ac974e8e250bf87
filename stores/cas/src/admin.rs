//! Operations for people and tools: pages of records, revocations, polite requests, the clean-up of old records.

use std::time::UNIX_EPOCH;

use async_trait::async_trait;
use dlock_core::{
    ProviderError, Record,
    provider::{Admin, Ask, AskOutcome, List, Page, Revoke, RevokeOutcome},
};

use crate::{
    clock::Wall,
    provider::CasProvider,
    record, rules,
    store::{CasAdmin, Entry},
};

/// How long a released record is kept after its lease could have ended (T5): 7 days in microseconds.
const KEPT: u64 = 7 * 24 * 60 * 60 * 1_000_000;

/// How many records a purge reads at a time.
const PAGE: usize = 100;

#[async_trait]
impl<S: CasAdmin> Admin for CasProvider<S> {
    async fn list(&self, request: &List) -> Result<Page, ProviderError> {
        let limit = request.limit.max(1);
        let start = self.keys.stored(&request.prefix);
        let after = request.after.as_ref();
        let after = after.map(|name| self.keys.stored(name.as_str()));
        // Starting before all of them skips none.
        let mut after = after.filter(|after| *after > start);
        let mut page = Page::default();
        let mut last = None;
        // One more than the page has, which shows whether there is another.
        let mut left = limit + 1;
        loop {
            let found = self.store().list(&start, after.as_deref(), left).await?;
            let more = found.len() >= left;
            for (key, Entry { bytes, .. }) in found {
                // A key without a name of ours belongs to another program.
                if let Some(name) = self.keys.name(&key) {
                    left -= 1;
                    if left == 0 {
                        page.next = last;
                        return Ok(page);
                    }
                    last = Some(name.clone());
                    match record::read(&bytes) {
                        Ok(record) => page.records.push((name, record)),
                        Err(flaw) => page.unreadable.push((name, flaw)),
                    }
                }
                after = Some(key);
            }
            if !more {
                return Ok(page);
            }
        }
    }

    async fn revoke(&self, request: &Revoke) -> Result<RevokeOutcome, ProviderError> {
        let key = self.keys.key(&request.name)?;
        let rule = |found: Option<&Record>, _| rules::revoke(request, found);
        self.records.decide(&key, rule).await
    }

    async fn ask(&self, request: &Ask) -> Result<AskOutcome, ProviderError> {
        let key = self.keys.key(&request.name)?;
        let rule = |found: Option<&Record>, _| rules::ask(request, found);
        self.records.decide(&key, rule).await
    }

    /// Deletes records that were **released** and whose term began more than 7 days and its lease ago, by this
    /// machine's clock. An unreleased record may be held by a process that renews it, and no clock can show that; to be
    /// rid of it, acquire the lock and release it. A clock that is not between 2024 and 2100 deletes nothing.
    ///
    /// Reads every record of the prefix.
    async fn purge(&self, limit: usize) -> Result<u64, ProviderError> {
        let now = Wall::now().sane().unwrap_or(0);
        let start = self.keys.stored("");
        let mut after: Option<String> = None;
        let mut purged: u64 = 0;
        let mut left = limit;
        loop {
            let found = self.store().list(&start, after.as_deref(), PAGE).await?;
            let more = found.len() >= PAGE;
            for (key, Entry { bytes, version }) in found {
                if left == 0 {
                    return Ok(purged);
                }
                let is_past = record::read(&bytes).is_ok_and(|record| is_past(&record, now));
                if is_past && self.store().delete_if(&key, &version).await? {
                    purged += 1;
                    left -= 1;
                }
                after = Some(key);
            }
            if !more {
                return Ok(purged);
            }
        }
    }
}

/// Whether a record may be purged: the lock is free, its lease would have ended 7 days ago even if it had never been
/// released, and its token is as far behind the clock.
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dlock_core::FencingToken;
    use uuid::Uuid;

    use super::*;

    const DAY: u64 = 24 * 60 * 60 * 1_000_000;

    #[test]
    fn only_what_was_released_and_is_a_week_past_is_purged() {
        let began = 1_800_000_000_000_000;
        let lease = Duration::from_hours(24);
        let since = UNIX_EPOCH + Duration::from_micros(began);
        let of = |token| {
            let token = FencingToken::new(token).unwrap();
            let mut record = Record::new(Uuid::nil(), "", since, token, lease);
            record.released = true;
            record
        };
        let released = of(began);
        assert!(!is_past(&released, began + 8 * DAY));
        assert!(is_past(&released, began + 8 * DAY + 1));
        assert!(!is_past(&of(began + 3 * DAY), began + 9 * DAY));
        assert!(!is_past(&released, 0));
        let mut held = released;
        held.released = false;
        assert!(!is_past(&held, began + 100 * DAY));
    }
}
