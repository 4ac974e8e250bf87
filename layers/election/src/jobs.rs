//! Work that exists only while an instance leads.

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use dlock_core::Guard;
use tokio::{sync::watch, task::JoinSet, time::sleep};

use crate::{
    Leadership,
    label::Label,
    observe, periodic,
    subscriber::{self, told},
};

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;
type Start = dyn Fn(Leadership) -> Running + Send + Sync;

/// Work for the leader, ready to be started with each leadership.
#[derive(Clone)]
pub struct Work {
    name: &'static str,
    period: Option<Duration>,
    start: Arc<Start>,
}

impl Work {
    /// Work that is started once for each leadership. The name is for logs.
    pub fn new<F, Fut>(name: &'static str, work: F) -> Self
    where
        F: Fn(Leadership) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let work = Arc::new(work);
        Self {
            name,
            period: None,
            start: Arc::new(move |leadership| {
                let work = Arc::clone(&work);
                // Called in the work's own task, so a panic ends only the work.
                Box::pin(async move { work(leadership).await })
            }),
        }
    }

    /// A task that runs every `period` while an instance leads; see
    /// [`Coordinator::every`](crate::Coordinator::every).
    pub fn periodic<F, Fut>(name: &'static str, period: Duration, task: F) -> Self
    where
        F: Fn(Leadership) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let task = Arc::new(task);
        let work = Self::new(name, move |leadership| {
            periodic::repeat(name, period, Arc::clone(&task), leadership)
        });
        Self {
            period: Some(period),
            ..work
        }
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// All added work, in order of addition.
pub(crate) struct Works(watch::Sender<Vec<Work>>, Label);

impl Works {
    pub(crate) fn new(election: &Label) -> Self {
        Self(watch::Sender::new(Vec::new()), election.clone())
    }

    /// Reports the existing work to the metrics: a recorder may have been installed after the work was added.
    pub(crate) fn show(&self) {
        let works = self.0.borrow().clone();
        for work in &works {
            observe::knows(&self.1, work.name, work.period);
        }
    }

    pub(crate) fn add(&self, work: Work) {
        observe::knows(&self.1, work.name, work.period);
        self.0.send_modify(|works| works.push(work));
    }

    pub(crate) fn under(&self, leadership: &Leadership, held: Option<Arc<Held>>) -> Jobs {
        let mut added = self.0.subscribe();
        // Work that was added before is new to these jobs.
        added.mark_changed();
        Jobs {
            added,
            started: 0,
            running: JoinSet::new(),
            leadership: leadership.clone(),
            held,
        }
    }
}

/// The guard of a leadership. It is released when its last owner drops it: work that was not awaited, because its
/// elector was dropped, still ends before the release.
pub(crate) struct Held(Mutex<Option<Guard>>);

impl Held {
    pub(crate) fn new(guard: Guard) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(guard))))
    }

    /// For the elector, when all work has ended.
    pub(crate) fn take(&self) -> Option<Guard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The work of one leadership. Dropping it drops the work.
pub(crate) struct Jobs {
    added: watch::Receiver<Vec<Work>>,
    started: usize,
    running: JoinSet<()>,
    leadership: Leadership,
    held: Option<Arc<Held>>,
}

impl Jobs {
    /// Starts work as it is added, and reaps work that has ended. Never returns.
    ///
    /// Cancel safe: work that was started keeps running.
    pub(crate) async fn run(&mut self) {
        loop {
            let fresh: Vec<Work> = {
                let works = self.added.borrow_and_update();
                works.iter().skip(self.started).cloned().collect()
            };
            self.started += fresh.len();
            for work in fresh {
                self.start(&work);
            }
            tokio::select! {
                biased;
                Some(ended) = self.running.join_next() => said(ended),
                // The sender outlives every leadership; if it does not, no more work can come.
                changed = self.added.changed() => if changed.is_err() {
                    std::future::pending::<()>().await;
                },
            }
        }
    }

    /// Resolves when all started work has ended.
    async fn ended(&mut self) {
        while let Some(ended) = self.running.join_next().await {
            said(ended);
        }
    }

    /// Resolves when all work is gone: it ends on its own within the grace time, or is dropped then.
    pub(crate) async fn finish(&mut self, grace: Duration) {
        tokio::select! {
            biased;
            () = self.ended() => {}
            () = sleep(grace) => self.cancel().await,
        }
    }

    /// Drops all work, and waits until it is gone.
    pub(crate) async fn cancel(&mut self) {
        self.running.abort_all();
        self.ended().await;
    }

    fn start(&mut self, work: &Work) {
        let token = self.leadership.token().get();
        let span =
            subscriber::span(|| tracing::debug_span!("leading", work = work.name, token = token));
        let job = Job {
            lost: Box::pin(self.leadership.lost()),
            leadership: self.leadership.clone(),
            running: (work.start)(self.leadership.clone()),
            _held: self.held.clone(),
        };
        self.running.spawn(subscriber::within(span, job));
    }
}

/// Work, and the guard that it rests on, dropped in this order. The work itself notices the end of the leadership,
/// since the task that runs the elector may be busy elsewhere, and then the elector is not polled.
struct Job {
    lost: Running,
    leadership: Leadership,
    running: Running,
    _held: Option<Arc<Held>>,
}

impl Future for Job {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // Check the clock first: after a pause, the work may be woken before its timer is checked.
        if !self.leadership.is_valid() || self.lost.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        self.running.as_mut().poll(context)
    }
}

fn said(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        told(
            || tracing::error!(name: "work_panicked", %error, "work of the leader panicked; it is started again with the next leadership"),
        );
    }
}
