//! Hints of the store that there may be a task to claim, on which an idle worker claims before its sleep has ended.
//!
//! All idle workers of a queue receive the same hint. The first to claim gets the task; the others learn only from
//! their claims that no task remains, and each of these claims is work for the store. So after two unsuccessful claims
//! in a row, a worker delays its claim after the next hint, and longer each time, until it gets a task: the claims of
//! many workers do not collide, and hints that come meanwhile cause no claims of their own. One unsuccessful claim does
//! not count: a store may hint again a little later, for an event that it may have left out. For a worker without
//! competitors that hint is false, and such a worker must never wait.
//!
//! A worker with hints need not poll every second. But stores leave out some hints close to others: for example, that
//! of a transaction that began together with one that notifies, and takes longer. So a worker sleeps for as long as it
//! has been quiet. A task that was committed without a hint, some time after the hint of another one, waits at most for
//! that time again, or for a second if that is longer, and never longer than [`LONGEST_IDLE`].

use std::{future::pending, sync::Arc, time::Duration};

use dlock_core::{ProviderError, provider::Wakeups};
use futures_util::future::BoxFuture;
use tokio::time::{Instant, error::Elapsed, sleep_until, timeout};

use crate::{Claim, TaskStore};

/// The longest that an idle worker sleeps.
pub(super) const LONGEST_IDLE: Duration = Duration::from_secs(5);
/// The time limit for opening the stream, and the pause before it is tried again, at first and at most.
const OPEN_LIMIT: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// The longest delay after a hint: after two unsuccessful claims, and after many.
const FIRST_SPREAD: Duration = Duration::from_millis(1);
const LONGEST_SPREAD: Duration = Duration::from_millis(64);

/// The sleep of an idle worker without hints; with a stream, its sleep after a hint.
const POLL: Duration = Duration::from_secs(1);

/// The hints about a worker's queues and kinds.
pub(super) struct Hints {
    store: Arc<dyn TaskStore>,
    wanted: Claim,
    stream: Stream,
    /// Closed, until it is time to open the stream again.
    pause: Duration,
    /// A hint was received and the worker has not claimed since.
    is_heard: bool,
    /// The number of hints in a row that led to no task.
    in_vain: u32,
    /// The last time that the worker claimed because of a hint, or found a task.
    stirred: Instant,
}

type Opened = Result<Result<Option<Wakeups>, ProviderError>, Elapsed>;

enum Stream {
    Closed(Instant),
    Opening(BoxFuture<'static, Opened>),
    Open(Wakeups),
    /// The store sends no hints.
    None,
}

impl Hints {
    pub(super) fn new(store: &Arc<dyn TaskStore>, wanted: Claim) -> Self {
        Self {
            store: Arc::clone(store),
            wanted,
            stream: Stream::Closed(Instant::now()),
            pause: FIRST_PAUSE,
            is_heard: false,
            in_vain: 0,
            stirred: Instant::now(),
        }
    }

    /// How long the worker may sleep after a claim. By polling within its own lease, it sees whether another worker
    /// with an equally long lease has claimed a task since, and so learns when that lease ends.
    pub(super) fn poll(&self) -> Duration {
        match self.stream {
            Stream::Open(_) => {
                let longest = self.wanted.lease.clamp(POLL, LONGEST_IDLE);
                self.stirred.elapsed().clamp(POLL, longest)
            }
            _ => POLL,
        }
    }

    /// Waits for a hint, and returns the delay before the claim. Never returns between a hint and the claim that
    /// follows it.
    ///
    /// # Cancel safety
    /// Cancel safe: the stream stays, and so does the one that is being opened.
    pub(super) async fn next(&mut self) -> Duration {
        if self.is_heard {
            return pending().await;
        }
        self.hear().await;
        self.is_heard = true;
        self.spread().mul_f64(fastrand::f64())
    }

    /// The longest delay of a claim after a hint.
    fn spread(&self) -> Duration {
        match self.in_vain.checked_sub(2) {
            Some(more) => (FIRST_SPREAD * 2_u32.saturating_pow(more)).min(LONGEST_SPREAD),
            None => Duration::ZERO,
        }
    }

    /// The worker has claimed. `found`: it got a task.
    pub(super) fn asked(&mut self, found: bool) {
        if found || self.is_heard {
            self.stirred = Instant::now();
        }
        if found {
            self.in_vain = 0;
        } else if self.is_heard {
            self.in_vain = self.in_vain.saturating_add(1);
        }
        self.is_heard = false;
    }

    /// The beginning or end of a stream is a hint too: some hints may have been missed.
    async fn hear(&mut self) {
        loop {
            match &mut self.stream {
                Stream::Closed(until) => {
                    sleep_until(*until).await;
                    let (store, wanted) = (Arc::clone(&self.store), self.wanted.clone());
                    let open = async move { timeout(OPEN_LIMIT, store.watch(&wanted)).await };
                    self.stream = Stream::Opening(Box::pin(open));
                }
                Stream::Opening(opening) => match opening.await {
                    Ok(Ok(Some(wakeups))) => {
                        self.stream = Stream::Open(wakeups);
                        return;
                    }
                    Ok(Ok(None)) => self.stream = Stream::None,
                    Ok(Err(error)) => {
                        tracing::debug!(%error, "the store sends no hints; polling");
                        self.close();
                    }
                    Err(_) => {
                        tracing::debug!("the store did not answer whether it sends hints; polling");
                        self.close();
                    }
                },
                Stream::Open(wakeups) => {
                    match wakeups.next().await {
                        Some(_) => self.pause = FIRST_PAUSE,
                        None => self.close(),
                    }
                    return;
                }
                Stream::None => pending().await,
            }
        }
    }

    fn close(&mut self) {
        let pause = self.pause.mul_f64(0.5 + fastrand::f64());
        self.stream = Stream::Closed(Instant::now() + pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }
}
