//! A worker for tests: runs the ready tasks, and returns their outcomes.

use std::{
    collections::BTreeMap,
    slice,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use dlock_core::{ErrorKind, ProviderError, Sent};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{Worker, run, task};
use crate::{ClaimedTask, Ended, Ending, Filter, How, State, TaskId};

/// The pause before the store is queried again: a running handler may have enqueued a task, or a ready task was not
/// given out.
const AGAIN: Duration = Duration::from_millis(20);

/// The attempts that a [drain](Worker::drain) has run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained {
    /// Each attempt, in the order in which they ended.
    pub attempts: Vec<Attempt>,
}

/// An attempt of a task, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// The task.
    pub id: TaskId,
    /// Its kind.
    pub kind: String,
    /// The number of the attempt, from 1 on.
    pub attempt: u32,
    /// The state of the task after it; `None` if the task was lost.
    pub state: Option<State>,
    /// Why it failed, if it did: the error of the handler, or that the task was lost. A snoozed attempt has not failed.
    pub error: Option<String>,
}

impl Drained {
    /// The failed attempts. A test that expects none asserts that this is empty; the assertion's message then shows the
    /// failures.
    #[must_use]
    pub fn failed(&self) -> Vec<&Attempt> {
        let attempts = self.attempts.iter();
        attempts.filter(|attempt| attempt.error.is_some()).collect()
    }
}

/// The reason why a queue was not drained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DrainError {
    /// The store cannot be used, or the worker has no handlers.
    #[error(transparent)]
    Store(ProviderError),
    /// The drain took too long. The running handlers were dropped, and their tasks are given back.
    #[error("the queue was not drained within {within:?}: {}", waited_for(.running))]
    TooLong {
        /// The time limit.
        within: Duration,
        /// The tasks whose handlers had not ended, and their kinds.
        running: BTreeMap<TaskId, String>,
        /// The attempts that ended before that.
        drained: Drained,
        /// The latest temporary error of the store, if any.
        source: Option<ProviderError>,
    },
}

fn waited_for(running: &BTreeMap<TaskId, String>) -> String {
    if running.is_empty() {
        return "no handler runs, so either the store does not answer, or it does not give out a task that is ready"
            .to_owned();
    }
    let tasks = running.iter();
    let tasks: Vec<_> = tasks
        .map(|(id, kind)| format!("task {id} ({kind})"))
        .collect();
    format!("{} had not ended", tasks.join(", "))
}

pub(super) async fn drain(worker: Arc<Worker>, within: Duration) -> Result<Drained, DrainError> {
    worker.check().map_err(DrainError::Store)?;
    let drain = Drain {
        worker,
        progress: Arc::default(),
    };
    let ended = timeout(within, drain.all()).await;
    let mut progress = drain.progress();
    let drained = std::mem::take(&mut progress.drained);
    match ended {
        Ok(Ok(())) => Ok(drained),
        Ok(Err(error)) => Err(DrainError::Store(error)),
        Err(_) => Err(DrainError::TooLong {
            within,
            running: std::mem::take(&mut progress.running),
            drained,
            source: progress.trouble.take(),
        }),
    }
}

struct Drain {
    worker: Arc<Worker>,
    progress: Arc<Mutex<Progress>>,
}

#[derive(Default)]
struct Progress {
    drained: Drained,
    running: BTreeMap<TaskId, String>,
    trouble: Option<ProviderError>,
}

impl Drain {
    fn progress(&self) -> std::sync::MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn all(&self) -> Result<(), ProviderError> {
        let most = self.worker.settings.concurrency;
        // A drain never notifies the handlers to stop.
        let (_told, stopping) = watch::channel(false);
        let mut running = JoinSet::new();
        loop {
            let room = most - running.len();
            if room > 0 {
                let trouble = |error| self.progress().trouble = Some(error);
                let got = run::claim(&self.worker, room, &stopping, trouble).await?;
                for task in got.tasks {
                    let attempt = self.attempt(task, got.sent, stopping.clone());
                    running.spawn(attempt);
                }
            }
            if !running.is_empty() {
                // A handler may enqueue a task before it ends, and wait for that task.
                if let Ok(Some(ended)) = timeout(AGAIN, running.join_next()).await {
                    ended.map_err(|error| ProviderError::fatal(error.to_string()))??;
                }
            } else if self.is_nothing_ready().await? {
                return Ok(());
            } else {
                sleep(AGAIN).await;
            }
        }
    }

    fn attempt(
        &self,
        task: ClaimedTask,
        sent: Sent,
        stopping: watch::Receiver<bool>,
    ) -> impl Future<Output = Result<(), ProviderError>> + Send + use<> {
        let own = Self {
            worker: Arc::clone(&self.worker),
            progress: Arc::clone(&self.progress),
        };
        async move {
            let (id, kind, number) = (task.key.id, task.kind.clone(), task.attempt);
            own.progress().running.insert(id, kind.clone());
            let ending = task::run(Arc::clone(&own.worker), task, sent, stopping, None).await;
            let (state, error) = match ending {
                None => (
                    None,
                    Some("the task was lost while its handler ran".to_owned()),
                ),
                Some(ending) => own.finish(ending).await?,
            };
            let mut progress = own.progress();
            progress.running.remove(&id);
            progress.drained.attempts.push(Attempt {
                id,
                kind,
                attempt: number,
                state,
                error,
            });
            Ok(())
        }
    }

    /// Writes an ending until the store answers.
    async fn finish(
        &self,
        ending: Ending,
    ) -> Result<(Option<State>, Option<String>), ProviderError> {
        let store = &self.worker.settings.store;
        let ended = loop {
            match store.finish(slice::from_ref(&ending)).await {
                Ok(ended) => break ended.first().copied(),
                Err(error) if error.kind() == ErrorKind::Fatal => return Err(error),
                Err(error) => self.progress().trouble = Some(error),
            }
            sleep(AGAIN).await;
        };
        Ok(match (ended, ending.how) {
            (Some(Ended::Own(state)), How::Fail { error, .. } | How::Discard { error }) => {
                (Some(state), Some(error))
            }
            (Some(Ended::Own(state)), _) => (Some(state), None),
            (_, how) => {
                let error = format!("the task was lost before it was ended: {how:?}");
                (None, Some(error))
            }
        })
    }

    /// A claim that got nothing does not prove that no task is ready: stores may leave some tasks for the next claim.
    async fn is_nothing_ready(&self) -> Result<bool, ProviderError> {
        let settings = &self.worker.settings;
        for queue in &settings.queues {
            for state in [State::Ready, State::Stalled] {
                let of = Filter::default()
                    .queue(Some(queue.clone()))
                    .state(Some(state));
                let mut after = None;
                loop {
                    let page = match settings.store.list(&of.clone().after(after)).await {
                        Ok(page) => page,
                        Err(error) if error.kind() == ErrorKind::Fatal => return Err(error),
                        Err(error) => {
                            self.progress().trouble = Some(error);
                            return Ok(false);
                        }
                    };
                    let own = |kind: &str| self.worker.handlers.kinds().any(|own| own == kind);
                    if page.iter().any(|task| own(&task.kind)) {
                        return Ok(false);
                    }
                    match page.last() {
                        Some(last) => after = Some(last.id),
                        None => break,
                    }
                }
            }
        }
        Ok(true)
    }
}
