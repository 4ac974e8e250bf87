//! The meaning of the answers to conditional writes: A1 to A7, N1, R1 to R3, L1 to L3, B1, B3, B4.
//!
//! A refused write shows the record that refused it. If that record would have met the rule's condition, the read and
//! the write did not see the same record; that is no answer, and the request is repeated.

pub(crate) mod expression;

use std::time::Duration;

use dlock_core::{
    FencingToken, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Ask, AskOutcome, Closing, Release, ReleaseOutcome, Renew,
        RenewOutcome, Revoke, RevokeOutcome, Tokens,
    },
};

use self::expression::{Start, Update};
use crate::{
    clock,
    key::Key,
    store::{Store, Written},
};

/// How often a write is repeated after read and write disagreed.
const ASK_AGAIN: usize = 3;

/// How long a released record outlives its release where DynamoDB cleans up (30 days).
const KEPT: u64 = 30 * 24 * 60 * 60;

pub(crate) async fn acquire(
    store: &Store,
    key: &Key,
    request: &Acquire,
) -> Result<AcquireOutcome, ProviderError> {
    request.check()?;
    let since = store.wall.micros();
    let start = clock::seed(since)
        .ok_or_else(wrong_clock)
        .and_then(|seed| Start::new(request, seed).ok_or_else(used_up));
    let from = start.as_ref().ok().copied();
    let mut write = expression::take(request, request.prev, since, from);
    for _ in 0..=ASK_AGAIN {
        let old = match store.write(key, &write).await? {
            // A1, A4, A6.
            Written::Applied(Some(record)) => {
                let minted = Tokens::new(record.token, request.tokens);
                let tokens = minted.unwrap_or_else(|| record.token.into());
                return Ok(AcquireOutcome::Acquired(tokens));
            }
            // The store does not show the record it wrote: the same request finds it (A2), and one token.
            Written::Applied(None) => continue,
            Written::Refused(old) => old,
        };
        let Some(record) = old else {
            // Fits A1.
            if let Err(error) = start {
                return Err(error);
            }
            continue;
        };
        if record.uuid == request.new {
            return Ok(if record.released {
                AcquireOutcome::Spent // A3
            } else {
                AcquireOutcome::Acquired(record.token.into()) // A2
            });
        }
        if !record.released && request.prev != Some(record.version()) {
            if request.marks == 0 || record.wanted != 0 {
                return Ok(AcquireOutcome::Held(record)); // A7
            }
            match mark(store, key, record, request.marks).await {
                Some(record) => return Ok(AcquireOutcome::Held(record)), // A7
                None => continue,
            }
        }
        // Fits A4 or A6.
        if request.mint(Some(record.token), 0).is_none() {
            return Err(used_up()); // T2
        }
        let prev = request.prev.filter(|_| !record.released);
        write = if record.token.get() < request.floor.saturating_sub(1) {
            expression::take_at_floor(request, prev, since)
        } else {
            expression::take(request, prev, since, from)
        };
    }
    Err(no_answer())
}

/// The record of a term with its mark (N1), or without it if the write has failed. `None`: the term has ended.
async fn mark(store: &Store, key: &Key, mut record: Record, marks: u32) -> Option<Record> {
    let write = expression::mark(&record.uuid, marks);
    match store.write(key, &write).await {
        Ok(Written::Applied(Some(now))) => Some(now),
        Ok(Written::Applied(None)) => {
            record.wanted = marks;
            Some(record)
        }
        // Another waiter was faster.
        Ok(Written::Refused(Some(now))) if now.held_by(record.uuid) => Some(now),
        Ok(Written::Refused(_)) => None,
        Err(_) => Some(record),
    }
}

pub(crate) async fn renew(
    store: &Store,
    key: &Key,
    request: &Renew,
) -> Result<RenewOutcome, ProviderError> {
    request.check()?;
    let write = expression::renew(request);
    ask(store, key, &write, |written| match written {
        // R1; if the store does not show the record it wrote, the next read does (R2).
        Written::Applied(record) => record.map(|record| RenewOutcome::Renewed {
            asked: record.asked,
        }),
        Written::Refused(Some(record)) if record.held_by(request.uuid) => {
            // R2; a smaller number fits R1.
            (record.renewals >= request.n).then_some(RenewOutcome::Renewed {
                asked: record.asked,
            })
        }
        Written::Refused(other) => Some(RenewOutcome::Lost(other)), // R3
    })
    .await
}

