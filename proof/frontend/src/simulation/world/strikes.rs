//! The faults from outside: machines that stop, operators, and the store itself.

use std::time::Duration;

use dlock_core::{
    Name, Provider, Record,
    provider::{Admin, Ask, Release, Revoke},
};
use dlock_testkit::{
    faults::{Outcome, Request},
    machine::{Machine, Standstill},
    memory::{MemoryProvider, MemoryStore},
};
use tokio::time::{sleep, sleep_until};
use uuid::Uuid;

use super::World;
use crate::{
    history::{Log, line::AFTERMATH},
    simulation::{
        chronicle,
        monitor::Monitor,
        plan::{Fault, StoreEvent},
        wire::stand_still,
    },
};

impl World<'_> {
    /// Records in the history that something is wrong with a client, or with all.
    fn tell_of(
        &self,
        kind: &'static str,
        client: Option<usize>,
        from: Duration,
        lasting: Duration,
    ) {
        let (log, from) = (self.log.clone(), self.start + from);
        let process = client
            .map(|client| format!("c{client}"))
            .unwrap_or_default();
        crate::spawn(async move {
            sleep_until(from).await;
            let fault = log.fault(kind, &process);
            sleep(lasting).await;
            fault.end();
            let aftermath = log.fault(AFTERMATH, &process);
            sleep(chronicle::AFTERMATH).await;
            aftermath.end();
        });
    }

    /// Schedules a fault. Those of calls strike in flight.
    pub(super) fn strike(&self, fault: &Fault) {
        let monitor = self.monitor.clone();
        match fault {
            Fault::Call { .. } => {}
            Fault::Mute {
                client,
                from,
                lasting,
            } => self.tell_of("lost hints", Some(*client), *from, *lasting),
            Fault::Network {
                client,
                from,
                lasting,
                ..
            } => self.tell_of("bad network", *client, *from, *lasting),
            Fault::Standstill {
                client,
                from,
                lasting,
                how,
            } => {
                let (machine, how) = (self.machines[*client].clone(), *how);
                let (client, from, lasting) = (*client, self.start + *from, *lasting);
                let log = self.log.clone();
                crate::spawn(async move {
                    sleep_until(from).await;
                    monitor.figures(|figures| {
                        figures.fault(if lasting.is_none() {
                            "crashes"
                        } else {
                            "standstills"
                        });
                    });
                    monitor.remark(|| format!("c{client} {how:?} for {lasting:?}"));
                    match lasting {
                        Some(lasting) => {
                            stand_still(&monitor, &log, &machine, client, how, lasting).await;
                        }
                        None => die(&monitor, &log, &machine, client).await,
                    }
                });
            }
            Fault::Store { at, event } => {
                let (at, event, store) = (self.start + *at, event.clone(), self.store.clone());
                let new = Uuid::from_u128(u128::from(self.plan.seed) << 64 | u128::from(u64::MAX))
                    .as_u128();
                let new = Uuid::from_u128(new ^ at.duration_since(self.start).as_nanos());
                let log = self.log.clone();
                crate::spawn(async move {
                    sleep_until(at).await;
                    chronicle::store_fault(&log, &event);
                    happen(&store, &monitor, event, new).await;
                });
            }
        }
    }
}

/// The machine stops forever: its process is dead.
async fn die(monitor: &Monitor, log: &Log, machine: &Machine, client: usize) {
    while !machine.stand(Standstill::Stopped) {
        machine.running().await;
    }
    log.killed(&format!("c{client}"));
    monitor.disturbed(client, true);
}

async fn happen(store: &MemoryStore, monitor: &Monitor, event: StoreEvent, new: Uuid) {
    monitor.remark(|| format!("{event:?}"));
    let provider = MemoryProvider::new(store);
    let kind = match &event {
        StoreEvent::Forward(_) | StoreEvent::Backward(_) => "clock steps",
        StoreEvent::Rollback(_) => "rollbacks",
        StoreEvent::ReadOnly(_) => "read-only spells",
        StoreEvent::BreakWatches => "broken channels",
        StoreEvent::Revoke(_) => "revokes",
        StoreEvent::Force(_) => "forced releases",
        StoreEvent::Ask(_) => "requests to give back",
        StoreEvent::Purge(_) => "purges",
    };
    monitor.figures(|figures| figures.fault(kind));
    match event {
        StoreEvent::Forward(by) => store.clock_forward(by),
        StoreEvent::Backward(by) => store.clock_backward(by),
        StoreEvent::Rollback(writes) => store.rollback(writes),
        StoreEvent::BreakWatches => store.break_watches(),
        StoreEvent::ReadOnly(lasting) => {
            store.set_read_only(true);
            sleep(lasting).await;
            store.set_read_only(false);
        }
        StoreEvent::Revoke(name) => {
            let Some((name, record)) = found(&provider, &name).await else {
                return;
            };
            let Ok(mut revoke) = Revoke::new(name.clone(), record.version()) else {
                return;
            };
            revoke.new = new;
            if let Ok(outcome) = provider.revoke(&revoke).await {
                let request = Request::Revoke(revoke);
                tell(monitor, &provider, &name, &request, outcome.into()).await;
            }
        }
        StoreEvent::Force(name) => {
            let Some((name, record)) = found(&provider, &name).await else {
                return;
            };
            if let Ok(outcome) = provider.force_release(&name, &record).await {
                let token = Some(record.token);
                let release = Release::new(name.clone(), record.uuid, token);
                let request = Request::Release(release);
                tell(monitor, &provider, &name, &request, outcome.into()).await;
            }
        }
        StoreEvent::Ask(name) => {
            let Some((name, record)) = found(&provider, &name).await else {
                return;
            };
            let ask = Ask::new(name.clone(), record.uuid);
            if let Ok(outcome) = provider.ask(&ask).await {
                let request = Request::Ask(ask);
                tell(monitor, &provider, &name, &request, outcome.into()).await;
            }
        }
        StoreEvent::Purge(name) => {
            let Some((name, record)) = found(&provider, &name).await else {
                return;
            };
            if record.released && store.age(&name, Duration::from_hours(8 * 24)) {
                drop(provider.purge(10).await);
            }
        }
    }
}

async fn found(provider: &MemoryProvider, name: &str) -> Option<(Name, Record)> {
    let name = Name::new(name).ok()?;
    let record = provider.read(&name).await.ok()??;
    Some((name, record))
}

async fn tell(
    monitor: &Monitor,
    provider: &MemoryProvider,
    name: &Name,
    request: &Request,
    outcome: Outcome,
) {
    let now = provider.read(name).await.ok().flatten();
    monitor.applied(request, &outcome, now);
}
