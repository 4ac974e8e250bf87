//! What the tests of the parts share: contenders, and leases on offer to them.

use super::*;
use crate::{
    DLock,
    names::HandOver,
    provider::Version,
    tests::scripted::{record, silence, token, uuid},
};

pub(super) fn contender(lock: &DLock, wait: Wait) -> Contender {
    let started = lock.0.store.clock.contender_now();
    Contender::new(&lock.0, wait, None, started, Arc::default())
}

/// One that comes with a ticket.
pub(super) fn redeemer(lock: &DLock, wait: Wait) -> Contender {
    let version = Version {
        uuid: uuid(100),
        renewals: 0,
    };
    Contender {
        ticket: Some(version),
        ..contender(lock, wait)
    }
}

/// A waiter in line.
pub(super) async fn in_line(lock: &DLock) -> QueueEntry {
    let entry = QueueEntry::default();
    entry.enqueue(&lock.0).await;
    entry
}

/// The release of this term of the lock's own client begins: the term is on offer to the first waiter in line.
pub(super) fn hands_over(lock: &DLock, number: u128) -> HandOver {
    let Settings {
        store, state, plan, ..
    } = &*lock.0;
    let uuid = uuid(number);
    state.granted(uuid, token(1));
    let version = Version { uuid, renewals: 0 };
    state
        .hand_over_to_waiter(&store.clock, plan, uuid, Some(version))
        .unwrap()
}

pub(super) fn holder(number: u64, owner: &str) -> Holder {
    Holder {
        record: record(number, owner),
        ours: false,
        observed: Duration::ZERO,
        kept: false,
    }
}

/// The store has left so many calls unanswered that nobody calls it out of turn.
pub(super) fn begin_outage(lock: &Settings) {
    let outage = &lock.store.outage;
    while !outage.is_on() {
        outage.heard(&Err::<(), _>(silence()));
    }
}
