//! The owner of one handle: requests, holds, writes, renews and releases, according to the plan.

mod holding;
mod scoped;

use std::{
    pin::pin,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use dlock_core::{Client, DLock, Error, Lease, Ticket, TryAcquire};
use dlock_testkit::machine::Machine;
use tokio::time::Instant;

use self::holding::Held;
use super::{
    attend::attend,
    chronicle,
    counter::Counter,
    monitor::{Finished, Monitor},
    plan::{HandlePlan, Step, Way},
    resource::Resources,
    spans,
    wire::Station,
};
use crate::history::Log;

/// When owners stop beginning new steps.
const EVENING: Duration = Duration::from_secs(12);

pub(super) struct Worker {
    pub(super) index: usize,
    pub(super) client: Client,
    pub(super) provider: Station,
    pub(super) machine: Machine,
    pub(super) monitor: Monitor,
    pub(super) resources: Resources,
    pub(super) counter: Counter,
    pub(super) log: Log,
    pub(super) plan: HandlePlan,
}

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
        let ticket = self.ticket(step);
        let redeems = ticket.is_some();
        let id = self
            .monitor
            .begins(self.index, name, settings, once, limit, redeems);
        let label = match &self.plan.label {
            Some(label) if !once && !redeems => label.clone(),
            _ => id.to_string(),
        };
        let Some(lock) = self.lock(&label) else {
            return;
        };
        self.try_another_lock(&lock, ticket.as_ref());
        let looks_away = || {
            self.monitor.away(id);
            chronicle::away(&self.log, self.index)
        };
        let (machine, cancel, away) = (&self.machine, step.cancel, step.away);
        let held = match &step.way {
            Way::Try => {
                let asking = async {
                    match &ticket {
                        Some(ticket) => lock.redeem(ticket).once().await,
                        None => lock.try_acquire().await,
                    }
                };
                let answer = attend(machine, cancel, away, looks_away, spans::of(id, asking)).await;
                answer.map(|answer| match answer {
                    Ok(TryAcquire::Acquired(lease)) => Ok(Held::Lease(lease)),
                    Ok(TryAcquire::Held(_)) => Err(Finished::Otherwise),
                    Err(error) => Err(Finished::of(&error)),
                })
            }
            Way::Within(limit) => {
                let asking = async {
                    match &ticket {
                        Some(ticket) => lock.redeem(ticket).within(*limit).await,
                        None => lock.acquire_timeout(*limit).await,
                    }
                };
                let answer = attend(machine, cancel, away, looks_away, spans::of(id, asking)).await;
                answer.map(leased)
            }
            Way::Hold => attend(
                machine,
                cancel,
                away,
                looks_away,
                spans::of(id, lock.hold()),
            )
            .await
            .map(|answer| {
                answer
                    .map(Held::Guard)
                    .map_err(|error| Finished::of(&error))
            }),
            Way::With(end) => return self.with(id, &lock, step, *end).await,
            Way::Wait | Way::Read => {
                let asking = async {
                    match &ticket {
                        Some(ticket) => lock.redeem(ticket).wait().await,
                        None => lock.acquire().await,
                    }
                };
                let answer = attend(machine, cancel, away, looks_away, spans::of(id, asking)).await;
                answer.map(leased)
            }
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

    /// The ticket to redeem, if there is one and the step can redeem it.
    fn ticket(&self, step: &Step) -> Option<Ticket> {
        if !matches!(step.way, Way::Try | Way::Within(_) | Way::Wait) {
            return None;
        }
        match self.counter.take(&self.plan.name, step.redeems?)? {
            Ok(ticket) => Some(ticket),
            Err(what) => {
                self.monitor.complain("H11", || what);
                None
            }
        }
    }

    /// A ticket opens no other lock, and that is reported at once.
    fn try_another_lock(&self, lock: &DLock, ticket: Option<&Ticket>) {
        let Some(ticket) = ticket else { return };
        let refused = lock.named("another").map(|another| {
            let mut redeeming = pin!(another.redeem(ticket).once());
            let mut context = Context::from_waker(Waker::noop());
            matches!(
                redeeming.as_mut().poll(&mut context),
                Poll::Ready(Err(Error::TicketMismatch { .. }))
            )
        });
        if !matches!(refused, Ok(true)) {
            self.monitor
                .complain("H11", || format!("{ticket} opens another lock"));
        }
    }

    fn lock(&self, owner: &str) -> Option<DLock> {
        let HandlePlan { name, settings, .. } = &self.plan;
        // A clone of the provider would no longer find a client that has closed, and would make another.
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
            .give_up_after(settings.give_up_after)
            .poll_every_opt(settings.poll_every)
            .max_hold_opt(settings.max_hold)
            .data_opt(settings.data.clone())
            .at_least_opt(settings.at_least)
            .build();
        match lock {
            Ok(lock) => Some(lock),
            Err(error) => {
                self.monitor
                    .complain("plan", || format!("{:?}: {error}", self.plan.settings));
                None
            }
        }
    }
}

fn leased(answer: Result<Lease, Error>) -> Result<Held, Finished> {
    answer
        .map(Held::Lease)
        .map_err(|error| Finished::of(&error))
}

fn open<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}
