//! The rules of the lease protocol on one record: what each request writes and answers. The caller
//! brings a view of the file that no other connection writes to meanwhile, and is responsible for
//! waiting, committing and threads.

use std::{slice, time::Duration};

use crate::{
    clock::{Now, StoreClock},
    key::Key,
    record::MAX_EXACT,
    store::{Failure, Store, View},
};
use dlock_core::{
    ErrorKind, FencingToken, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Ask, AskOutcome, Closing, Release, ReleaseOutcome, Renew,
        RenewOutcome, Revoke, RevokeOutcome, Tokens,
    },
};

/// A mark waits for the file as long as a call about such a lease would: 5 ms.
const MARKING: Duration = Duration::from_millis(40);

/// A1 to A7. A refused attempt takes no lock: one read shows a record that is held, and the clock
/// that is read after it shows that it was not expired then either. Every other outcome is decided
/// again under the write lock, including a mark, which is left out if the file is busy or full
/// (N1).
pub(crate) fn acquire(
    store: &mut Store,
    key: &Key,
    request: &Acquire,
) -> Result<AcquireOutcome, ProviderError> {
    request.check()?;
    let refused = match store.read(|view| decide(view, key, request))? {
        Decision::Answer(held @ AcquireOutcome::Held(_)) => return Ok(held),
        Decision::Mark(record) => Some(record),
        Decision::Answer(_) | Decision::Take { .. } => None,
    };
    let lease = refused.as_ref().map_or(request.duration, |_| MARKING);
    let written = store.write(
        |_| Some(lease),
        |view| match decide(view, key, request)? {
            Decision::Answer(outcome) => Ok(outcome),
            Decision::Mark(mut record) => {
                let parameters = (key.prefix(), key.name(), request.marks);
                view.change(include_str!("sql/mark.sql"), parameters)?;
                record.wanted = request.marks;
                Ok(AcquireOutcome::Held(record))
            }
            Decision::Take { last, wanted, now } => {
                take(view, key, request, last, wanted, now).map(AcquireOutcome::Acquired)
            }
        },
    );
    match (written, refused) {
        (Err(error), Some(record)) if error.kind() == ErrorKind::NotApplied => {
            Ok(AcquireOutcome::Held(record))
        }
        (written, _) => written,
    }
}

enum Decision {
    Answer(AcquireOutcome),
    /// A7, for a record without a mark yet.
    Mark(Record),
    /// `last`: the token of the record, if there is one; `wanted`: the mark that stays (N2).
    Take {
        last: Option<FencingToken>,
        wanted: u32,
        now: Now,
    },
}

/// The first rule that applies.
fn decide(view: View<'_>, key: &Key, request: &Acquire) -> Result<Decision, Failure> {
    let (record, now) = view.record(key)?;
    let Some(record) = record else {
        return Ok(Decision::Take {
            last: None,
            wanted: 0,
            now,
        }); // A1
    };
    let over = record.released || expired(&record);
    let ours = record.uuid == request.new;
    if ours && !over {
        return Ok(Decision::Answer(AcquireOutcome::Acquired(
            record.token.into(),
        ))); // A2
    }
    if ours {
        return Ok(Decision::Answer(AcquireOutcome::Spent)); // A3
    }
    if over || request.prev == Some(record.version()) {
        return Ok(Decision::Take {
            last: Some(record.token),
            wanted: if over { 0 } else { record.wanted },
            now,
        }); // A4, A5, A6
    }
    if request.marks != 0 && record.wanted == 0 {
        return Ok(Decision::Mark(record));
    }
    Ok(Decision::Answer(AcquireOutcome::Held(record))) // A7
}

/// Whether the store's clock had reached the expiry of a record that is held.
fn expired(record: &Record) -> bool {
    record.remaining == Some(Duration::ZERO)
}

/// Writes every field of the record.
fn take(
    view: View<'_>,
    key: &Key,
    request: &Acquire,
    last: Option<FencingToken>,
    wanted: u32,
    now: Now,
) -> Result<Tokens, Failure> {
    // T1, T2: above the ceiling nothing is written.
    let tokens = request.mint(last, now.unix_micros).ok_or_else(|| {
        Failure::Answer(ProviderError::fatal(format!(
            "the next fencing token of lock {:?} would be above {}, where tokens end: \
             set this machine's clock, or use another name",
            key.name(),
            FencingToken::MAX
        )))
    })?;
    view.change(
        include_str!("sql/take.sql"),
        rusqlite::params![
            key.prefix(),
            key.name(),
            request.new.to_string(),
            request.owner,
            integer(now.unix_micros),
            integer(tokens.last().get()),
            integer(millis(request.duration)),
            request.data,
            view.clock().boot().to_string(),
            StoreClock::expiry(now, request.duration),
            wanted,
        ],
    )?;
    Ok(tokens)
}

/// R1 to R3.
pub(crate) fn renew(view: View<'_>, key: &Key, request: &Renew) -> Result<RenewOutcome, Failure> {
    let Renew { uuid, n, .. } = *request;
    request.check().map_err(Failure::Answer)?;
    let (record, now) = view.record(key)?;
    let Some(record) = record else {
        return Ok(RenewOutcome::Lost(None)); // R3
    };
    let held = record.held_by(uuid);
    let asked = record.asked;
    if held && record.renewals >= n {
        return Ok(RenewOutcome::Renewed { asked }); // R2
    }
    if held && !expired(&record) {
        let expiry = StoreClock::expiry(now, record.duration);
        view.change(
            include_str!("sql/renew.sql"),
            (
                key.prefix(),
                key.name(),
                integer(n),
                view.clock().boot().to_string(),
                expiry,
            ),
        )?;
        return Ok(RenewOutcome::Renewed { asked }); // R1
    }
    Ok(RenewOutcome::Lost(Some(record))) // R3
}

