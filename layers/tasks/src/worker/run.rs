//! The loop of a worker: it claims as many tasks as there is room for, runs them, and gathers their endings.

use std::{future::Future, pin::pin, sync::Arc, time::Duration};

use dlock_core::{ErrorKind, ProviderError, Sent};
use futures_util::future::OptionFuture;
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};
use uuid::Uuid;

use super::{
    Worker, endings,
    hints::{Hints, LONGEST_IDLE},
    periodic,
    settings::Settings,
    suspects::{self, Suspect},
    task,
};
use crate::{Claim, Claimed, ClaimedTask, Ending, How, limits};

/// How often a worker forgets ended tasks, a quarter more or less, and how many at a time.
const PRUNE_EVERY: Duration = Duration::from_secs(600);
const PRUNE_MOST: usize = 1000;

/// How long a place stays empty so that one claim fills several: less than the time of a claim whose commit waits for a
/// disk.
const GATHER: Duration = Duration::from_millis(1);

pub(super) async fn run(
    worker: &Arc<Worker>,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), ProviderError> {
    worker.check()?;
    let settings = &worker.settings;
    let (stopping, _) = watch::channel(false);
    // Room for the endings of all running tasks, while as many more wait for the store.
    let (sender, endings) = mpsc::channel(settings.concurrency.saturating_mul(2));
    // A periodic task that cannot be enqueued at all ends the worker in good order, too.
    let stop = async {
        tokio::select! {
            biased;
            () = stop => Ok(()),
            error = periodic::enqueue(worker) => error,
        }
    };
    // By then, every lease has run out: other workers have the tasks, and most endings would be lost.
    let patience = settings.grace + settings.lease;
    let writing = async {
        let mut stopping = stopping.subscribe();
        let too_long = async {
            // The sender outlives this.
            drop(stopping.wait_for(|stopping| *stopping).await);
            sleep(patience).await;
        };
        tokio::select! {
            biased;
            () = endings::write(Arc::clone(&settings.store), endings) => {}
            () = too_long => tracing::error!("some tasks could not be ended, since the store did not answer or their handlers did not end"),
        }
    };
    let working = async {
        let mut running = JoinSet::new();
        let ended = claim_and_run(worker, &mut running, &sender, &stopping, stop).await;
        // The handlers are notified; they end, or their tasks are given back.
        stopping.send_replace(true);
        let all = async {
            while let Some(ended) = running.join_next().await {
                deliver(&sender, endings_of(ended)).await;
            }
        };
        if timeout(patience, all).await.is_err() {
            let tasks = running.len();
            tracing::error!(
                tasks,
                "handlers keep running after the worker has ended, since they await nothing"
            );
        }
        drop(sender);
        ended
    };
    let ended = tokio::select! {
        (ended, ()) = async { tokio::join!(working, writing) } => ended,
        () = prune(worker) => Ok(()),
    };
    // By now, the leases that were lost at the end have been released, or they run out.
    drop(timeout(settings.grace, worker.client.close()).await);
    ended
}

/// The futures that return endings to write: a task, or a claim whose answer came too late.
type Running = JoinSet<Vec<Ending>>;

