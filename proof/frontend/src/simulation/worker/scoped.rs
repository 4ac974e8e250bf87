//! Work under `with`: it runs only under a valid lease, may block its thread, and may panic (V9).

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::pin,
    sync::{Arc, Mutex},
};

use dlock_core::{DLock, End, Error, FencingToken};

use super::{Worker, open};
use crate::simulation::{
    attend::attend,
    chronicle,
    monitor::{CallerId, Finished, LeaseId, Monitor},
    plan::{Step, WorkEnd},
    spans,
};

impl Worker {
    /// Work under `with`.
    pub(super) async fn with(&self, id: CallerId, lock: &DLock, step: &Step, end: WorkEnd) {
        let finished = Arc::new(Mutex::new((None::<LeaseId>, None::<bool>)));
        let seen = Arc::clone(&finished);
        let work = |token: FencingToken| async move {
            let Some(lease) = self.monitor.delivered(id, token, None) else {
                return;
            };
            open(&seen).0 = Some(lease);
            self.monitor.finished(id, &Finished::Granted);
            let alive = Alive(self.monitor.clone(), lease);
            if let Some(write) = step.usage.write {
                self.check_work(lease);
                self.write(lock, token, write, || self.monitor.works(lease, true))
                    .await;
            }
            for _ in 0..4 {
                self.check_work(lease);
                self.machine.sleep(step.usage.hold / 4).await;
            }
            self.check_work(lease);
            match end {
                WorkEnd::Returns => {}
                WorkEnd::Panics => resume_unwind(Box::new("planned")),
                WorkEnd::Blocks(span) => {
                    chronicle::blocked(&self.log, self.index);
                    self.monitor.disturbed(self.index, false);
                    self.machine.skip(span);
                    self.monitor.disturbed(self.index, false);
                }
            }
            open(&seen).1 = Some(self.monitor.works(lease, true));
            drop(alive);
        };
        let looks_away = || {
            self.monitor.away(id);
            chronicle::away_from_work(&self.log, self.index)
        };
        let mut with = pin!(spans::of(id, lock.with(work)));
        let caught = std::future::poll_fn(|context| {
            match catch_unwind(AssertUnwindSafe(|| with.as_mut().poll(context))) {
                Ok(poll) => poll.map(Ok),
                Err(panic) => std::task::Poll::Ready(Err(panic)),
            }
        });
        let answer: Option<Result<Result<(), Error>, Box<dyn Any + Send>>> =
            attend(&self.machine, step.cancel, step.away, looks_away, caught).await;
        let (lease, in_time) = *open(&finished);
        match (answer, lease) {
            (Some(Ok(Err(error))), None) => match error {
                Error::Lost(_) => self.monitor.complain("V9", || {
                    format!("`with` of {id} lost its lease before its work began")
                }),
                error => self.monitor.finished(id, &Finished::of(&error)),
            },
            (Some(answer), Some(lease)) => {
                let answer = match answer {
                    Ok(Ok(())) => Some(Ok(())),
                    Ok(Err(Error::Lost(loss))) => Some(Err::<(), End>(loss)),
                    Ok(Err(error)) => {
                        return self
                            .monitor
                            .complain("V9", || format!("`with` fails: {error}"));
                    }
                    Err(_panic) => None,
                };
                self.monitor.with_ended(lease, in_time, answer.as_ref());
            }
            (Some(Ok(Ok(())) | Err(_)), None) => {}
            (None, lease) => {
                match lease {
                    // The future lives until the end of this function: its drop follows.
                    Some(lease) => self.monitor.ends(lease),
                    None => self.monitor.gone(id),
                }
            }
        }
    }

    /// V9: work runs only under a valid lease.
    fn check_work(&self, lease: LeaseId) {
        if !self.monitor.works(lease, true) {
            self.monitor
                .complain("V9", || format!("the work of {lease} runs without a lease"));
        }
    }
}

/// The work under `with` exists.
struct Alive(Monitor, LeaseId);

impl Drop for Alive {
    fn drop(&mut self) {
        let _valid: bool = self.0.works(self.1, false);
    }
}
