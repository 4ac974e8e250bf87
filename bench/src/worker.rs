//! The other processes of a run: this program again, as `dlock-bench worker`. Orders come as lines of
//! JSON on its standard input, answers go the same way; it ends when its input does.

mod keeping;

use std::{process::Stdio, sync::Arc, time::Duration};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines, stdin},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use crate::{
    clock::Moment,
    contend::{self, Plan, Waiter},
    counters,
    http::{
        crowd::{Crowd, Part},
        keepers::{Keepers, Kept},
    },
    results::Figures,
    systems::{
        self, Held, Lock, Places, Store, System,
        ours::{self, Waiting},
    },
};

/// Longer than any order takes.
const PATIENCE: Duration = Duration::from_secs(180);

/// What a worker is told to do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Connect a system and take up a lock: `Ready`.
    Open {
        store: Store,
        system: String,
        places: Places,
        name: String,
    },
    /// Wait for it in turns: `Waited`.
    Contend(Plan),
    /// Connect and take up this lock of ours: `Ready`.
    Join(Lease),
    /// So many tasks wait for it in turns: `Crowd`.
    Crowd { plan: Plan, tasks: usize },
    /// Wait for it once: `Granted`.
    Acquire,
    /// Give it back: `Released`.
    Release,
    /// Take this lock of ours and renew it: `Sent` for the grant and for each renewal.
    Keep(Lease),
    /// Wait for this lock of ours: `Granted`.
    Await(Lease),
    /// Take so many locks of ours and renew them: `Ready` when they are taken and the watch begins,
    /// then `Renewed`.
    Renew {
        lease: Lease,
        leases: usize,
        watch: Duration,
    },
    /// Take these leases through a server and renew them: `Ready`.
    KeepMany(Kept),
    /// Say how that went: `Renewed`.
    EndKeeping,
    /// Be these clients of a server: `Ready` when all have arrived.
    Come(Part),
    /// Say what became of them: `Counted`.
    Count,
}

/// A lock of ours with a lease of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Lease {
    pub(crate) store: Store,
    pub(crate) places: Places,
    pub(crate) name: String,
    pub(crate) duration: Duration,
    pub(crate) waiting: Waiting,
}

/// What it says.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    Ready,
    Waited {
        waiter: Waiter,
        requests: u64,
    },
    Crowd(Vec<Waiter>),
    Granted(Moment),
    Released {
        called: Moment,
    },
    /// When the request was sent that the holder now counts from.
    Sent(Moment),
    Renewed(Figures),
    Counted(Figures),
    Failed(String),
}

/// A worker, as its employer sees it. It is killed when this is dropped.
pub(crate) struct Worker {
    child: Child,
    orders: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    pub(crate) fn start() -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("worker");
        Self::run(command)
    }

    /// Another program that obeys `Open`, `Contend`, `Crowd`, `Acquire` and `Release`.
    pub(crate) fn run(mut command: Command) -> Result<Self> {
        let mut child = command
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

    /// Opens a lock of a system.
    pub(crate) async fn open(
        &mut self,
        store: Store,
        system: &str,
        places: &Places,
        name: &str,
    ) -> Result<()> {
        let order = Order::Open {
            store,
            system: system.to_owned(),
            places: places.clone(),
            name: name.to_owned(),
        };
        self.ask(&order).await.map(|_ready| ())
    }

    /// As `kill -9` does; returns when it is gone.
    pub(crate) async fn kill(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }
}

/// The worker's own side.
pub(crate) async fn serve() -> Result<()> {
    let mut orders = BufReader::new(stdin()).lines();
    let mut work = Work::default();
    while let Some(line) = orders.next_line().await? {
        let answer = match work.obey(serde_json::from_str(&line)?).await {
            Ok(answer) => answer,
            Err(error) => Answer::Failed(format!("{error:#}")),
        };
        say(&answer);
    }
    Ok(())
}

/// Writes an answer. Who cannot be told is gone, and the end of the input says so.
fn say(answer: &Answer) {
    if let Ok(line) = serde_json::to_string(answer) {
        println!("{line}");
    }
}

/// What a worker has in its hands.
#[derive(Default)]
struct Work {
    system: Option<Arc<dyn System>>,
    lock: Option<Arc<dyn Lock>>,
    held: Option<Box<dyn Held>>,
    guard: Option<dlock_core::Guard>,
    keepers: Option<Keepers>,
    crowd: Option<Crowd>,
}

impl Work {
    async fn obey(&mut self, order: Order) -> Result<Answer> {
        match order {
            Order::Open {
                store,
                system,
                places,
                name,
            } => {
                let system = systems::find(store, &system)?.open(&places).await?;
                let lock = system.lock(&name)?;
                // Connected before anything is measured: a lock of its own name, taken once.
                let warm = system.lock(&format!("warm-{}", std::process::id()))?;
                warm.acquire().await?.release().await?;
                self.lock = Some(lock.into());
                self.system = Some(system);
                Ok(Answer::Ready)
            }
            Order::Contend(plan) => {
                let before = counters::requests();
                let waiter = contend::wait_in_turns(self.lock()?, plan).await?;
                let requests = counters::requests() - before;
                Ok(Answer::Waited { waiter, requests })
            }
            Order::Join(lease) => {
                let lock = keeping::lock(&lease).await?;
                // Connected before anything is measured.
                let warm = lock.named(format!("warm-{}", std::process::id()))?;
                warm.acquire().await?.release().await?;
                self.lock = Some(ours::waiter(lock));
                Ok(Answer::Ready)
            }
            Order::Crowd { plan, tasks } => {
                let waiters = (0..tasks).map(|_| {
                    let lock = self.lock.clone().context("no lock was taken up")?;
                    Ok(tokio::spawn(async move {
                        contend::wait_in_turns(&*lock, plan).await
                    }))
                });
                let waiters = waiters.collect::<Result<Vec<_>>>()?;
                let mut waited = Vec::new();
                for waiter in waiters {
                    waited.push(waiter.await??);
                }
                Ok(Answer::Crowd(waited))
            }
            Order::Acquire => {
                self.held = Some(self.lock()?.acquire().await?);
                Ok(Answer::Granted(Moment::now()))
            }
            Order::Release => {
                let held = self.held.take().context("nothing is held")?;
                let called = Moment::now();
                held.release().await?;
                Ok(Answer::Released { called })
            }
            Order::Keep(lease) => {
                let lock = keeping::reporting(&lease).await?;
                self.guard = Some(lock.hold().await?);
                Ok(Answer::Ready)
            }
            Order::Await(lease) => {
                let lock = keeping::lock(&lease).await?;
                self.guard = Some(lock.hold().await?);
                Ok(Answer::Granted(Moment::now()))
            }
            Order::Renew {
                lease,
                leases,
                watch,
            } => Ok(Answer::Renewed(
                keeping::renew(&lease, leases, watch).await?,
            )),
            Order::KeepMany(kept) => {
                self.keepers = Some(Keepers::start(kept).await?);
                Ok(Answer::Ready)
            }
            Order::EndKeeping => {
                let keepers = self.keepers.take().context("no leases are kept")?;
                Ok(Answer::Renewed(keepers.end().await?))
            }
            Order::Come(part) => {
                self.crowd = Some(Crowd::come(part).await?);
                Ok(Answer::Ready)
            }
            Order::Count => {
                let crowd = self.crowd.as_ref().context("nobody came")?;
                Ok(Answer::Counted(crowd.count()))
            }
        }
    }

    fn lock(&self) -> Result<&dyn Lock> {
        self.lock.as_deref().context("no lock was opened")
    }
}