/// One renewal of a batch: its lock and request, or why it has none.
pub(crate) type Item = Result<(Key, Renew), ProviderError>;

type Outcomes = Vec<Result<RenewOutcome, ProviderError>>;

/// Renewals of one batch: one transaction, and if that fails each separately, so that one item's
/// failure does not affect the others.
pub(crate) fn renew_many(store: &mut Store, items: &[Item]) -> Outcomes {
    match renew_together(store, items) {
        Ok(Some(outcomes)) => outcomes,
        Ok(None) => items
            .iter()
            .map(|item| {
                store.write(
                    |view| shortest(view, slice::from_ref(item)),
                    |view| renew_item(view, item),
                )
            })
            .collect(),
        Err(error) => items.iter().map(|_| Err(error.clone())).collect(),
    }
}

/// `None`: the transaction failed as a whole. An error: it did not even begin.
fn renew_together(store: &mut Store, items: &[Item]) -> Result<Option<Outcomes>, ProviderError> {
    let writing = store.begin(|view| shortest(view, items))?;
    let mut outcomes = Vec::with_capacity(items.len());
    for item in items {
        match renew_item(writing.view(), item) {
            Ok(outcome) => outcomes.push(Ok(outcome)),
            Err(Failure::Answer(error)) => outcomes.push(Err(error)),
            Err(Failure::Sqlite(_)) => return Ok(None),
        }
    }
    Ok(writing.commit().is_ok().then_some(outcomes))
}

/// The shortest lease of a batch: its answer is needed first.
fn shortest(view: View<'_>, items: &[Item]) -> Option<Duration> {
    let keys = items.iter().filter_map(|item| item.as_ref().ok());
    keys.filter_map(|(key, _)| view.lease(key)).min()
}

fn renew_item(view: View<'_>, item: &Item) -> Result<RenewOutcome, Failure> {
    match item {
        Ok((key, request)) => renew(view, key, request),
        Err(error) => Err(Failure::Answer(error.clone())),
    }
}

/// L1 to L3.
pub(crate) fn release(
    view: View<'_>,
    key: &Key,
    request: &Release,
) -> Result<ReleaseOutcome, Failure> {
    if let Some(closing) = &request.closing {
        return close(view, key, request, closing);
    }
    match view.record(key)?.0 {
        Some(record) if record.uuid == request.uuid => {
            if !record.released {
                view.change(include_str!("sql/release.sql"), (key.prefix(), key.name()))?; // L1
            }
            Ok(ReleaseOutcome::Released {
                wanted: record.wanted != 0,
            }) // L2
        }
        other => Ok(ReleaseOutcome::NotHeld(other)), // L3
    }
}

/// B4.
fn close(
    view: View<'_>,
    key: &Key,
    request: &Release,
    closing: &Closing,
) -> Result<ReleaseOutcome, Failure> {
    let (record, now) = view.record(key)?;
    match record {
        Some(record) if record.held_by(closing.uuid()) => {
            Ok(ReleaseOutcome::Released { wanted: false })
        }
        Some(record) if record.held_by(request.uuid) => {
            view.change(
                include_str!("sql/close.sql"),
                (
                    key.prefix(),
                    key.name(),
                    closing.uuid().to_string(),
                    integer(millis(closing.lasts())),
                    view.clock().boot().to_string(),
                    StoreClock::expiry(now, closing.lasts()),
                ),
            )?;
            Ok(ReleaseOutcome::Released { wanted: false })
        }
        other => Ok(ReleaseOutcome::NotHeld(other)), // L3
    }
}

/// The record as it is.
pub(crate) fn read(view: View<'_>, key: &Key) -> Result<Option<Record>, Failure> {
    view.record(key).map(|(record, _)| record)
}

/// B1.
pub(crate) fn revoke(
    view: View<'_>,
    key: &Key,
    request: &Revoke,
) -> Result<RevokeOutcome, Failure> {
    match view.record(key)?.0 {
        Some(record) if !record.released && record.version() == request.version => {
            let new = request.new.to_string();
            view.change(
                include_str!("sql/revoke.sql"),
                (key.prefix(), key.name(), new),
            )?;
            Ok(RevokeOutcome::Revoked)
        }
        Some(record) if record.held_by(request.new) => Ok(RevokeOutcome::Revoked),
        other => Ok(RevokeOutcome::Changed(other)),
    }
}

/// B3.
pub(crate) fn ask(view: View<'_>, key: &Key, request: &Ask) -> Result<AskOutcome, Failure> {
    match view.record(key)?.0 {
        Some(record) if record.held_by(request.uuid) => {
            if !record.asked {
                view.change(include_str!("sql/ask.sql"), (key.prefix(), key.name()))?;
            }
            Ok(AskOutcome::Asked)
        }
        other => Ok(AskOutcome::Changed(other)),
    }
}

pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// A number for a column. Every caller's number is below 2^53, except a wall clock of the year
/// 2255.
pub(crate) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(MAX_EXACT).min(MAX_EXACT)
}
