//! Administration of the whole file: pages of records, revocations, polite requests, the clean-up
//! of old records.

use async_trait::async_trait;
use dlock_core::{
    Name, ProviderError,
    provider::{Admin, Ask, AskOutcome, List, Page, Prefix, Revoke, RevokeOutcome},
};
use rusqlite::types::ValueRef;

use crate::{
    boot_id::BootId,
    provider::SqliteProvider,
    record::{self, Flaw, MAX_EXACT},
    requests,
    store::{Failure, Store, View},
    worker::Caller,
};

/// How long a record is kept after its lease has ended (T5): 7 days in nanoseconds.
const KEPT: i64 = 7 * 24 * 60 * 60 * 1_000_000_000;

#[async_trait]
impl Admin for SqliteProvider {
    async fn list(&self, request: &List) -> Result<Page, ProviderError> {
        let (prefix, request) = (self.prefix.clone(), request.clone());
        self.look(move |view| list(view, &prefix, &request)).await
    }

    async fn revoke(&self, request: &Revoke) -> Result<RevokeOutcome, ProviderError> {
        self.write(Caller::Other, &request.name, request, requests::revoke)
            .await
    }

    async fn ask(&self, request: &Ask) -> Result<AskOutcome, ProviderError> {
        self.write(Caller::Other, &request.name, request, requests::ask)
            .await
    }

    async fn purge(&self, limit: usize) -> Result<u64, ProviderError> {
        let prefix = self.prefix.clone();
        let purge =
            move |store: &mut Store| store.write(|_| None, |view| purge(view, &prefix, limit));
        self.call(Caller::Other, purge).await
    }
}

/// One page, of one state of the file. A page ends with a name after which the next one can begin,
/// so rows with an invalid name are added beyond the `limit`.
pub(crate) fn list(view: View<'_>, prefix: &Prefix, request: &List) -> Result<Page, Failure> {
    let prefix = prefix.as_str();
    let after = request.after.as_ref().map_or("", Name::as_str);
    let limit = request.limit.max(1);
    let mut records: Vec<(Name, _)> = Vec::new();
    let mut unreadable = Vec::new();
    let mut names = 0;
    let mut last = None;
    let mut more = false;
    view.walk(
        include_str!("sql/list.sql"),
        (prefix, request.prefix.as_str(), after),
        |row| {
            let column = row.get_ref(12)?;
            let bytes = column.as_bytes().unwrap_or_default();
            if !bytes.starts_with(request.prefix.as_bytes()) {
                return Ok(false);
            }
            if names == limit {
                more = true;
                return Ok(false);
            }
            let name = match name(column) {
                Ok(name) => name,
                Err(flaw) => {
                    let name = resembling(bytes);
                    let why = view.bad_record(prefix, name.as_str(), &flaw);
                    unreadable.push((name, why.to_string()));
                    return Ok(true);
                }
            };
            names += 1;
            last = Some(name.clone());
            // The state was fixed before this row was read, so the time is not before it.
            match view.read(row, prefix, name.as_str(), view.clock().now()) {
                Ok(record) => records.push((name, record)),
                Err(Failure::Answer(flaw)) => unreadable.push((name, flaw.to_string())),
                Err(failure) => return Err(failure),
            }
            Ok(true)
        },
    )?;
    Ok(Page::new(records, last.filter(|_| more)).with_unreadable(unreadable))
}

/// The name of a row.
fn name(column: ValueRef<'_>) -> Result<Name, Flaw> {
    let text = record::text("name", column, Name::MAX_BYTES)?;
    Name::new(text).map_err(|error| error.to_string())
}

/// The displayed name of a row whose name is invalid: as many of its bytes as a name can have, and
/// the replacement character for bytes that no name has.
#[expect(
    clippy::expect_used,
    reason = "it is cut, not empty, and no NUL is left"
)]
fn resembling(bytes: &[u8]) -> Name {
    let bytes = &bytes[..bytes.len().min(Name::MAX_BYTES)];
    let mut text = String::from_utf8_lossy(bytes).replace('\0', "\u{FFFD}");
    text.truncate(text.floor_char_boundary(Name::MAX_BYTES));
    if text.is_empty() {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    Name::new(text).expect("1 to 1024 bytes without NUL")
}

/// Deletes records that ended 7 days ago and whose token the clock has passed (T5).
pub(crate) fn purge(view: View<'_>, prefix: &Prefix, limit: usize) -> Result<u64, Failure> {
    let now = view.clock().now();
    let ended = now.instant.saturating_sub(KEPT);
    let boot = view.clock().boot();
    // A lease of an earlier boot ended before this one began, at 0 of this clock. Nothing is known
    // of a strange clock.
    let earlier_boots = ended >= 0 && matches!(boot, BootId::Kernel(_));
    let deleted = view.delete(
        include_str!("sql/purge.sql"),
        rusqlite::params![
            prefix.as_str(),
            i64::try_from(now.unix_micros).unwrap_or(MAX_EXACT),
            boot.to_string(),
            ended,
            earlier_boots,
            i64::try_from(limit).unwrap_or(i64::MAX),
        ],
    )?;
    Ok(deleted as u64)
}
