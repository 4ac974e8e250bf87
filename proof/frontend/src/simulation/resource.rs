//! The resources that the locks protect: two counters for each name, one behind a fence and one without.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use dlock_core::{Fence, FencingToken, Stale};

use super::{monitor::Monitor, plan::Broken};
use crate::history::{Log, What};

/// The resources of one run.
#[derive(Clone)]
pub(super) struct Resources {
    monitor: Monitor,
    log: Log,
    /// Two holders may have one token, if the store forgot writes and its clock cannot make up for that (T1).
    tokens_repeat: bool,
    guarded: Arc<Mutex<BTreeMap<String, Guarded>>>,
}

#[derive(Default)]
struct Guarded {
    fence: Fence,
    fenced: u64,
    unfenced: u64,
    /// The highest token accepted, kept next to the fence.
    highest: Option<FencingToken>,
}

/// The values that a reader saw.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    fenced: Option<u64>,
    unfenced: u64,
}

impl Resources {
    pub(super) fn new(monitor: Monitor, log: Log, broken: Broken) -> Self {
        Self {
            monitor,
            log,
            tokens_repeat: broken.tokens,
            guarded: Arc::default(),
        }
    }

    /// Reads both; the fenced one records the reader's token, or refuses it.
    pub(super) fn read(&self, name: &str, token: FencingToken) -> View {
        let mut all = self.lock();
        let guarded = all.entry(name.to_owned()).or_default();
        let admitted = self.admit(guarded, token).is_ok();
        View {
            fenced: admitted.then_some(guarded.fenced),
            unfenced: guarded.unfenced,
        }
    }

    /// Writes one more than the value that was seen.
    pub(super) fn write(
        &self,
        process: &str,
        name: &str,
        token: FencingToken,
        seen: View,
    ) -> Result<(), Stale> {
        let tell = |fenced: bool, accepted: bool, read: Option<u64>| {
            let resource = if fenced { "fenced" } else { "unfenced" };
            let written = read.filter(|_| accepted).map(|read| read + 1);
            self.log.note(
                process,
                name,
                What::Write {
                    resource: format!("{name}, {resource}").into(),
                    fenced,
                    token: token.get(),
                    accepted,
                    read,
                    written,
                },
            );
        };
        let mut all = self.lock();
        let guarded = all.entry(name.to_owned()).or_default();
        self.monitor.figures(|figures| {
            figures.writes += 1;
            figures.lost_updates += u64::from(guarded.unfenced != seen.unfenced);
        });
        guarded.unfenced = seen.unfenced + 1;
        tell(false, true, Some(seen.unfenced));
        let admitted = self.admit(guarded, token);
        tell(true, admitted.is_ok(), seen.fenced);
        if let Err(stale) = admitted {
            self.monitor.figures(|figures| figures.stale_writes += 1);
            return Err(stale);
        }
        if let Some(fenced) = seen.fenced {
            if fenced != guarded.fenced && !self.tokens_repeat {
                self.monitor.complain("I5", || {
                    format!("{name}: a write with {token} was accepted and loses another's")
                });
            }
            guarded.fenced = fenced + 1;
        }
        Ok(())
    }

    fn admit(&self, guarded: &mut Guarded, token: FencingToken) -> Result<(), Stale> {
        let admitted = guarded.fence.check(token);
        let stale = guarded.highest.is_some_and(|highest| token < highest);
        if stale == admitted.is_ok() {
            self.monitor.complain("I5", || {
                format!("{token} after {:?}: {admitted:?}", guarded.highest)
            });
        }
        guarded.highest = guarded.highest.max(Some(token));
        admitted
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Guarded>> {
        self.guarded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
