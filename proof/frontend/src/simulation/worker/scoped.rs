//! Work under `with`: it runs only under a valid lease, may block its thread, and may panic (V9).

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::pin,
    sync::{Arc, Mutex},
};

use dlock_core::{DLock, End, Error, FencingToken};
use uuid::Uuid;

use super::{Worker, open};
use crate::simulation::{
    attend::attend,
    chronicle,
    monitor::{CallerId, Finished, Monitor},
    plan::{Step, WorkEnd},
};

impl Worker {
    /// Work under `with`.
    pub(super) async fn with(&self, id: CallerId, lock: &DLock, step: &Step, end: WorkEnd) {
        let finished = Arc::new(Mutex::new((None::<Uuid>, None::<bool>)));
        let seen = Arc::clone(&finished);
        let work = |token: FencingToken| async move {
            let Some(uuid) = self.monitor.delivered(id, token, None) else {
                return;
            };
            open(&seen).0 = Some(uuid);
            self.monitor.finished(id, &Finished::Granted);
            let alive = Alive(self.monitor.clone(), uuid);
            if let Some(write) = step.usage.write {
                self.check_work(uuid);
                self.write(lock, token, write, || self.monitor.works(uuid, true))
                    .await;
            }
            for _ in 0..4 {
                self.check_work(uuid);
                self.machine.sleep(step.usage.hold / 4).await;
            }
            self.check_work(uuid);
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
            open(&seen).1 = Some(self.monitor.works(uuid, true));
            drop(alive);
        };
        let looks_away = || {
            self.monitor.away(id);
            chronicle::away_from_work(&self.log, self.index)
        };
        let mut with = pin!(lock.with(work));
        let caught = std::future::poll_fn(|context| {
            match catch_unwind(AssertUnwindSafe(|| with.as_mut().poll(context))) {
                Ok(poll) => poll.map(Ok),
                Err(panic) => std::task::Poll::Ready(Err(panic)),
            }
        });
        let answer: Option<Result<Result<(), Error>, Box<dyn Any + Send>>> =
            attend(&self.machine, step.cancel, step.away, looks_away, caught).await;
        let (uuid, in_time) = *open(&finished);
        match (answer, uuid) {
            (Some(Ok(Err(error))), None) => match error {
                Error::Lost(_) => self.monitor.complain("V9", || {
                    format!("`with` of {id} lost its lease before its work began")
                }),
                error => self.monitor.finished(id, &Finished::of(&error)),
            },
            (Some(answer), Some(uuid)) => {
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
                self.monitor.with_ended(uuid, in_time, answer.as_ref());
            }
            (Some(Ok(Ok(())) | Err(_)), None) => {}
            (None, uuid) => {
                match uuid {
                    // The future lives on to the end of this function: what follows is its drop.
                    Some(uuid) => self.monitor.ends(uuid),
                    None => self.monitor.gone(id),
                }
            }
        }
    }

    /// V9: work runs only under a valid lease.
    fn check_work(&self, uuid: Uuid) {
        if !self.monitor.works(uuid, true) {
            self.monitor
                .complain("V9", || format!("the work of {uuid} runs without a lease"));
        }
    }
}

/// The work under `with` exists.
struct Alive(Monitor, Uuid);

impl Drop for Alive {
    fn drop(&mut self) {
        let _valid: bool = self.0.works(self.1, false);
    }
}