/// Claims and runs tasks until the worker is to stop, or the store can no longer be used.
async fn claim_and_run(
    worker: &Arc<Worker>,
    running: &mut Running,
    sender: &mpsc::Sender<Ending>,
    stopping: &watch::Sender<bool>,
    stop: impl Future<Output = Result<(), ProviderError>> + Send,
) -> Result<(), ProviderError> {
    let settings = &worker.settings;
    let most = settings.concurrency;
    let mut stop = pin!(stop);
    // No task is due before this instant, as far as the store knew.
    let mut idle_until = Instant::now();
    // Places that the latest claim left free are filled together with those that become free until then.
    let mut gather_until = idle_until;
    let mut hints = Hints::new(&settings.store, wanted(worker));
    // A claim in flight: endings do not wait for its answer.
    let mut claiming = None;
    // A task that runs alone, or waits for that, and the instant at which the newest of the others started.
    let mut suspect = None::<Suspect>;
    let mut newest = idle_until;
    loop {
        if suspect
            .take_if(|suspect| !suspect.keeps_others(running.len()))
            .is_some()
        {
            idle_until = Instant::now();
        }
        // Every running task has a place for its ending: while endings cannot be written, no more tasks are claimed.
        let places = sender.capacity().saturating_sub(running.len());
        let room = match suspect {
            Some(_) => 0,
            None => places.min(most - running.len()).min(limits::MOST),
        };
        let begin = if running.is_empty() {
            idle_until
        } else {
            idle_until.max(gather_until)
        };
        if claiming.is_none() && room > 0 && begin <= Instant::now() {
            let (worker, stopping) = (Arc::clone(worker), stopping.subscribe());
            claiming = Some(Box::pin(async move {
                (room, claim_for(&worker, room, &stopping).await)
            }));
        }
        let may_claim = claiming.is_none() && room > 0;
        let beside = running.len() + 1;
        let waits_for_endings = claiming.is_none() && places == 0 && beside <= most;
        tokio::select! {
            biased;
            Some((room, claimed)) = OptionFuture::from(claiming.as_mut()) => {
                claiming = None;
                let (Got { tasks, next, sent }, given_back) = claimed?;
                deliver(sender, given_back).await;
                hints.asked(!tasks.is_empty());
                gather_until = Instant::now() + GATHER;
                if tasks.len() < room {
                    let poll = settings.poll.unwrap_or_else(|| hints.poll()).min(LONGEST_IDLE);
                    let pause = next.map_or(poll, |next| next.min(poll));
                    idle_until = Instant::now() + pause.max(Duration::from_millis(1));
                }
                let (suspects, others): (Vec<_>, Vec<_>) =
                    tasks.into_iter().partition(|task| suspects::alone(task.lost).is_some());
                let start = |running: &mut Running, task, turn| {
                    let task = task::run(Arc::clone(worker), task, sent, stopping.subscribe(), turn);
                    running.spawn(async move { task.await.into_iter().collect() })
                };
                for task in others {
                    newest = Instant::now();
                    start(running, task, None);
                }
                for task in suspects {
                    let (id, kind, lost) = (task.key.id, task.kind.clone(), task.lost);
                    tracing::warn!(task = %id, kind, lost, "a task runs alone, since its last workers died");
                    let alone = suspects::alone(lost).unwrap_or_default();
                    let (begin, turn) = oneshot::channel();
                    let task = start(running, task, Some(turn));
                    suspect = Some(Suspect::new(task, begin, alone, newest));
                }
            }
            stopped = &mut stop => {
                // The claim may have been applied: wait for its answer as long as the claim is repeated.
                if let Some(claiming) = claiming {
                    let late = timeout(settings.grace.max(settings.lease / 3), claiming);
                    running.spawn(async move { late.await.map_or(Vec::new(), |(_, late)| given_back(late)) });
                }
                return stopped;
            }
            Some(ended) = running.join_next() => {
                let mut endings = endings_of(ended);
                if claiming.is_none() {
                    gather(running, &mut endings).await;
                }
                deliver(sender, endings).await;
            }
            Some(()) = OptionFuture::from(suspect.as_ref().map(|suspect| sleep_until(suspect.until()))) => {}
            () = sleep_until(begin), if may_claim => {}
            delay = hints.next(), if may_claim => idle_until = idle_until.min(Instant::now() + delay),
            _ = sender.reserve_many(beside), if waits_for_endings => {}
        }
    }
}

/// The endings of a claim that is answered when the worker stops: its tasks are given back.
fn given_back(late: Result<(Got, Vec<Ending>), ProviderError>) -> Vec<Ending> {
    let Ok((late, mut endings)) = late else {
        return Vec::new();
    };
    let tasks = late.tasks.into_iter();
    endings.extend(tasks.map(|task| Ending::new(task.key, How::GiveBack)));
    endings
}

