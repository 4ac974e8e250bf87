//! The owner of one handle: asks, holds, writes, renews and gives back, as the plan says.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use dlock_core::{
    Client, DLock, Ended, Error, FencingToken, Guard, Lease, Loss, Machine, State, TryAcquire,
};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::{
    attend::attend,
    chronicle,
    monitor::{CallerId, Finished, Monitor, Probe},
    plan::{Ending, HandlePlan, Step, Usage, Way, WorkEnd, WritePlan},
    resource::Resources,
    wire::Station,
};
use crate::history::Log;

/// When owners stop beginning anything new.
const EVENING: Duration = Duration::from_secs(12);

pub(super) struct Worker {
    pub(super) index: usize,
    pub(super) client: Client,
    pub(super) provider: Station,
    pub(super) machine: Machine,
    pub(super) monitor: Monitor,
    pub(super) resources: Resources,
    pub(super) log: Log,
    pub(super) plan: HandlePlan,
}

/// A lease in hand, which the monitor looks at.
enum Held {
    Lease(Lease),
    Guard(Guard),
}

type Slot = Arc<Mutex<Option<Held>>>;

impl Worker {
    pub(super) async fn run(self) {
        let start = Instant::now();
        for step in &self.plan.steps {
            self.machine.sleep(step.pause).await;
            if start.elapsed() > EVENING {
                return;
            }
            self.step(step).await;
        }
    }

    async fn step(&self, step: &Step) {
        let limit = match &step.way {
            Way::Read => {
                if let Some(lock) = self.lock("reader") {
                    drop(attend(&self.machine, step.cancel, None, || {}, lock.read()).await);
                }
                return;
            }
            Way::Within(limit) if !limit.is_zero() => Some(*limit),
            _ => None,
        };
        let once = matches!(&step.way, Way::Try)
            || matches!(&step.way, Way::Within(limit) if limit.is_zero());
        let HandlePlan { name, settings, .. } = &self.plan;
        let id = self.monitor.begins(self.index, name, settings, once, limit);
        let Some(lock) = self.lock(&id.to_string()) else {
            return;
        };
        let looks_away = || self.monitor.away(id);
        let (machine, cancel, away) = (&self.machine, step.cancel, step.away);
        let held = match &step.way {
            Way::Try => attend(machine, cancel, away, looks_away, lock.try_acquire())
                .await
                .map(|answer| match answer {
                    Ok(TryAcquire::Acquired(lease)) => Ok(Held::Lease(lease)),
                    Ok(TryAcquire::Held(_)) => Err(Finished::Held),
                    Err(error) => Err(Finished::of(&error)),
                }),
            Way::Within(limit) => {
                let asking = lock.acquire_timeout(*limit);
                let answer = attend(machine, cancel, away, looks_away, asking).await;
                answer.map(leased)
            }
            Way::Hold => attend(machine, cancel, away, looks_away, lock.hold())
                .await
                .map(|answer| {
                    answer
                        .map(Held::Guard)
                        .map_err(|error| Finished::of(&error))
                }),
            Way::With(end) => return self.with(id, &lock, step, *end).await,
            Way::Wait | Way::Read => attend(machine, cancel, away, looks_away, lock.acquire())
                .await
                .map(leased),
        };
        match held {
            None => self.monitor.gone(id),
            Some(Err(how)) => self.monitor.finished(id, &how),
            Some(Ok(held)) => {
                self.monitor.finished(id, &Finished::Granted);
                self.have(id, &lock, held, &step.usage).await;
            }
        }
    }

    fn lock(&self, owner: &str) -> Option<DLock> {
        let HandlePlan { name, settings, .. } = &self.plan;
        // A clone of the provider would find a client that has closed no more, and make another.
        let client = if self.monitor.is_closing(self.index) {
            self.client.clone()
        } else {
            Client::new(self.provider.clone())
        };
        let lock = DLock::builder()
            .name(name)
            .owner(owner)
            .provider(client)
            .duration(settings.duration)
            .margin(settings.margin)
            .renew_every(settings.renew_every)
            .give_up_after(settings.give_up_after);
        // The builder's setters take no options, and each changes its type.
        let poll = settings.poll_every;
        let data = settings.data.clone();
        let most = settings.max_hold;
        let lock = match (poll, most, data) {
            (None, None, None) => lock.build(),
            (Some(poll), None, None) => lock.poll_every(poll).build(),
            (None, Some(most), None) => lock.max_hold(most).build(),
            (Some(poll), Some(most), None) => lock.poll_every(poll).max_hold(most).build(),
            (None, None, Some(data)) => lock.data(data).build(),
            (Some(poll), None, Some(data)) => lock.poll_every(poll).data(data).build(),
            (None, Some(most), Some(data)) => lock.max_hold(most).data(data).build(),
            (Some(poll), Some(most), Some(data)) => {
                lock.poll_every(poll).max_hold(most).data(data).build()
            }
        };
        match lock {
            Ok(lock) => Some(lock),
            Err(error) => {
                self.monitor
                    .complain("plan", || format!("{:?}: {error}", self.plan.settings));
                None
            }
        }
    }

