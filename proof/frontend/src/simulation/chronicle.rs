//! The parts of a run's history beyond calls and beliefs: its settings, its faults, and what they excuse; and its
//! checker's judgement.

use std::{collections::BTreeMap, sync::PoisonError, time::Duration};

use tokio::{runtime::Handle, time::sleep};

use super::{
    monitor::Anchors,
    plan::{Effect, Plan, StoreEvent},
    report::Violation,
};
use crate::history::{
    Axis, Header, Invariant, Line, Log, OpenFault,
    checker::check,
    line::{AFTERMATH as FAULT_AFTERMATH, PAUSE, micros},
};

/// How long after a fault of a call its caller is still busy with it: an attempt takes at most D/6, and no lease here
/// is longer than four seconds.
pub(super) const AFTERMATH: Duration = Duration::from_millis(900);

/// Writes the header, and begins the allowances that last for the whole run.
pub(super) fn open(log: &Log, plan: &Plan) -> Vec<OpenFault> {
    let settings = || {
        let clients = plan.clients.iter();
        clients.flat_map(|client| client.handles.iter().map(|handle| &handle.settings))
    };
    let longest = settings()
        .map(|settings| settings.duration)
        .max()
        .unwrap_or_default();
    let poll = settings()
        .map(|settings| settings.poll(true).max(settings.poll(false)))
        .max();
    let slowest = plan
        .clients
        .iter()
        .map(|client| client.latency.1)
        .max()
        .unwrap_or_default();
    let mut header = Header::new("simulation", plan.discipline, longest);
    header.seed = Some(plan.seed);
    header.command = format!(
        "DLOCK_SIMULATION_SEED={} cargo test -p dlock-proof --test simulation",
        plan.seed
    );
    header.poll = micros(poll.unwrap_or_default());
    header.round_trip = micros(Duration::from_millis(2 * slowest + 2));
    // Timers tick in milliseconds, and several follow each other.
    header.slack = micros(Duration::from_millis(10));
    header.commits = true;
    header.single_thread = true;
    log.header(header);

    let mut allowed = Vec::new();
    if settings().any(|settings| settings.duration < Duration::from_millis(slowest * 24)) {
        allowed.push(log.fault("slow network", ""));
    }
    let broken = plan.broken();
    let mut excuses = Vec::new();
    if broken.exclusion {
        excuses.extend([
            Invariant::I1,
            Invariant::I2,
            Invariant::I6,
            Invariant::I8,
            Invariant::I9,
            Invariant::I11,
            Invariant::I12,
            Invariant::I17,
            Invariant::B4,
        ]);
    }
    if broken.tokens {
        excuses.extend([Invariant::I3, Invariant::I4, Invariant::I5]);
    }
    if !excuses.is_empty() {
        allowed.push(log.excused_fault("no promise", "", &excuses));
    }
    allowed
}

/// How a client's clock maps to true time, anchored at each change of its pace.
pub(super) fn axis(anchors: Anchors, rate: f64) -> Axis {
    Axis::new(move |reading| {
        let anchors = anchors.lock().unwrap_or_else(PoisonError::into_inner);
        let after = anchors.partition_point(|(shown, _)| *shown <= reading);
        let (shown, at) = after
            .checked_sub(1)
            .map_or_else(Default::default, |last| anchors[last]);
        let global = at + reading.saturating_sub(shown).div_f64(rate);
        let next = anchors.get(after).map_or(Duration::MAX, |(_, at)| *at);
        micros(global.min(next))
    })
}

