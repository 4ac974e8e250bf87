//! A fleet of instances, each on a machine with its own clock, and an observer that checks at every change of
//! leadership whether there are two leaders, and at every piece of work whether a follower did it.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard},
    task::ready,
    time::Duration,
};

use dlock_core::testing::seeded_client;
use dlock_election::{Coordinator, Election, Next, Transition};
use dlock_testkit::{
    faults::{Fault, Faulty},
    machine::{Machine, Standstill},
    memory::{MemoryProvider, MemoryStore},
};
use tokio::{
    sync::oneshot,
    task::JoinHandle,
    time::{Instant, sleep},
};

use crate::support::{NAME, Provider};

/// The interval at which a leader works.
const PACE: Duration = Duration::from_millis(700);

/// All instances, and the observations of them.
pub(crate) struct Fleet {
    store: MemoryStore,
    pub(crate) instances: Vec<Member>,
    seen: Arc<Seen>,
    seed: u64,
    born: u64,
}

/// One process of the fleet.
pub(crate) struct Member {
    pub(crate) election: Election,
    pub(crate) provider: Provider,
    machine: Machine,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<()>,
    listening: JoinHandle<()>,
}

#[derive(Default)]
struct Seen {
    elections: Mutex<Vec<Election>>,
    report: Mutex<Report>,
}

/// The violations, the number of new leaders, and the number of pieces of work.
#[derive(Clone, Default)]
pub(crate) struct Report {
    pub(crate) wrong: Vec<String>,
    pub(crate) gains: u32,
    pub(crate) deeds: u32,
}

impl Fleet {
    /// Clocks run up to 10 % fast or slow, which the margin covers. All random decisions follow from the seed.
    pub(crate) fn start(store: MemoryStore, rates: &[f64], seed: u64) -> Self {
        let mut fleet = Self {
            store,
            instances: Vec::new(),
            seen: Arc::default(),
            seed,
            born: 0,
        };
        for rate in rates {
            let member = fleet.member(*rate);
            fleet.instances.push(member);
        }
        fleet
    }

    fn member(&mut self, rate: f64) -> Member {
        self.born += 1;
        let machine = Machine::new(rate);
        let provider = Faulty::new(MemoryProvider::new(&self.store));
        let seed = self.seed << 32 | self.born;
        let client = seeded_client(provider.clone(), machine.clock(), seed);
        let id = format!("{} of {seed}", self.born);
        let election = Election::builder()
            .provider(&client)
            .name(NAME)
            .owner(id)
            .build()
            .unwrap();
        let mut transitions = election.transitions();
        let (seen, asked) = (Arc::clone(&self.seen), election.clone());
        // A leadership has no gaps, so a second leader can appear only when one is gained.
        let listening = tokio::spawn(async move {
            while let Some(next) = transitions.next().await {
                if let Next::Transition(Transition::Gained { .. }) = next {
                    seen.gained(&asked);
                }
            }
        });
        self.work(&election, &machine);
        let (stop, stopped) = oneshot::channel::<()>();
        let (runs, runner) = (election.clone(), machine.clone());
        let running = tokio::spawn(on(runner, async move {
            let shutdown = Box::pin(async move { drop(stopped.await) });
            runs.run(shutdown).await.unwrap();
        }));
        self.seen.elections().push(election.clone());
        Member {
            election,
            provider,
            machine,
            stop: Some(stop),
            running,
            listening,
        }
    }

    /// A leader works all the time, and runs a task now and then, each time as leader.
    fn work(&self, election: &Election, machine: &Machine) {
        let (seen, asked, at) = (Arc::clone(&self.seen), election.clone(), machine.clone());
        election.lead(move |_leadership| {
            let (seen, asked) = (Arc::clone(&seen), asked.clone());
            on(at.clone(), async move {
                loop {
                    seen.did("work", &asked);
                    sleep(PACE).await;
                }
            })
        });
        let (seen, asked, at) = (Arc::clone(&self.seen), election.clone(), machine.clone());
        election.every("task", Duration::from_secs(30), move |_leadership| {
            let (seen, asked) = (Arc::clone(&seen), asked.clone());
            on(at.clone(), async move {
                seen.did("a task", &asked);
                sleep(Duration::from_secs(5)).await;
                seen.did("a task", &asked);
            })
        });
    }

    /// Kills the process, and starts another on that machine.
    pub(crate) async fn crash(&mut self, who: usize, rate: f64) {
        let fresh = self.member(rate);
        let Member {
            provider,
            election,
            running,
            listening,
            ..
        } = std::mem::replace(&mut self.instances[who], fresh);
        // Its requests no longer arrive from now on.
        provider.everything(Fault::LoseRequest);
        for task in [running, listening] {
            task.abort();
            drop(task.await);
        }
        let id = election.owner().to_owned();
        self.seen.elections().retain(|other| other.owner() != id);
    }

    /// Stops the process in good order, and starts another.
    pub(crate) async fn replace(&mut self, who: usize, rate: f64) {
        let fresh = self.member(rate);
        let Member {
            election,
            stop,
            running,
            ..
        } = std::mem::replace(&mut self.instances[who], fresh);
        drop(stop);
        running.await.unwrap();
        assert!(!election.is_leader());
    }

    /// Pauses the machine for this long.
    pub(crate) fn stand(&self, who: usize, how: Standstill, lasting: Duration) {
        let machine = self.instances[who].machine.clone();
        if machine.stand(how) {
            tokio::spawn(async move {
                sleep(lasting).await;
                machine.resume();
            });
        }
    }

    pub(crate) fn leader(&self) -> Option<usize> {
        let leads = |member: &Member| member.election.is_leader();
        self.instances.iter().position(leads)
    }

    pub(crate) fn report(&self) -> Report {
        self.seen.report().clone()
    }
}

impl Seen {
    fn gained(&self, election: &Election) {
        self.report().gains += 1;
        let leaders: Vec<String> = self
            .elections()
            .iter()
            .filter(|other| other.is_leader())
            .map(|leader| leader.owner().to_owned())
            .collect();
        if leaders.len() > 1 {
            self.wrong(&format!(
                "{} leads, and so do {leaders:?}",
                election.owner()
            ));
        }
    }

    fn did(&self, what: &str, election: &Election) {
        self.report().deeds += 1;
        if !election.is_leader() {
            self.wrong(&format!("{} does {what} and follows", election.owner()));
        }
    }

    fn wrong(&self, what: &str) {
        let at = Instant::now();
        self.report().wrong.push(format!("{at:?}: {what}"));
    }

    fn report(&self) -> MutexGuard<'_, Report> {
        self.report.lock().unwrap()
    }

    fn elections(&self) -> MutexGuard<'_, Vec<Election>> {
        self.elections.lock().unwrap()
    }
}

/// A future that runs on this machine, and does not while the machine is paused.
async fn on<F: Future>(machine: Machine, run: F) -> F::Output {
    let mut run = pin!(run);
    let mut standing: Option<Pin<Box<dyn Future<Output = ()> + Send>>> = None;
    poll_fn(|context| {
        let gate = standing.get_or_insert_with(|| {
            let machine = machine.clone();
            Box::pin(async move { machine.running().await })
        });
        ready!(gate.as_mut().poll(context));
        standing = None;
        run.as_mut().poll(context)
    })
    .await
}