pub(crate) async fn release(
    store: &Store,
    key: &Key,
    request: &Release,
) -> Result<ReleaseOutcome, ProviderError> {
    if let Some(closing) = &request.closing {
        return close(store, key, request, closing).await;
    }
    let clean_up = request
        .token
        .filter(|_| store.expire_released)
        .map(|token| clean_up(store, token));
    let write = expression::release(request, clean_up);
    ask(store, key, &write, |written| match written {
        // L1; if the store does not show the record it wrote, a mark in it stays unknown.
        Written::Applied(record) => Some(ReleaseOutcome::Released {
            wanted: record.is_some_and(|record| record.wanted != 0),
        }),
        Written::Refused(Some(record)) if record.uuid == request.uuid => {
            // L2; a held one fits L1.
            record.released.then_some(ReleaseOutcome::Released {
                wanted: record.wanted != 0,
            })
        }
        Written::Refused(other) => Some(ReleaseOutcome::NotHeld(other)), // L3
    })
    .await
}

async fn close(
    store: &Store,
    key: &Key,
    request: &Release,
    closing: &Closing,
) -> Result<ReleaseOutcome, ProviderError> {
    let write = expression::close(request, closing);
    ask(store, key, &write, |written| match written {
        Written::Applied(_) => Some(ReleaseOutcome::Released { wanted: false }),
        Written::Refused(Some(record)) if record.held_by(closing.uuid()) => {
            Some(ReleaseOutcome::Released { wanted: false })
        }
        // Fits B4.
        Written::Refused(Some(record)) if record.held_by(request.uuid) => None,
        Written::Refused(other) => Some(ReleaseOutcome::NotHeld(other)), // L3
    })
    .await
}

pub(crate) async fn revoke(
    store: &Store,
    key: &Key,
    request: &Revoke,
) -> Result<RevokeOutcome, ProviderError> {
    let write = expression::revoke(request);
    ask(store, key, &write, |written| match written {
        Written::Applied(_) => Some(RevokeOutcome::Revoked),
        Written::Refused(Some(record)) if record.held_by(request.new) => {
            Some(RevokeOutcome::Revoked)
        }
        Written::Refused(Some(record))
            if !record.released && record.version() == request.version =>
        {
            None
        }
        Written::Refused(other) => Some(RevokeOutcome::Changed(other)),
    })
    .await
}

pub(crate) async fn ask_holder(
    store: &Store,
    key: &Key,
    request: &Ask,
) -> Result<AskOutcome, ProviderError> {
    let write = expression::ask(request);
    ask(store, key, &write, |written| match written {
        Written::Applied(_) => Some(AskOutcome::Asked),
        Written::Refused(Some(record)) if record.held_by(request.uuid) => None,
        Written::Refused(other) => Some(AskOutcome::Changed(other)),
    })
    .await
}

/// Repeats the write until its outcome is an answer, but not for ever.
async fn ask<T>(
    store: &Store,
    key: &Key,
    write: &Update,
    answer: impl Fn(Written) -> Option<T> + Send + Sync,
) -> Result<T, ProviderError> {
    for _ in 0..=ASK_AGAIN {
        if let Some(answer) = answer(store.write(key, write).await?) {
            return Ok(answer);
        }
    }
    Err(no_answer())
}

/// When DynamoDB may delete the record of a released term: 30 days after both the wall clock and
/// the token as an instant, so that a slow clock alone cannot bring it forward.
fn clean_up(store: &Store, token: FencingToken) -> u64 {
    let micros = store.wall.micros().max(token.get());
    Duration::from_micros(micros).as_secs() + KEPT
}

fn wrong_clock() -> ProviderError {
    ProviderError::fatal(
        "the lock has no record yet, and its first token would come from this machine's clock, \
         which is not between 2024 and 2100: set the clock",
    )
}

fn used_up() -> ProviderError {
    ProviderError::fatal("the lock's fencing tokens are used up: use another name")
}

fn no_answer() -> ProviderError {
    ProviderError::unknown("the record changed each time while it was asked for")
}
