//! The uuids of this process that a server shows by their pseudonyms.

use std::{
    collections::HashMap,
    mem,
    sync::{Mutex, PoisonError},
};

use dlock_core::Record;
use uuid::Uuid;

use crate::{pseudonym, record};

/// The least number of known uuids: those of the newest requests. Renewals name the uuid again.
const KNOWN: usize = 100_000;

/// The uuids of all requests of this process, newest half and older half, by their pseudonyms. A uuid is drawn for one
/// term alone, so all clients of the process share one list.
static OWN: Mutex<Option<Own>> = Mutex::new(None);

#[derive(Default)]
struct Own {
    newer: HashMap<Uuid, Known>,
    older: HashMap<Uuid, Known>,
}

#[derive(Clone, Copy)]
struct Known {
    uuid: Uuid,
    /// It is certainly not one that a server has shown.
    is_secret: bool,
}

impl Own {
    fn keep(&mut self, uuid: Uuid, is_secret: bool) {
        let pseudonym = pseudonym(uuid);
        let is_secret = is_secret || self.known(pseudonym).is_some_and(|known| known.is_secret);
        if self.newer.len() >= KNOWN {
            self.older = mem::take(&mut self.newer);
        }
        self.newer.insert(pseudonym, Known { uuid, is_secret });
    }

    fn known(&self, pseudonym: Uuid) -> Option<Known> {
        let newer = self.newer.get(&pseudonym);
        newer.or_else(|| self.older.get(&pseudonym)).copied()
    }
}

fn with<T>(ask: impl FnOnce(&mut Own) -> T) -> T {
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    ask(own.get_or_insert_default())
}

/// Keeps a uuid of ours that is about to be sent.
pub(super) fn keep(uuid: Uuid) {
    with(|own| own.keep(uuid, true));
}

/// Keeps the uuid that a claim is for: a term of ours, one of a ticket, or one that a server has shown.
pub(super) fn keep_claimed(uuid: Uuid) {
    with(|own| own.keep(uuid, false));
}

/// A record that a server shows, with our own uuid if it is of a term of ours.
pub(super) fn read(shown: record::Record) -> Record {
    let mut record = Record::from(shown);
    if let Some(known) = with(|own| own.known(record.uuid)) {
        record.uuid = known.uuid;
    }
    record
}

/// The uuid as the server shows it, of a term of which we have a record.
pub(super) fn shown(uuid: Uuid) -> Uuid {
    let pseudonym = pseudonym(uuid);
    match with(|own| own.known(pseudonym)) {
        Some(known) if known.is_secret => pseudonym,
        _ => uuid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_uuids_are_known() {
        let mut own = Own::default();
        let drawn = |number: usize| Uuid::from_u64_pair(1, number as u64);
        for number in 0..=2 * KNOWN {
            own.keep(drawn(number), true);
            own.keep(drawn(0), false);
        }
        let is_known = |number| {
            let known = own.known(pseudonym(drawn(number)));
            known.is_some_and(|known| known.is_secret)
        };
        assert!(is_known(0), "it was kept again and again");
        assert!(is_known(2 * KNOWN) && is_known(KNOWN + 2));
        assert!(!is_known(1), "no list grows for ever");
    }
}