/// Waits for the tasks that end at about the same time. A claim costs a transaction, however many tasks it gets: one
/// claim for each task that ended would leave the others' places empty meanwhile. The same holds for the writing of
/// endings: if the first of them were sent at once, the others would need a second transaction.
async fn gather(running: &mut Running, endings: &mut Vec<Ending>) {
    let mut time_is_up = pin!(sleep(GATHER));
    while !running.is_empty() {
        tokio::select! {
            biased;
            Some(ended) = running.join_next() => endings.extend(endings_of(ended)),
            () = &mut time_is_up => return,
        }
    }
}

/// The tasks of a claim, and when it was first sent.
pub(super) struct Got {
    pub(super) tasks: Vec<ClaimedTask>,
    next: Option<Duration>,
    pub(super) sent: Sent,
}

/// A new claim for the kinds that the worker has handlers for.
fn wanted(worker: &Worker) -> Claim {
    let settings = &worker.settings;
    Claim::new("", Uuid::new_v4(), settings.lease)
        .queues(settings.queues.iter())
        .kinds(worker.handlers.kinds())
        .owner(worker.lock.owner())
}

/// A claim with at most one suspect, and the endings of the other suspects that the store has not taken yet.
async fn claim_for(
    worker: &Worker,
    room: usize,
    stopping: &watch::Receiver<bool>,
) -> Result<(Got, Vec<Ending>), ProviderError> {
    let Settings { store, lease, .. } = &worker.settings;
    let mut got = claim(worker, room, stopping, warn).await?;
    let given_back = suspects::keep_one(&**store, &mut got.tasks, *lease / 3).await;
    Ok((got, given_back))
}

/// Claims until there is an answer, or the worker is to stop. A claim that was already sent is still repeated then,
/// since it may hold tasks.
pub(super) async fn claim(
    worker: &Worker,
    room: usize,
    stopping: &watch::Receiver<bool>,
    trouble: impl Fn(ProviderError) + Send,
) -> Result<Got, ProviderError> {
    let settings = &worker.settings;
    let mut pause = Duration::from_millis(50);
    loop {
        let mut claim = wanted(worker).max(room);
        // The leases count from the first sending, whichever copy of the claim was applied.
        let sent = worker.client.sent();
        let began = Instant::now();
        // A claim whose answer is lost may hold tasks. It is repeated as long as their leases are still useful.
        while began.elapsed() < settings.lease / 3 {
            match settings.store.claim(&claim).await {
                Ok(Claimed { tasks, next, .. }) => return Ok(Got { tasks, next, sent }),
                Err(error) if error.kind() == ErrorKind::Fatal => return Err(error),
                Err(error) => trouble(error),
            }
            claim = claim.repeated();
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_IDLE);
        }
        if *stopping.borrow() {
            let (tasks, next) = (Vec::new(), None);
            return Ok(Got { tasks, next, sent });
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "others keep it")]
fn warn(error: ProviderError) {
    tracing::warn!(%error, "no tasks can be claimed");
}

async fn deliver(sender: &mpsc::Sender<Ending>, endings: Vec<Ending>) {
    for ending in endings {
        // The receiver lives as long as the loop.
        drop(sender.send(ending).await);
    }
}

/// The endings that a task leaves to be written.
fn endings_of(ended: Result<Vec<Ending>, tokio::task::JoinError>) -> Vec<Ending> {
    ended.unwrap_or_else(|error| {
        tracing::error!(%error, "a task's own loop panicked");
        Vec::new()
    })
}

/// Forgets ended tasks now and then. Any number of workers may do this.
async fn prune(worker: &Worker) {
    loop {
        sleep(PRUNE_EVERY.mul_f64(0.75 + fastrand::f64() / 2.0)).await;
        let settings = &worker.settings;
        loop {
            match settings.store.prune(settings.keep, PRUNE_MOST).await {
                Ok(PRUNE_MOST) => {}
                Ok(_) => break,
                Err(error) => {
                    tracing::warn!(%error, "ended tasks cannot be forgotten");
                    break;
                }
            }
        }
    }
}
