//! One process: a worker with its client and its connection to the store, from its start to its end.

use std::{sync::Arc, time::SystemTime};

use dlock_core::{Client, Clock, ProviderError, testing::seeded_client};
use dlock_tasks::{Context, NewTask, Schedule, Served, TaskStore, Worker};
use dlock_testkit::tasks::memory::MemoryTasks;
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Duration, Instant, sleep, timeout},
};

use super::{
    handler::{Planned, Tick, handle, planned},
    monitor::{Monitor, ProcessId},
    plan::{End, Plan},
    wire::Wire,
};
use crate::tasks::Wrapped;

/// A worker that has not returned after this long hangs.
const HANGS: Duration = Duration::from_secs(120);

/// The world that all processes share.
#[derive(Clone)]
pub(in crate::tasks) struct Surroundings {
    pub(in crate::tasks) plan: Arc<Plan>,
    pub(in crate::tasks) store: MemoryTasks,
    pub(in crate::tasks) monitor: Monitor,
    pub(in crate::tasks) start: Instant,
}

/// The parts of a life.
pub(in crate::tasks) struct Parts {
    pub(in crate::tasks) id: ProcessId,
    pub(in crate::tasks) store: Wrapped<MemoryTasks, Wire>,
    pub(in crate::tasks) client: Client,
    pub(in crate::tasks) worker: Worker,
    wire: Wire,
}

/// A life that has begun.
pub(in crate::tasks) struct Process {
    id: ProcessId,
    wire: Wire,
    client: Client,
    stop: watch::Sender<bool>,
    worker: JoinHandle<Result<(), ProviderError>>,
    ticking: Option<JoinHandle<()>>,
    monitor: Monitor,
    lease: Duration,
}

impl Parts {
    /// The parts of life number `life` of a worker.
    pub(in crate::tasks) fn new(around: &Surroundings, worker: usize, life: usize) -> Self {
        let Surroundings {
            plan,
            store,
            monitor,
            start,
        } = around;
        let settings = &plan.workers[worker];
        let number = u64::try_from(worker * 100 + life).unwrap_or(u64::MAX);
        let mut random = fastrand::Rng::with_seed(plan.seed.wrapping_mul(10_007) ^ number);
        let id = monitor.process(settings);
        let wire = Wire::new(plan, worker, id, (monitor.clone(), *start), random.fork());
        let store = Wrapped::new(store.clone(), wire.clone());
        // The worker finds this client by the provider's `Sharing`.
        let clock = Clock::tokio(settings.rate);
        let client = seeded_client(store.claims(), clock, random.u64(..));
        let built = Worker::builder()
            .store(store.clone())
            .concurrency(settings.concurrency)
            .lease(settings.lease)
            .grace(settings.grace)
            .timeout_opt(settings.timeout)
            .owner(format!("worker-{worker}#{life}"))
            .build()
            .unwrap_or_else(|error| panic!("a plan that is none: {error}"));
        let (at, of) = (monitor.clone(), Arc::clone(plan));
        let ticks = monitor.clone();
        let built = built
            .handle(move |context: Context, task: Planned| {
                handle(at.clone(), id, planned(&of, &task), context)
            })
            .handle(move |context: Context, _: Tick| {
                let what = (super::plan::How::Succeeds, Duration::ZERO);
                handle(ticks.clone(), id, what, context)
            });
        Self {
            id,
            store,
            client,
            worker: built,
            wire,
        }
    }
}

impl Process {
    /// Starts life number `life` of a worker.
    pub(in crate::tasks) fn start(around: &Surroundings, worker: usize, life: usize) -> Self {
        let Parts {
            id,
            store,
            client,
            worker: built,
            wire,
        } = Parts::new(around, worker, life);
        let plan = &around.plan;
        let lease = plan.workers[worker].lease;
        let (stop, mut stopped) = watch::channel(false);
        let worker = crate::spawn(built.run(async move {
            // The sender lives as long as the process.
            drop(stopped.wait_for(|stopped| *stopped).await);
        }));
        let ticking = plan.period.map(|period| {
            let wall = around.store.clone();
            crate::spawn(async move { tick(&store, period, move || wall.now()).await })
        });
        Self {
            id,
            wire,
            client,
            stop,
            worker,
            ticking,
            monitor: around.monitor.clone(),
            lease,
        }
    }

    /// Lives until then, or until the worker returns, which it must not.
    pub(in crate::tasks) async fn until(&mut self, end: impl Future<Output = ()>) {
        tokio::select! {
            biased;
            () = end => {}
            returned = &mut self.worker => {
                self.monitor.complain("J2", format!("a worker returned unasked: {returned:?}"));
            }
        }
    }

    /// Ends the life.
    pub(in crate::tasks) async fn end(mut self, how: End) {
        if let Some(ticking) = self.ticking.take() {
            ticking.abort();
        }
        match how {
            End::Stop => {
                self.monitor.stops(self.id);
                self.stop.send_replace(true);
                match timeout(HANGS, &mut self.worker).await {
                    Ok(Ok(Ok(()))) => self.monitor.returned(self.id),
                    other => self
                        .monitor
                        .complain("J2", format!("a worker that stops: {other:?}")),
                }
            }
            End::Crash => {
                self.monitor.dies(self.id);
                self.wire.cut();
                self.worker.abort();
                return;
            }
            End::Drop => {
                self.monitor.drops(self.id);
                self.worker.abort();
                // Its handlers end with it, a moment later.
                drop((&mut self.worker).await);
                sleep(Duration::from_millis(1)).await;
            }
        }
        // A dropped claim is released, or its lease ends.
        let began = Instant::now();
        match timeout(HANGS, self.client.close()).await {
            Ok(0) => {}
            other => self
                .monitor
                .complain("G3", format!("the client does not close: {other:?}")),
        }
        sleep((self.lease + Duration::from_secs(1)).saturating_sub(began.elapsed())).await;
        self.monitor.nothing_left(self.id, "a lease");
    }
}

/// Serves a schedule, as a worker does.
async fn tick(store: &impl TaskStore, period: Duration, wall: impl Fn() -> SystemTime) {
    let Ok(schedule) = Schedule::every(period) else {
        return;
    };
    let task = NewTask::builder()
        .kind("tick")
        .payload(serde_json::json!({}))
        .build();
    loop {
        let now = wall();
        let Some(instant) = schedule.latest(now) else {
            return;
        };
        let next = schedule
            .next(now)
            .and_then(|next| next.duration_since(now).ok());
        let wait = match store.enqueue_periodic("tick", instant, &task).await {
            Ok(Served::NotYet(wait)) => wait,
            Ok(_) => next.unwrap_or(period),
            Err(_) => Duration::from_millis(500),
        };
        sleep(wait.max(Duration::from_millis(1))).await;
    }
}