    /// A lease or a guard in hand.
    async fn have(&self, id: CallerId, lock: &DLock, held: Held, usage: &Usage) {
        let (uuid, token) = match &held {
            Held::Lease(lease) => (lease.uuid(), lease.token()),
            Held::Guard(guard) => (guard.uuid(), guard.token()),
        };
        let slot: Slot = Arc::new(Mutex::new(Some(held)));
        let looked_at = Arc::clone(&slot);
        let watch = Arc::new(move || open(&looked_at).as_ref().map(probe));
        if self.monitor.delivered(id, token, Some(watch)) != Some(uuid) {
            return;
        }
        if matches!(&*open(&slot), Some(Held::Guard(_))) {
            self.guarded(&slot, uuid);
        } else {
            self.listen(&slot, uuid);
            self.by_hand(&slot, uuid, usage).await;
            if usage.keep {
                let held = open(&slot).take();
                if let Some(Held::Lease(lease)) = held {
                    *open(&slot) = Some(Held::Guard(lease.keep_alive()));
                    self.guarded(&slot, uuid);
                }
            }
        }
        if let Some(write) = usage.write {
            self.write(lock, token, write, || probe_slot(&slot)).await;
        }
        self.hold(&slot, usage.hold).await;
        self.end(&slot, uuid, usage.ending).await;
    }

    /// Renewals by hand; each takes the lease out of its slot for a while.
    async fn by_hand(&self, slot: &Slot, uuid: Uuid, usage: &Usage) {
        for (after, cancel) in &usage.renewals {
            self.machine.sleep(*after).await;
            let held = open(slot).take();
            let Some(Held::Lease(mut lease)) = held else {
                return;
            };
            self.monitor.renews_by_hand(uuid);
            let answer = attend(&self.machine, *cancel, None, || {}, lease.renew()).await;
            match &answer {
                Some(Err(Error::Lost(loss))) => self.monitor.renewed_by_hand(uuid, Some(loss)),
                Some(_) => self.monitor.renewed_by_hand(uuid, None),
                None => {}
            }
            *open(slot) = Some(Held::Lease(lease));
            self.monitor.look(uuid);
        }
        // Answers may still be on their way.
        for _ in 0..if usage.renewals.is_empty() { 0 } else { 12 } {
            self.machine.sleep(Duration::from_millis(2)).await;
            self.monitor.look(uuid);
        }
    }

    /// Somebody waits for the end of a lease that does not renew itself.
    fn listen(&self, slot: &Slot, uuid: Uuid) {
        let Some(Held::Lease(lease)) = &*open(slot) else {
            return;
        };
        let (expired, monitor, machine) =
            (lease.expired(), self.monitor.clone(), self.machine.clone());
        monitor.listens(uuid);
        tokio::spawn(async move {
            expired.await;
            machine.running().await;
            monitor.expired(uuid);
        });
    }

    /// Somebody waits for the loss of a guarded lease.
    fn guarded(&self, slot: &Slot, uuid: Uuid) {
        self.monitor.guarded(uuid);
        let Some(Held::Guard(guard)) = &*open(slot) else {
            return;
        };
        let (lost, monitor) = (guard.lost(), self.monitor.clone());
        let machine = self.machine.clone();
        monitor.listens(uuid);
        tokio::spawn(async move {
            let loss = lost.await;
            machine.running().await;
            monitor.told(uuid, &loss);
        });
    }

    /// Reads, thinks, asks the lease, and sends a write, which travels on its own.
    async fn write(
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
        tokio::spawn(async move {
            sleep(travel).await;
            if let Err(stale) = resources.write(&format!("c{index}"), &name, token, seen) {
                machine.running().await;
                monitor.raised(index, &name, stale.highest);
                lock.raise_floor(stale.highest);
            }
        });
    }

    async fn hold(&self, slot: &Slot, span: Duration) {
        let lost: std::pin::Pin<Box<dyn Future<Output = ()> + Send>> = match &*open(slot) {
            Some(Held::Lease(lease)) => Box::pin(lease.expired()),
            Some(Held::Guard(guard)) => {
                let lost = guard.lost();
                Box::pin(async move { drop(lost.await) })
            }
            None => return,
        };
        let over = self.machine.sleep(span);
        tokio::select! {
            biased;
            () = lost => {}
            () = over => {}
        }
    }

    async fn end(&self, slot: &Slot, uuid: Uuid, ending: Ending) {
        let Some(held) = open(slot).take() else {
            return;
        };
        self.monitor.ends(uuid);
        let cancel = match ending {
            Ending::Drop => return drop(held),
            Ending::Release => None,
            Ending::ReleaseDropped(cancel) => Some(cancel),
        };
        let release = async move {
            match held {
                Held::Lease(lease) => lease.release().await,
                Held::Guard(guard) => guard.release().await,
            }
        };
        if let Some(answer) = attend(&self.machine, cancel, None, || {}, release).await {
            self.monitor.released(uuid, &told(answer));
        }
    }

    /// Work under `with`.
    async fn with(&self, id: CallerId, lock: &DLock, step: &Step, end: WorkEnd) {
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
            let lasting = step.away.map_or(Duration::ZERO, |away| away.lasting);
            chronicle::away(&self.log, self.index, lasting);
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
                    Ok(Err(Error::Lost(loss))) => Some(Err::<(), Loss>(loss)),
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

fn leased(answer: Result<Lease, Error>) -> Result<Held, Finished> {
    answer
        .map(Held::Lease)
        .map_err(|error| Finished::of(&error))
}

fn told(answer: Result<Ended, Error>) -> Result<Ended, dlock_core::ErrorKind> {
    answer.map_err(|error| match error {
        Error::Provider(error) => error.kind(),
        _ => dlock_core::ErrorKind::Unknown,
    })
}

fn probe(held: &Held) -> Probe {
    match held {
        Held::Lease(lease) => Probe {
            valid: lease.is_valid(),
            remaining: lease.remaining(),
            guard: None,
        },
        Held::Guard(guard) => Probe {
            valid: guard.is_valid(),
            remaining: guard.remaining(),
            guard: Some((matches!(guard.state(), State::Unsure), guard.asked())),
        },
    }
}

fn probe_slot(slot: &Slot) -> bool {
    open(slot).as_ref().is_some_and(|held| probe(held).valid)
}

fn open<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}
