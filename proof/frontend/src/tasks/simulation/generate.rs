//! Plans from seeds.

use std::time::Duration;

use fastrand::Rng;

use super::plan::{Calls, Effect, End, Fault, How, Life, Plan, TaskPlan, WorkerPlan};

/// For how long faults strike.
const STORMY: u64 = 60_000;

impl Plan {
    /// The plan of a seed.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        let random = &mut Rng::with_seed(seed);
        let lease = millis(random, 1000, 10_000);
        let workers = (0..random.usize(2..=4)).map(|_| worker(random, lease));
        let mut workers: Vec<_> = workers.collect();
        let tasks = (0..random.usize(4..=24)).map(|_| task(random, lease));
        let mut tasks: Vec<_> = tasks.collect();
        // Some tasks are added when a worker is about to stop, and may be claimed just then.
        for worker in &workers {
            let stops = worker.lives.iter().filter(|life| life.end == End::Stop);
            for life in stops.filter(|life| life.to < Duration::MAX) {
                let before = millis(random, 0, 2 * worker.latency.1);
                let at = life.to.saturating_sub(before);
                tasks.push(TaskPlan {
                    at,
                    cancel: None,
                    ..task(random, lease)
                });
            }
        }
        let calm = random.u32(0..8) == 0;
        let mut faults: Vec<_> = (0..if calm { 0 } else { random.usize(1..=8) })
            .map(|_| fault(random, workers.len(), lease))
            .collect();
        if !calm && random.bool() {
            let number = random.usize(..workers.len());
            let (from, worker) = (millis(random, 0, STORMY), &mut workers[number]);
            faults.extend(eclipse(random, number, from, worker));
            // The tasks that it claims just then take longer than its lease.
            tasks.extend((0..4).map(|_| TaskPlan {
                at: from,
                how: How::Succeeds,
                takes: worker.lease.mul_f64(2.5),
                priority: 0,
                lane: None,
                max_attempts: 30,
                cancel: None,
            }));
        }
        let period = random.bool().then(|| millis(random, 1000, 8000));
        // Drawn from a separate sequence: everything else of a seed stays as it was before these existed.
        let random = &mut Rng::with_seed(!seed);
        if random.bool() {
            for task in &mut tasks {
                task.lane = random.bool().then(|| random.u8(0..3));
            }
        }
        let limit = (random.u32(0..3) == 0).then(|| random.u32(1..=3));
        Self {
            seed,
            workers,
            tasks,
            faults,
            period,
            limit,
        }
    }
}

fn worker(random: &mut Rng, lease: Duration) -> WorkerPlan {
    // Mostly the lease of the others.
    let lease = match random.u32(0..4) {
        0 => millis(random, 1000, 10_000),
        _ => lease,
    };
    // So that a heartbeat is answered in time.
    let most = u64::try_from(lease.as_millis() / 20).unwrap_or(40);
    let most = if random.bool() { most } else { most.min(40) };
    let latency = random.u64(0..=most);
    let mut lives = Vec::new();
    let mut from = random.u64(0..3000);
    for _ in 0..random.usize(0..4) {
        let to = from + random.u64(1..20_000);
        let end = match random.u32(0..4) {
            0 => End::Stop,
            1 => End::Drop,
            _ => End::Crash,
        };
        lives.push(Life {
            from: Duration::from_millis(from),
            to: Duration::from_millis(to),
            end,
        });
        from = to + random.u64(0..5000);
    }
    lives.push(Life {
        from: Duration::from_millis(from),
        to: Duration::MAX,
        end: End::Stop,
    });
    WorkerPlan {
        rate: 0.9 + 0.2 * random.f64(),
        latency: (latency / 4, latency),
        patience: if random.bool() {
            lease / 6
        } else {
            Duration::from_secs(5)
        },
        lease,
        concurrency: random.usize(1..=4),
        grace: millis(random, 100, 5000),
        timeout: (random.u32(0..3) == 0).then(|| millis(random, 1000, 20_000)),
        lives,
    }
}

fn task(random: &mut Rng, lease: Duration) -> TaskPlan {
    let how = match random.u32(0..16) {
        0 => How::Fails(random.u32(1..4), Some(millis(random, 0, 4000))),
        1 => How::Fails(random.u32(1..4), None),
        2 => How::Panics,
        3 | 4 => How::Steps(random.u64(2..6)),
        5 => How::Snoozes(millis(random, 0, 4000)),
        6 => How::Discards,
        7 => How::Hangs,
        _ => How::Succeeds,
    };
    let takes = match random.u32(0..4) {
        0 => Duration::ZERO,
        1 => lease.mul_f64(0.5 + 2.0 * random.f64()),
        _ => millis(random, 0, 1500),
    };
    TaskPlan {
        at: millis(random, 0, 50_000),
        how,
        takes,
        priority: random.u8(0..10),
        lane: None,
        max_attempts: if random.u32(0..3) == 0 {
            random.u32(1..4)
        } else {
            30
        },
        cancel: (random.u32(0..8) == 0).then(|| (millis(random, 0, 6000), random.bool())),
    }
}

fn fault(random: &mut Rng, workers: usize, lease: Duration) -> Fault {
    let span = lease.mul_f64(1.5 * random.f64());
    let effect = match random.u32(0..9) {
        0 | 1 => Effect::LoseRequest,
        2 | 3 => Effect::LoseReply,
        4 => Effect::DelayRequest(span),
        5 => Effect::DelayReply(span),
        6 => Effect::Duplicate(span),
        7 => Effect::Refuse,
        _ => Effect::Doubt,
    };
    Fault {
        worker: (random.u32(0..3) > 0).then(|| random.usize(..workers)),
        from: millis(random, 0, STORMY),
        lasting: lease.mul_f64(0.1 + 2.4 * random.f64()),
        calls: Calls::All,
        effect,
        chance: if random.bool() { 1.0 } else { 0.3 },
    }
}

/// A claim whose answer comes late or is repeated, with no heartbeat after it: this exposes a worker that believes for
/// too long.
fn eclipse(random: &mut Rng, number: usize, from: Duration, worker: &mut WorkerPlan) -> [Fault; 2] {
    let lease = worker.lease;
    let (effect, lasts) = if random.bool() {
        worker.patience = lease / 6;
        // The first answer is lost, and not that of its repeat.
        (Effect::LoseReply, 0.16)
    } else {
        worker.patience = Duration::from_secs(5);
        (
            Effect::DelayReply(lease.mul_f64(0.3 + 0.4 * random.f64())),
            0.4,
        )
    };
    let fault = |calls, effect, leases| Fault {
        worker: Some(number),
        from,
        lasting: lease.mul_f64(leases),
        calls,
        effect,
        chance: 1.0,
    };
    [
        fault(Calls::Claims, effect, lasts),
        fault(Calls::Heartbeats, Effect::LoseRequest, 2.5),
    ]
}

fn millis(random: &mut Rng, from: u64, to: u64) -> Duration {
    Duration::from_millis(random.u64(from..=to))
}
