//! One run: the store, the clients on their machines, their users, and the faults, in virtual time on one thread.

mod strikes;

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Client, DLock, Name,
    testing::{Event, Recorder, seeded_client},
};
use dlock_testkit::{
    machine::Machine,
    memory::{MemoryProvider, MemoryStore},
};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{
    chronicle,
    counter::Counter,
    monitor::Monitor,
    plan::{Fault, Plan},
    report::{Figures, Violation},
    resource::Resources,
    spans::Callers,
    wire::{Station, Wire},
    worker::Worker,
};
use crate::history::{Line, Log, log_commits};

/// No run takes longer: a run that has not ended by then hangs.
const LONGEST: Duration = Duration::from_secs(240);

/// How often everything is checked.
const SWEEP: Duration = Duration::from_millis(20);

/// The outcome of one run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Run {
    /// The violations; empty if all is well.
    pub violations: Vec<Violation>,
    /// The events in numbers.
    pub figures: Figures,
    /// Every event: the same for the same plan, byte for byte.
    pub history: Vec<Line>,
    /// The monitor's notes, for people; only of [`Plan::explain`].
    pub notes: Vec<String>,
}

impl Plan {
    /// Plays the plan in virtual time, on its own runtime. Ends early at a violation.
    ///
    /// # Panics
    /// If there is no memory or no thread for a runtime, or it is called on one.
    #[must_use]
    pub fn run(&self) -> Run {
        self.play(false)
    }

    /// As [`Plan::run`], with notes on everything that the monitor saw.
    ///
    /// # Panics
    /// As for [`Plan::run`].
    #[must_use]
    pub fn explain(&self) -> Run {
        self.play(true)
    }

    fn play(&self, explain: bool) -> Run {
        #[expect(
            clippy::expect_used,
            reason = "documented; a test can do nothing about it"
        )]
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(World::play(self, explain))
    }
}

/// The history of a client, and the monitor, which learns of leases that no call to the store shows.
struct Recorders {
    history: Arc<dyn Recorder>,
    monitor: Monitor,
    client: usize,
}

impl Recorder for Recorders {
    fn record(&self, name: &Name, now: Duration, event: Event) {
        if let Event::Granted(uuid, token, _) = event {
            self.monitor.believes(self.client, uuid, token);
        }
        self.history.record(name, now, event);
    }
}

struct World<'a> {
    plan: &'a Plan,
    start: Instant,
    store: MemoryStore,
    monitor: Monitor,
    log: Log,
    machines: Vec<Machine>,
    clients: Vec<(Client, Station)>,
}

impl<'a> World<'a> {
    async fn play(plan: &'a Plan, explain: bool) -> Run {
        let _spans = tracing::subscriber::set_default(Callers::default());
        let monitor = Monitor::new(explain);
        if let Some((name, most)) = plan.turns() {
            monitor.turns(name.to_owned(), most);
        }
        let log = Log::memory();
        let _allowances = chronicle::open(&log, plan);
        let mut world = Self {
            plan,
            start: Instant::now(),
            store: MemoryStore::drifting(plan.discipline, plan.store_rate),
            monitor: monitor.clone(),
            log: log.clone(),
            machines: Vec::new(),
            clients: Vec::new(),
        };
        log_commits(&world.store, &log);
        for index in 0..plan.clients.len() {
            world.client(index);
        }
        let sweeper = monitor.clone();
        crate::spawn(async move {
            loop {
                sleep(SWEEP).await;
                sweeper.sweep();
            }
        });
        for fault in &plan.faults {
            world.strike(fault);
        }
        let failed = async {
            while !monitor.failed() {
                sleep(SWEEP).await;
            }
        };
        tokio::select! {
            biased;
            ended = timeout(LONGEST, world.live()) => {
                if ended.is_err() {
                    monitor.complain("hang", || "the run does not end".into());
                }
            }
            () = failed => {}
        }
        monitor.sweep();
        let (mut violations, mut figures, notes) = monitor.finish();
        figures.runs = 1;
        figures.virtual_time = world.start.elapsed();
        let history = log.lines();
        let (found, bounds) = chronicle::judge(&history);
        violations.extend(found);
        figures.bounds = bounds;
        Run {
            violations,
            figures,
            history,
            notes,
        }
    }

