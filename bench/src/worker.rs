//! The other processes of a run: this program again, as `dlock-bench worker`. Orders arrive as lines of JSON on its
//! standard input, answers leave the same way; it ends when its input does.

use std::{process::Stdio, sync::Arc, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use dlock_core::{Client, DLock, Guard};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines, stdin},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::{sleep, timeout},
};

use crate::{
    account::resident,
    clock::{Moment, process_time, thread_time},
    contend::{self, Plan, Waiter},
    counters::{self, Counted},
    queues::{self, Work},
    results::{Figures, figures},
    statistics::millis,
    systems::{
        self, Held, Lock, Places, Store,
        ours::{self, Waiting},
    },
};

/// Longer than any order takes.
const PATIENCE: Duration = Duration::from_secs(180);

/// An order to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Connect a system and open a lock: `Ready`.
    Open {
        store: Store,
        system: String,
        places: Places,
        name: String,
    },
    /// That many tasks wait for it in turns: `Waited`.
    Contend { plan: Plan, tasks: usize },
    /// Wait for it once: `Granted`.
    Acquire,
    /// Release it: `Released`.
    Release,
    /// Take this lock of ours and renew it: `Sent` for the grant and for each renewal.
    Keep(Lease),
    /// Wait for this lock of ours: `Granted`.
    Await(Lease),
    /// Take that many locks of ours and renew them: `Ready` when they are taken and the watch begins, then `Renewed`.
    Renew {
        lease: Lease,
        leases: usize,
        watch: Duration,
    },
    /// Run the tasks of a queue: `Ready`.
    Work(Work),
    /// Stop running them: `Worked`.
    StopWork,
}

/// One of our locks, with its own lease.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Lease {
    pub(crate) store: Store,
    pub(crate) places: Places,
    pub(crate) name: String,
    pub(crate) duration: Duration,
}

/// An answer of a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    Ready,
    Waited {
        waiters: Vec<Waiter>,
        requests: u64,
    },
    Granted(Moment),
    Released {
        called: Moment,
    },
    /// When the request that the holder's lease now counts from was sent.
    Sent(Moment),
    Renewed(Figures),
    Worked(queues::Tally),
    Failed(String),
}

/// A worker, as the run sees it. Dropping this kills it.
pub(crate) struct Worker {
    child: Child,
    orders: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    /// A worker with one thread.
    pub(crate) fn start() -> Result<Self> {
        Self::with(&["worker"])
    }

    /// A worker with as many threads as a user's program has.
    pub(crate) fn with_threads() -> Result<Self> {
        Self::with(&["worker", "--threads"])
    }

    fn with(arguments: &[&str]) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let orders = child.stdin.take().context("no pipe to the worker")?;
        let answers = child.stdout.take().context("no pipe from the worker")?;
        Ok(Self {
            child,
            orders,
            answers: BufReader::new(answers).lines(),
        })
    }

    pub(crate) async fn tell(&mut self, order: &Order) -> Result<()> {
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        self.orders.write_all(&line).await?;
        Ok(())
    }

    /// The next answer.
    pub(crate) async fn hear(&mut self) -> Result<Answer> {
        let line = timeout(PATIENCE, self.answers.next_line())
            .await
            .context("a worker did not answer")??
            .context("a worker ended")?;
        match serde_json::from_str(&line)? {
            Answer::Failed(error) => bail!("in a worker: {error}"),
            answer => Ok(answer),
        }
    }

    pub(crate) async fn ask(&mut self, order: &Order) -> Result<Answer> {
        self.tell(order).await?;
        self.hear().await
    }

    /// As `kill -9` does; returns when the process has ended.
    pub(crate) async fn kill(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }
}

/// The worker's own side.
pub(crate) async fn serve() -> Result<()> {
    let mut orders = BufReader::new(stdin()).lines();
    let mut hands = Hands::default();
    while let Some(line) = orders.next_line().await? {
        let answer = match hands.obey(serde_json::from_str(&line)?).await {
            Ok(answer) => answer,
            Err(error) => Answer::Failed(format!("{error:#}")),
        };
        say(&answer);
    }
    Ok(())
}

/// Writes an answer. If the run has ended, the input ends as well.
fn say(answer: &Answer) {
    if let Ok(line) = serde_json::to_string(answer) {
        println!("{line}");
    }
}

/// The state that a worker keeps between two orders.
#[derive(Default)]
struct Hands {
    lock: Option<Arc<dyn Lock>>,
    held: Option<Box<dyn Held>>,
    guard: Option<Guard>,
    work: Option<queues::Working>,
}

