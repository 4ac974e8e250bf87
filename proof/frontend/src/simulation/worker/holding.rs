//! A lease or a guard in an owner's hands: renewed, watched, written under, and released.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use dlock_core::{DLock, Error, ErrorKind, FencingToken, Guard, Lease, ReleaseEnd};
use tokio::time::sleep;

use super::{Worker, open};
use crate::simulation::{
    attend::attend,
    monitor::{CallerId, LeaseId, Probe},
    plan::{Ending, Usage, WritePlan},
};

/// A lease in hand, which the monitor looks at.
pub(super) enum Held {
    Lease(Lease),
    Guard(Guard),
}

type Slot = Arc<Mutex<Option<Held>>>;

impl Worker {
    /// Uses a lease or a guard.
    pub(super) async fn have(&self, id: CallerId, lock: &DLock, held: Held, usage: &Usage) {
        let (uuid, token) = match &held {
            Held::Lease(lease) => (lease.uuid(), lease.token()),
            Held::Guard(guard) => (guard.uuid(), guard.token()),
        };
        let named = LeaseId { uuid, token };
        let slot: Slot = Arc::new(Mutex::new(Some(held)));
        let looked_at = Arc::clone(&slot);
        let watch = Arc::new(move || open(&looked_at).as_ref().map(probe));
        if self.monitor.delivered(id, token, Some(watch)) != Some(named) {
            return;
        }
        if matches!(&*open(&slot), Some(Held::Guard(_))) {
            self.guarded(&slot, named);
        } else {
            self.by_hand(&slot, usage).await;
            if usage.keep {
                let held = open(&slot).take();
                if let Some(Held::Lease(lease)) = held {
                    *open(&slot) = Some(Held::Guard(lease.keep_alive()));
                    self.guarded(&slot, named);
                }
            }
        }
        if let Some(write) = usage.write {
            self.write(lock, token, write, || probe_slot(&slot)).await;
        }
        self.hold(&slot, usage.hold).await;
        self.end(&slot, named, usage.ending).await;
    }

    /// Renewals by hand; each takes the lease out of its slot for a while.
    async fn by_hand(&self, slot: &Slot, usage: &Usage) {
        for (after, cancel) in &usage.renewals {
            self.machine.sleep(*after).await;
            let held = open(slot).take();
            let Some(Held::Lease(mut lease)) = held else {
                return;
            };
            drop(attend(&self.machine, *cancel, None, || {}, lease.renew()).await);
            *open(slot) = Some(Held::Lease(lease));
        }
    }

    /// Starts a watcher that waits for the loss of a guarded lease.
    fn guarded(&self, slot: &Slot, named: LeaseId) {
        let Some(Held::Guard(guard)) = &*open(slot) else {
            return;
        };
        let (lost, monitor) = (guard.ended(), self.monitor.clone());
        let machine = self.machine.clone();
        crate::spawn(async move {
            let loss = lost.await;
            machine.running().await;
            monitor.told(named, &loss);
        });
    }

    async fn hold(&self, slot: &Slot, span: Duration) {
        let lost = match &*open(slot) {
            Some(Held::Lease(lease)) => lease.view(),
            Some(Held::Guard(guard)) => guard.view(),
            None => return,
        };
        let lost = lost.ended();
        let over = self.machine.sleep(span);
        tokio::select! {
            biased;
            _ = lost => {}
            () = over => {}
        }
    }

    async fn end(&self, slot: &Slot, named: LeaseId, ending: Ending) {
        let Some(held) = open(slot).take() else {
            return;
        };
        if ending == Ending::HandOver {
            return self.hand_over(held, named);
        }
        let open = ending == Ending::ReleaseOpen;
        self.monitor.ends(named);
        let cancel = match ending {
            Ending::Drop => return drop(held),
            Ending::Release | Ending::ReleaseOpen | Ending::HandOver => None,
            Ending::ReleaseDropped(cancel) => Some(cancel),
        };
        let release = async move {
            match held {
                Held::Lease(lease) if open => lease.release_open().await,
                Held::Guard(guard) if open => guard.release_open().await,
                Held::Lease(lease) => lease.release().await,
                Held::Guard(guard) => guard.release().await,
            }
        };
        if let Some(answer) = attend(&self.machine, cancel, None, || {}, release).await {
            self.monitor.released(named, &told(answer));
        }
    }

    /// Leaves a ticket for the next worker that comes (H7).
    fn hand_over(&self, held: Held, named: LeaseId) {
        let answer = match held {
            Held::Lease(lease) => lease.hand_over(),
            Held::Guard(guard) => guard.hand_over(),
        };
        self.monitor.handed_over(named, answer.as_ref().err());
        if let Ok(ticket) = answer {
            self.counter.leave(&ticket);
        }
    }

    /// Reads, waits, checks the lease, and sends a write, which travels separately.
    pub(super) async fn write(
        &self,
        lock: &DLock,
        token: FencingToken,
        plan: WritePlan,
        valid: impl Fn() -> bool,
    ) {
        let WritePlan { gap, travel } = plan;
        let name = self.plan.name.clone();
        let seen = self.resources.read(&name, token);
        self.machine.sleep(gap).await;
        if !valid() {
            return;
        }
        let (resources, monitor, lock) =
            (self.resources.clone(), self.monitor.clone(), lock.clone());
        let (index, machine) = (self.index, self.machine.clone());
        crate::spawn(async move {
            sleep(travel).await;
            if let Err(stale) = resources.write(&format!("c{index}"), &name, token, seen) {
                machine.running().await;
                monitor.raised(index, &name, stale.highest);
                lock.raise_floor(stale.highest);
            }
        });
    }
}

fn told(answer: Result<ReleaseEnd, Error>) -> Result<ReleaseEnd, ErrorKind> {
    answer.map_err(|error| match error {
        Error::Provider(error) => error.kind(),
        _ => ErrorKind::Unknown,
    })
}

fn probe(held: &Held) -> Probe {
    match held {
        Held::Lease(lease) => Probe {
            valid: lease.is_valid(),
            remaining: lease.remaining(),
        },
        Held::Guard(guard) => Probe {
            valid: guard.is_valid(),
            remaining: guard.remaining(),
        },
    }
}

fn probe_slot(slot: &Slot) -> bool {
    open(slot).as_ref().is_some_and(|held| probe(held).valid)
}
