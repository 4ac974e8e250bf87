//! The effect of a write, as a line of a history.

use std::time::Duration;

use dlock_core::provider::Discipline;
use dlock_testkit::memory::{Commit as Write, MemoryStore, rules::Stored};

use super::{
    Log,
    line::{Commit, CommitKind, micros},
};

/// Writes a line into the history for every write of the store from now on: the actual events, whatever the clients
/// learnt. Lines carry names without their prefix, so use one prefix only.
pub fn log_commits(store: &MemoryStore, log: &Log) {
    let log = log.clone();
    store.observe(move |write| {
        let kind = match (write.undone, write.after) {
            (true, Some(_)) => CommitKind::Undo,
            (true, None) => CommitKind::Forget,
            (false, after) => kind_of_write(write.before, after),
        };
        if let Some(shown) = write.after.or(write.before) {
            tell(&log, write, kind, shown);
        }
    });
}

/// The kind of write that turned one record into the other.
#[must_use]
pub fn kind_of_write(before: Option<&Stored>, after: Option<&Stored>) -> CommitKind {
    let Some(after) = after else {
        return CommitKind::Delete;
    };
    let Some(before) = before else {
        return CommitKind::Take;
    };
    if before.record.uuid != after.record.uuid {
        let mut revoked = before.clone();
        revoked.record.uuid = after.record.uuid;
        revoked.record.renewals = after.record.renewals;
        let mut closed = revoked.clone();
        closed.record.duration = after.record.duration;
        closed.expiry = after.expiry;
        return if closed == *after && after.record.is_closed() {
            CommitKind::Close
        } else if revoked == *after {
            CommitKind::Revoke
        } else {
            CommitKind::Take
        };
    }
    if before.record.released != after.record.released {
        // A faulty store can restore a term that had ended; that grants it.
        if after.record.released {
            CommitKind::Release
        } else {
            CommitKind::Take
        }
    } else if before.record.token != after.record.token {
        CommitKind::Take
    } else if before.record.renewals != after.record.renewals || before.expiry != after.expiry {
        CommitKind::Renew
    } else {
        CommitKind::Touch
    }
}

fn tell(log: &Log, write: &Write<'_>, kind: CommitKind, shown: &Stored) {
    let (now, (_, name)) = (write.now, write.key);
    let expiry = (now.discipline == Discipline::StoreClock).then(|| {
        let left = shown.expiry.saturating_sub(now.clock);
        // The store's clock may run at its own rate.
        let span = micros(Duration::from_micros(left.unsigned_abs()).div_f64(now.rate));
        let now = log.now();
        if left < 0 {
            now.saturating_sub(span)
        } else {
            now.saturating_add(span)
        }
    });
    let Stored { record, .. } = shown;
    log.commit(
        name,
        Commit {
            kind,
            uuid: record.uuid,
            n: record.renewals,
            token: record.token.get(),
            duration: micros(record.duration),
            expiry,
        },
    );
}