/// Records that a call of a client for a lock was struck; for several locks, if the name is empty.
pub(super) fn call_fault(log: &Log, (client, name): (usize, &str), kind: &str, effect: &Effect) {
    let process = format!("c{client}");
    let fault = match effect {
        // An operator's release belongs to no client, and the same try may be granted a second time after another term
        // was.
        Effect::Spend => {
            use Invariant::{I1, I2, I3, I9, I11, I12};
            let excuses = [I1, I2, I3, I9, I11, I12];
            log.fault_of(kind, &process, name, &excuses)
        }
        // The pause itself is recorded where it begins.
        Effect::SleepSent(_) | Effect::SleepAnswered(_) => return,
        _ => log.fault_of(kind, &process, name, &[]),
    };
    let lasting = match effect {
        Effect::DelayRequest(by) | Effect::DelayReply(by) | Effect::Duplicate(by) => *by,
        // The invariants that it breaks show only later.
        Effect::Spend => AFTERMATH,
        _ => Duration::ZERO,
    };
    let (log, lock) = (log.clone(), name.to_owned());
    crate::spawn(async move {
        sleep(lasting).await;
        fault.end();
        let aftermath = log.fault_of(FAULT_AFTERMATH, &process, &lock, &[]);
        sleep(AFTERMATH).await;
        aftermath.end();
    });
}

/// A client's clock jumps: deadlines that were recorded before lie earlier than they seemed.
pub(super) fn blocked(log: &Log, client: usize) {
    let fault = log.excused_fault(PAUSE, &format!("c{client}"), &[Invariant::I7]);
    crate::spawn(async move {
        // Longer than any lease.
        sleep(5 * AFTERMATH).await;
        fault.end();
    });
}

/// A caller does not poll, and takes no grant that arrives (W6), until this is dropped.
pub(super) fn away(log: &Log, client: usize) -> Away {
    Away(Some(log.fault("away", &format!("c{client}"))))
}

/// The same under `with`: its work stands still, and is not notified of anything.
pub(super) fn away_from_work(log: &Log, client: usize) -> Away {
    Away(Some(log.fault(PAUSE, &format!("c{client}"))))
}

/// A caller does not poll. It is unknown for how long: its machine may stand still meanwhile.
pub(super) struct Away(Option<OpenFault>);

impl Drop for Away {
    fn drop(&mut self) {
        // Without a runtime the run has ended, and so has the fault.
        if let (Some(fault), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(async move {
                sleep(AFTERMATH).await;
                fault.end();
            });
        }
    }
}

/// Records an event at the store.
pub(super) fn store_fault(log: &Log, event: &StoreEvent) {
    let name = match event {
        StoreEvent::Revoke(name) | StoreEvent::Force(name) | StoreEvent::Purge(name) => name,
        _ => "",
    };
    let (kind, lasting, excuses): (&str, Duration, &[Invariant]) = match event {
        StoreEvent::Forward(_) => ("clock step", AFTERMATH, &[]),
        // Until contenders have observed for a lease; until then the expiry is unknown.
        StoreEvent::Backward(by) => ("clock step", *by + 10 * AFTERMATH, &[]),
        StoreEvent::Rollback(_) => ("rollback", 10 * AFTERMATH, &[]),
        StoreEvent::ReadOnly(lasting) => ("read-only store", *lasting + AFTERMATH, &[]),
        StoreEvent::BreakWatches => ("broken channels", AFTERMATH, &[]),
        StoreEvent::Revoke(_) => ("revoke", AFTERMATH, &[Invariant::I17]),
        StoreEvent::Force(_) => ("forced release", AFTERMATH, &[Invariant::I9]),
        StoreEvent::Ask(_) => return,
        // Its age is fabricated.
        StoreEvent::Purge(_) => ("purge", AFTERMATH, &[Invariant::I3]),
    };
    let fault = log.fault_of(kind, "", name, excuses);
    crate::spawn(async move {
        sleep(lasting).await;
        fault.end();
    });
}

/// The findings of the checker of histories, and how often it judged each bound of time.
pub(super) fn judge(history: &[Line]) -> (Vec<Violation>, BTreeMap<Invariant, u64>) {
    let report = check(history);
    let violations = report.violations.iter().take(5);
    let violations = violations
        .map(|found| Violation {
            rule: found.invariant.to_string(),
            at: Duration::from_micros(found.t),
            what: format!("{}: {} (history)", found.name, found.says),
        })
        .collect();
    let judgements = report.counts.judgements.into_iter();
    let bounds = judgements.map(|(invariant, of_it)| (invariant, of_it.bounds));
    (
        violations,
        bounds.filter(|(_, bounds)| *bounds > 0).collect(),
    )
}
