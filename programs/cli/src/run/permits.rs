//! `--permits N`: the command runs under one of N locks, NAME/1 to NAME/N.

use dlock_core::DLock;
use dlock_several::Semaphore;
use dlock_stores::Store;

use super::{
    acquiring::{Acquired, Held, Names},
    nested,
    waiting::{self, Waited},
};
use crate::{
    arguments::Patience,
    exit::{Exit, Failure},
    supervise::Signals,
};

/// The permits of one name.
pub(super) struct Permits {
    /// The whole name, which is not a lock itself.
    lock: DLock,
    semaphore: Semaphore,
    count: u8,
}

/// The one name that has permits.
pub(super) fn name(names: &[String]) -> Result<&String, Failure> {
    match names {
        [name] => Ok(name),
        _ => Err(Failure::new(
            Exit::Usage,
            "--permits goes with one name".to_owned(),
        )),
    }
}

/// The names of all permits.
pub(super) fn names(names: &[String], count: u8) -> Result<Vec<String>, Failure> {
    let name = name(names)?;
    Ok((1..=count).map(|slot| of_slot(name, slot.into())).collect())
}

fn of_slot(name: &str, slot: usize) -> String {
    format!("{name}/{slot}")
}

impl Permits {
    pub(super) fn new(lock: &DLock, names: &Names, count: u8) -> Result<Self, Failure> {
        let lock = lock.named(names.first().as_str())?;
        Ok(Self {
            semaphore: Semaphore::new(&lock, count.into())?,
            lock,
            count,
        })
    }

    /// Waits for a permit.
    pub(super) async fn acquire(
        &self,
        patience: Patience,
        store: &Store,
        signals: &mut Signals,
    ) -> Result<Acquired, Failure> {
        tokio::select! {
            biased;
            signal = signals.ending() => return Ok(Acquired::Interrupted(signal)),
            refused = self.refuse_nested() => refused?,
        }
        let of = (&self.semaphore, &self.lock, self.count);
        let permit = match waiting::acquire_permit(of, patience, store, signals).await? {
            Waited::Acquired(permit) => permit,
            Waited::Interrupted(signal) => return Ok(Acquired::Interrupted(signal)),
        };
        let lock = self.slot(permit.slot)?;
        Ok(Acquired::All(Held {
            guards: vec![permit.lease.keep_alive()],
            locks: vec![lock],
            first: 0,
        }))
    }

    /// Refuses to wait where the commands around this one hold all permits.
    async fn refuse_nested(&self) -> Result<(), Failure> {
        let mut refused = Ok(());
        for slot in 1..=self.count.into() {
            refused = nested::refuse(&self.slot(slot)?).await;
            if refused.is_ok() {
                break;
            }
        }
        refused
    }

    fn slot(&self, slot: usize) -> Result<DLock, Failure> {
        Ok(self.lock.named(of_slot(self.lock.name().as_str(), slot))?)
    }
}