impl Hands {
    async fn obey(&mut self, order: Order) -> Result<Answer> {
        Ok(match order {
            Order::Open {
                store,
                system,
                places,
                name,
            } => {
                let system = systems::find(store, &system)?.open(&places).await?;
                // Connected before anything is measured: take a lock of a name of its own once.
                let warm = system.lock(&format!("warm-{}", std::process::id()))?;
                warm.acquire().await?.release().await?;
                self.lock = Some(system.lock(&name)?.into());
                Answer::Ready
            }
            Order::Contend { plan, tasks } => {
                let before = counters::requests();
                let waiters = (0..tasks).map(|_| {
                    let lock = self.lock()?;
                    Ok(tokio::spawn(async move {
                        contend::wait_in_turns(&*lock, plan).await
                    }))
                });
                let waiting = waiters.collect::<Result<Vec<_>>>()?;
                let mut waiters = Vec::new();
                for waiter in waiting {
                    waiters.push(waiter.await??);
                }
                let requests = counters::requests() - before;
                Answer::Waited { waiters, requests }
            }
            Order::Acquire => {
                self.held = Some(self.lock()?.acquire().await?);
                Answer::Granted(Moment::now())
            }
            Order::Release => {
                let held = self.held.take().context("nothing is held")?;
                let called = Moment::now();
                held.release().await?;
                Answer::Released { called }
            }
            Order::Keep(lease) => {
                let lock = lease.open(Some(|sent| say(&Answer::Sent(sent)))).await?;
                self.guard = Some(lock.hold().await?);
                Answer::Ready
            }
            Order::Await(lease) => {
                let lock = lease.open(None).await?;
                self.guard = Some(lock.hold().await?);
                Answer::Granted(Moment::now())
            }
            Order::Renew {
                lease,
                leases,
                watch,
            } => Answer::Renewed(lease.renew(leases, watch).await?),
            Order::Work(work) => {
                self.work = Some(work.begin()?);
                Answer::Ready
            }
            Order::StopWork => {
                let work = self.work.take().context("no queue is worked on")?;
                Answer::Worked(work.stop().await?)
            }
        })
    }

    fn lock(&self) -> Result<Arc<dyn Lock>> {
        self.lock.clone().context("no lock was opened")
    }
}

/// How many acquires are in flight while many leases are taken.
const AT_A_TIME: usize = 64;

/// How often the watch looks at all leases.
const LOOK: Duration = Duration::from_millis(250);

impl Lease {
    /// The lock. `applied` learns when each call that granted or renewed the lease was sent.
    async fn open(&self, applied: Option<fn(Moment)>) -> Result<DLock> {
        let (store, places) = (self.store, self.places.clone());
        // Opening a file blocks.
        let provider = move || ours::provider(store, &places, Waiting::Called);
        let provider = tokio::task::spawn_blocking(provider).await??;
        let client = match applied {
            Some(applied) => Client::new(Counted::reporting(provider, applied)),
            None => Client::new(provider),
        };
        ours::build(client, &self.name, self.duration)
    }

    /// Takes many locks, and watches how they are renewed.
    async fn renew(&self, leases: usize, watch: Duration) -> Result<Figures> {
        let lock = self.open(None).await?;
        // Create everything that is created only once before memory is measured.
        lock.acquire().await?.release().await?;
        let (empty, began) = (resident(std::process::id()), Moment::now());
        let taking = stream::iter(0..leases).map(|number| {
            let lock = lock.named(format!("{}-{number}", self.name));
            async move { Ok::<_, anyhow::Error>(lock?.hold().await?) }
        });
        let guards: Vec<Guard> = taking.buffer_unordered(AT_A_TIME).try_collect().await?;
        let taken = Moment::now().since(began);
        let bytes = resident(std::process::id()).saturating_sub(empty) as f64 / leases as f64;

        // From here on, only renewals happen.
        sleep(self.duration / 3).await;
        say(&Answer::Ready);
        let (begin, used) = (Moment::now(), process_time());
        let (mut spare, mut looking) = (self.duration, Duration::ZERO);
        while Moment::now().since(begin) < watch {
            sleep(LOOK).await;
            let look = thread_time();
            let least = guards.iter().map(|guard| guard.remaining()).min();
            spare = spare.min(least.unwrap_or_default());
            looking += thread_time().saturating_sub(look);
        }
        let span = Moment::now().since(begin).as_secs_f64();
        let used = process_time().saturating_sub(used).saturating_sub(looking);
        let used = used.as_secs_f64();
        let lost = guards.iter().filter(|guard| !guard.is_valid()).count();
        ensure!(lost == 0, "{lost} of {leases} leases were lost");
        let renewals = leases as f64 * span / (self.duration.as_secs_f64() / 3.0);
        Ok(figures([
            ("taken_per_second", leases as f64 / taken.as_secs_f64()),
            ("cores_of_ours", used / span),
            ("us_of_ours_per_renewal", used * 1e6 / renewals),
            ("least_spare_ms", millis(spare)),
            ("bytes_per_lease", bytes),
            ("span_s", span),
            ("renewals", renewals),
        ]))
    }
}
