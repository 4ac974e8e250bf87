//! The kind of a write follows from the record before it and the one after it.

use std::time::{Duration, UNIX_EPOCH};

use dlock_core::{FencingToken, Record, provider::Closing};
use dlock_proof::history::{CommitKind, kind_of_write};
use dlock_testkit::memory::rules::Stored;
use uuid::Uuid;

fn stored() -> Stored {
    let lease = Duration::from_secs(1);
    let record = Record::new(Uuid::from_u128(1), "", UNIX_EPOCH, FencingToken::MAX, lease);
    Stored { record, expiry: 7 }
}

#[test]
fn each_write_is_told_from_the_others() {
    let changed = |change: fn(&mut Stored)| {
        let mut after = stored();
        change(&mut after);
        kind_of_write(Some(&stored()), Some(&after))
    };
    assert_eq!(kind_of_write(None, Some(&stored())), CommitKind::Take);
    assert_eq!(kind_of_write(Some(&stored()), None), CommitKind::Delete);
    assert_eq!(changed(|_| ()), CommitKind::Touch);
    assert_eq!(changed(|it| it.record.asked = true), CommitKind::Touch);
    assert_eq!(changed(|it| it.record.released = true), CommitKind::Release);
    assert_eq!(changed(|it| it.record.renewals = 1), CommitKind::Renew);
    let other = |it: &mut Stored| it.record.uuid = Uuid::from_u128(2);
    assert_eq!(changed(other), CommitKind::Revoke);
    let take = |it: &mut Stored| {
        it.record.uuid = Uuid::from_u128(2);
        it.expiry = 9;
    };
    assert_eq!(changed(take), CommitKind::Take);
    let close = |it: &mut Stored| {
        let closing = Closing::new(Duration::from_secs(2)).unwrap();
        it.record.uuid = closing.uuid();
        it.record.duration = closing.lasts();
        it.expiry = 9;
    };
    assert_eq!(changed(close), CommitKind::Close);
}