    fn client(&mut self, index: usize) {
        let client = &self.plan.clients[index];
        let machine = Machine::new(client.rate);
        let clock = machine.clock();
        self.monitor.client(machine.clone());
        let store = MemoryProvider::new(&self.store)
            .wakeups(client.wakeups)
            .cheap_reads(self.plan.cheap_reads);
        let monitor = self.monitor.clone();
        let axis = chronicle::axis(monitor.anchors(index), client.rate);
        let process = self.log.process_on(&format!("c{index}"), &clock, axis);
        let log = self.log.clone();
        let wire = Wire::new(self.plan, index, store, machine.clone(), monitor, log);
        let station = Station::new(process.wrap(wire));
        let seed = self.plan.seed.wrapping_mul(64).wrapping_add(index as u64);
        let client = seeded_client(station.clone(), clock, seed);
        let recorder = Recorders {
            history: process.recorder(),
            monitor: self.monitor.clone(),
            client: index,
        };
        self.clients
            .push((client.recorded(Arc::new(recorder)), station));
        self.machines.push(machine);
    }

    /// All owners follow their plans; then every client closes, and a newcomer finds every lock free in the end.
    async fn live(&self) {
        let resources = Resources::new(self.monitor.clone(), self.log.clone(), self.plan.broken());
        let counter = Counter::default();
        let mut workers = Vec::new();
        for (index, client) in self.plan.clients.iter().enumerate() {
            for handle in &client.handles {
                let worker = Worker {
                    index,
                    client: self.clients[index].0.clone(),
                    provider: self.clients[index].1.clone(),
                    machine: self.machines[index].clone(),
                    monitor: self.monitor.clone(),
                    resources: resources.clone(),
                    counter: counter.clone(),
                    log: self.log.clone(),
                    plan: handle.clone(),
                };
                workers.push((index, crate::spawn(worker.run())));
            }
            if let Some(at) = client.closes {
                crate::spawn(self.close(index, at));
            }
        }
        for (index, worker) in workers {
            if self.dies(index) {
                continue;
            }
            if let Err(error) = worker.await {
                self.monitor
                    .complain("panic", || format!("c{index}: {error}"));
            }
        }
        for (index, client) in self.plan.clients.iter().enumerate() {
            if !self.dies(index) && client.closes.is_none() {
                self.close(index, Duration::ZERO).await;
            }
        }
        self.newcomer().await;
    }

    fn dies(&self, client: usize) -> bool {
        self.plan.faults.iter().any(|fault| {
            matches!(fault, Fault::Standstill { client: whose, lasting: None, .. } if *whose == client)
        })
    }

    fn close(&self, index: usize, at: Duration) -> impl Future<Output = ()> + Send + use<> {
        let (client, machine) = (self.clients[index].0.clone(), self.machines[index].clone());
        let (monitor, at) = (self.monitor.clone(), self.start + at);
        async move {
            sleep_until(at).await;
            machine.running().await;
            monitor.closes(index);
            let counted = client.close().await;
            monitor.closed(index, counted);
        }
    }

    /// I10, I15: whatever happened, each lock can be acquired in the end.
    async fn newcomer(&self) {
        let provider = MemoryProvider::new(&self.store);
        let clock = Machine::new(1.0).clock();
        let process = self.log.process_with("newcomer", &clock, 1.0);
        let client =
            process.simulated_client(provider, self.plan.seed.wrapping_mul(64).wrapping_add(63));
        let handles = self.plan.clients.iter().flat_map(|client| &client.handles);
        let longest = handles.clone().map(|handle| handle.settings.duration).max();
        let limit = longest.unwrap_or_default() * 5;
        let mut names: Vec<&str> = handles.map(|handle| handle.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        self.store.set_read_only(false);
        for name in names {
            let lock = DLock::builder()
                .name(name)
                .owner("newcomer")
                .provider(&client)
                .build();
            let lease = match lock {
                Ok(lock) => lock
                    .acquire_timeout(limit)
                    .await
                    .map(drop)
                    .map_err(|e| e.to_string()),
                Err(error) => Err(error.to_string()),
            };
            if let Err(error) = lease {
                self.monitor.complain("I10", || {
                    format!("{name} cannot be had at the end: {error}")
                });
            }
        }
    }
}
