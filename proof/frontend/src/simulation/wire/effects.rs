//! The fate of a message in flight, and of a machine that stands still.

use std::{sync::PoisonError, time::Duration};

use dlock_core::ErrorKind;
use dlock_testkit::{
    faults::Op,
    machine::{Machine, Standstill},
};
use fastrand::Rng;
use tokio::time::sleep;

use super::Wire;
use crate::{
    history::{Invariant, Log, line::PAUSE},
    simulation::{chronicle, monitor::Monitor, plan::Effect},
};

impl Wire {
    /// The machine is suspended in a moment, for this long.
    pub(super) fn sleeps(&self, lasting: Duration) {
        let this = self.clone();
        crate::spawn(async move {
            let Self(inner) = &this;
            sleep(Duration::from_millis(1)).await;
            let (machine, client) = (&inner.machine, inner.client);
            let how = Standstill::Suspended;
            stand_still(&inner.monitor, &inner.log, machine, client, how, lasting).await;
        });
    }

    /// The effect on a call for this lock, or for several: meant for it, or for all calls of this time.
    pub(super) fn effect(&self, op: Op, nth: u64, name: &str) -> Option<Effect> {
        let Self(inner) = self;
        let now = inner.start.elapsed();
        let window = || {
            let mut windows = inner.windows.iter();
            let found = windows.find(|(from, to, _)| (*from..*to).contains(&now))?;
            Some(found.2)
        };
        let effect = inner.single.get(&(op, nth)).copied().or_else(window)?;
        self.strikes(effect, name);
        Some(effect)
    }

    /// The effect that is meant for this call.
    pub(super) fn single_effect(&self, op: Op, nth: u64, name: &str) -> Option<Effect> {
        let effect = self.0.single.get(&(op, nth)).copied()?;
        self.strikes(effect, name);
        Some(effect)
    }

    fn strikes(&self, effect: Effect, name: &str) {
        let Self(inner) = self;
        let kind = match effect {
            Effect::LoseRequest => "lost requests",
            Effect::LoseReply => "lost replies",
            Effect::Refuse(ErrorKind::NotApplied) => "throttled",
            Effect::Refuse(_) => "refused",
            Effect::Doubt(_) => "doubtful",
            Effect::DelayRequest(_) => "delayed requests",
            Effect::DelayReply(_) => "delayed replies",
            Effect::Duplicate(_) => "duplicates",
            Effect::Spend => "spent tries",
            Effect::Stale(_) => "stale reads",
            Effect::SleepSent(_) | Effect::SleepAnswered(_) => "standstills",
        };
        inner.monitor.figures(|figures| figures.fault(kind));
        chronicle::call_fault(&inner.log, (inner.client, name), kind, &effect);
    }

    pub(super) fn count(&self, op: Op) -> u64 {
        let mut counts = self.0.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(op).or_default();
        *count += 1;
        *count - 1
    }

    /// Drawn separately for each message, so that leaving a fault out changes as little as possible.
    pub(super) fn latency(&self, op: Op, message: u64) -> Duration {
        let Self(inner) = self;
        let mut rng = Rng::with_seed(inner.seed);
        for salt in [inner.client as u64, op as u64, message] {
            rng = Rng::with_seed(rng.u64(..).wrapping_add(salt));
        }
        let (least, most) = inner.latency;
        Duration::from_millis(rng.u64(least..=most))
    }
}

/// A machine stands still for a while, unless it does already.
pub(in super::super) async fn stand_still(
    monitor: &Monitor,
    log: &Log,
    machine: &Machine,
    client: usize,
    how: Standstill,
    lasting: Duration,
) {
    if !machine.stand(how) {
        return;
    }
    // While its clock does not advance, the deadlines recorded before move away from what they seemed.
    let excuses: &[Invariant] = match how {
        Standstill::Frozen => &[Invariant::I7],
        _ => &[],
    };
    let fault = log.excused_fault(PAUSE, &format!("c{client}"), excuses);
    monitor.disturbed(client, true);
    sleep(lasting).await;
    machine.resume();
    monitor.disturbed(client, false);
    // Timers that stood still read the clock again within D/10 (V2).
    sleep(chronicle::AFTERMATH).await;
    fault.end();
}
