//! The locks of one run: all of them or none.
//!
//! Every run takes its locks in the order of their names, so no two runs wait for each other. The locks it
//! already has are renewed while it waits for the rest.

use dlock_core::{DLock, Guard, Name};
use dlock_stores::Store;
use rustix::process::Signal;

use super::{
    nested,
    waiting::{self, Waited},
};
use crate::{
    arguments::{self, Patience},
    clock::HolderTime,
    exit::{Exit, Failure},
    giving_back,
    supervise::{Leases, Signals},
};

/// The names of the locks of a run, at least one, in the order in which all runs take them.
pub(super) struct Names {
    sorted: Vec<Name>,
    /// Which of them was named first.
    first: usize,
}

impl Names {
    /// The one that was named first.
    pub(super) fn first(&self) -> &Name {
        &self.sorted[self.first]
    }
}

/// Puts the names in order.
pub(super) fn in_order(names: &[String]) -> Result<Names, Failure> {
    let names: Vec<Name> = names
        .iter()
        .map(|name| arguments::name(name))
        .collect::<Result<_, _>>()?;
    let mut sorted = names.clone();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        let what = format!("the lock {:?} is named twice", twice[0].as_str());
        return Err(Failure::new(Exit::Usage, what));
    }
    let first = sorted.iter().position(|name| Some(name) == names.first());
    Ok(Names {
        sorted,
        first: first.unwrap_or_default(),
    })
}

/// The locks that a command needs, in the order in which they are taken.
pub(super) struct Locks {
    locks: Vec<DLock>,
    /// Which of them was named first.
    first: usize,
}

/// The outcome of the wait.
pub(super) enum Acquired {
    All(Held),
    Interrupted(Signal),
}

/// The leases that a command runs under.
pub(super) struct Held {
    /// In the order of the locks.
    pub(super) guards: Vec<Guard>,
    pub(super) locks: Vec<DLock>,
    /// Which of them was named first.
    pub(super) first: usize,
}

impl Locks {
    /// Locks of these names that are otherwise like `lock`.
    pub(super) fn new(lock: &DLock, Names { sorted, first }: &Names) -> Result<Self, Failure> {
        let locks = sorted.iter().map(|name| lock.named(name.as_str()));
        Ok(Self {
            locks: locks.collect::<Result<_, _>>()?,
            first: *first,
        })
    }

    /// Waits for all of them. If one cannot be acquired, or one is lost meanwhile, the others are released.
    pub(super) async fn acquire(
        &self,
        patience: Patience,
        store: &Store,
        signals: &mut Signals,
    ) -> Result<Acquired, Failure> {
        let mut held = Vec::with_capacity(self.locks.len());
        let began = HolderTime::now();
        for lock in &self.locks {
            let patience = match patience {
                Patience::Limited(limit) => {
                    let waited = HolderTime::now().after(began);
                    Patience::Limited(limit.saturating_sub(waited))
                }
                other => other,
            };
            let leases = Leases::new(held.iter().map(|guard: &Guard| guard.view()));
            let lost = async {
                if held.is_empty() {
                    std::future::pending::<()>().await;
                }
                leases.ended().await
            };
            let waited = tokio::select! {
                biased;
                end = lost => Err(Failure::new(
                    Exit::LeaseLost,
                    format!("another lock was lost while waiting for {:?}", lock.name().as_str()),
                )
                .because(end)),
                waited = waiting::acquire(lock, patience, store, signals) => waited,
            };
            let none = match waited {
                Ok(Waited::Acquired(lease)) => {
                    held.push(lease.keep_alive());
                    continue;
                }
                Ok(Waited::Interrupted(signal)) => Ok(Acquired::Interrupted(signal)),
                Err(failure) => Err(failure),
            };
            giving_back::give_back(held, false, lock.duration(), signals).await;
            return none;
        }
        Ok(Acquired::All(Held {
            guards: held,
            locks: self.locks.clone(),
            first: self.first,
        }))
    }
}

impl Held {
    /// The variables that the command finds in its environment.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        let tokens = self.guards.iter().map(|guard| guard.token());
        let grants: Vec<_> = self.locks.iter().map(DLock::name).zip(tokens).collect();
        // There is at least one.
        let (name, token) = grants[self.first];
        vec![
            ("DLOCK_NAME", name.as_str().to_owned()),
            ("DLOCK_TOKEN", token.to_string()),
            ("DLOCK_TOKENS", nested::lines(grants.iter().copied())),
            ("DLOCK_OWNER", self.locks[self.first].owner().to_owned()),
            nested::variable(grants.iter().copied()),
        ]
    }
}
