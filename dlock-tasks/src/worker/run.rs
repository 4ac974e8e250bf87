//! The loop of a worker: claim as many tasks as there is room for, run them, gather their endings.

use std::{future::Future, pin::pin, sync::Arc, time::Duration};

use dlock_core::{ErrorKind, ProviderError, Sent};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};
use uuid::Uuid;

use super::{Worker, endings, periodic, task};
use crate::{Claim, Claimed, ClaimedTask, Ending, How};

/// How often a worker forgets ended tasks, a quarter more or less, and how many at a time.
const PRUNE_EVERY: Duration = Duration::from_secs(600);
const PRUNE_MOST: usize = 1000;

/// The longest that an idle worker sleeps.
const LONGEST_IDLE: Duration = Duration::from_secs(5);

pub(super) async fn run(
    worker: &Arc<Worker>,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), ProviderError> {
    let (stopping, _) = watch::channel(false);
    let most = worker.settings.concurrency.max(1);
    // Those of all running tasks, and as many that wait for the store.
    let (sender, endings) = mpsc::channel(2 * most);
    // A periodic task that cannot be enqueued at all ends the worker in good order, too.
    let stop = async {
        tokio::select! {
            biased;
            () = stop => Ok(()),
            error = periodic::enqueue(worker) => error,
        }
    };
    let writing = async {
        let settings = &worker.settings;
        let mut stopping = stopping.subscribe();
        let too_long = async {
            // The sender outlives this.
            drop(stopping.wait_for(|stopping| *stopping).await);
            sleep(settings.grace + settings.lease).await;
        };
        tokio::select! {
            biased;
            () = endings::write(Arc::clone(&settings.store), endings) => {}
            // Every lease has run out by now: others have the tasks, and most endings would be lost.
            () = too_long => tracing::error!("some tasks could not be ended, since the store did not answer"),
        }
    };
    let working = async {
        let mut running = JoinSet::new();
        let ended = claim_and_run(worker, &mut running, &sender, &stopping, stop).await;
        // The handlers are told; they end, or are given back.
        stopping.send_replace(true);
        while let Some(ended) = running.join_next().await {
            deliver(&sender, ended).await;
        }
        drop(sender);
        ended
    };
    let ended = tokio::select! {
        (ended, ()) = async { tokio::join!(working, writing) } => ended,
        () = prune(worker) => Ok(()),
    };
    // What was lost at the end is given back by now, or its lease runs out.
    drop(timeout(worker.settings.grace, worker.client.close()).await);
    ended
}

type Running = JoinSet<Option<Ending>>;

/// Until it is told to stop, or the store cannot be used any more.
async fn claim_and_run(
    worker: &Arc<Worker>,
    running: &mut Running,
    sender: &mpsc::Sender<Ending>,
    stopping: &watch::Sender<bool>,
    stop: impl Future<Output = Result<(), ProviderError>> + Send,
) -> Result<(), ProviderError> {
    let settings = &worker.settings;
    let most = settings.concurrency.max(1);
    let mut stop = pin!(stop);
    // There is nothing before this instant, as far as the store knew.
    let mut idle_until = Instant::now();
    loop {
        // Each running task has a place for its ending, so that nothing here ever waits for the store to end one.
        let places = sender.capacity().saturating_sub(running.len());
        let room = places.min(most - running.len());
        if room > 0 && idle_until <= Instant::now() {
            let mut claiming = pin!(claim(worker, room));
            let claimed = tokio::select! {
                biased;
                claimed = &mut claiming => claimed?,
                stopped = &mut stop => {
                    // It may have been applied, so its answer is waited for.
                    let late = timeout(settings.grace, claiming).await;
                    for task in late.map_or(Vec::new(), |late| late.map_or(Vec::new(), |late| late.tasks)) {
                        let given_back = Some(Ending::new(task.key, How::GiveBack));
                        deliver(sender, Ok(given_back)).await;
                    }
                    return stopped;
                }
            };
            if claimed.tasks.len() < room {
                let next = claimed.next.unwrap_or(settings.poll);
                let pause = next.min(settings.poll).min(LONGEST_IDLE);
                idle_until = Instant::now() + pause.max(Duration::from_millis(1));
            }
            for task in claimed.tasks {
                let stopping = stopping.subscribe();
                running.spawn(task::run(Arc::clone(worker), task, claimed.sent, stopping));
            }
        }
        let one_more = running.len() + 1;
        tokio::select! {
            biased;
            stopped = &mut stop => return stopped,
            Some(ended) = running.join_next() => deliver(sender, ended).await,
            // Until one more task has a place; nobody else waits for places.
            _ = sender.reserve_many(one_more), if places == 0 => {}
            () = sleep_until(idle_until), if room > 0 => {}
        }
    }
}

/// What a claim got, and when it was sent first.
struct Got {
    tasks: Vec<ClaimedTask>,
    next: Option<Duration>,
    sent: Sent,
}

/// Asks until there is an answer.
async fn claim(worker: &Worker, room: usize) -> Result<Got, ProviderError> {
    let settings = &worker.settings;
    let mut pause = Duration::from_millis(50);
    loop {
        let mut claim = Claim::new("", Uuid::new_v4(), settings.lease)
            .queues(settings.queue.iter())
            .max(room)
            .owner(settings.owner.as_str());
        // V1: the leases count from the first sending, whichever copy of the claim was applied.
        let sent = worker.client.sent();
        let began = Instant::now();
        // One whose answer is lost may hold tasks. It is repeated as long as their leases are worth it.
        while began.elapsed() < settings.lease / 3 {
            match settings.store.claim(&claim).await {
                Ok(Claimed { tasks, next, .. }) => return Ok(Got { tasks, next, sent }),
                Err(error) if error.kind() == ErrorKind::Fatal => return Err(error),
                Err(error) => tracing::warn!(%error, "no tasks can be claimed"),
            }
            claim = claim.repeated();
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_IDLE);
        }
    }
}

async fn deliver(
    sender: &mpsc::Sender<Ending>,
    ended: Result<Option<Ending>, tokio::task::JoinError>,
) {
    match ended {
        // The receiver lives as long as the loop.
        Ok(Some(ending)) => drop(sender.send(ending).await),
        Ok(None) => {}
        Err(error) => tracing::error!(%error, "a task's own loop panicked"),
    }
}

/// Forgets ended tasks now and then. Any number of workers may.
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
