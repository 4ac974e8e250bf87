//! Hints of the store that there may be something to claim (K6): when an idle worker asks although its sleep is not
//! over.
//!
//! All idle workers of a queue hear the same hint. The first to ask gets the task; the others learn only by asking
//! that there is nothing left, and each of their claims is work for the store. So a worker that asked in vain twice in a
//! row takes its time with the next hint, and more each time, until it gets a task: the claims of many workers do not meet,
//! and hints that come meanwhile have no claims of their own. Once does not count: a store that hints again a little later,
//! for what may have been left out, tells a worker of nothing that has no competitors, and such a worker never waits.
//!
//! A worker that is told of tasks need not ask for them each second. But stores leave hints out, beside others: of a
//! transaction that began with one that notifies, and goes on for longer. So a worker sleeps for as long as it has
//! been quiet. A task that was committed without a hint some time after another one's hint waits for a
//! second at most, or that time once more, and never for longer than [`LONGEST_IDLE`].

use std::{future::pending, sync::Arc, time::Duration};

use dlock_core::{ProviderError, provider::Wakeups};
use futures_util::future::BoxFuture;
use tokio::time::{Instant, error::Elapsed, sleep_until, timeout};

use crate::{Claim, TaskStore};

/// The longest that an idle worker sleeps.
pub(super) const LONGEST_IDLE: Duration = Duration::from_secs(5);
/// How long opening the stream may take, and how long to wait before it is tried again, at first and at most.
const OPEN_LIMIT: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long a worker that asked in vain twice takes at most with the next hint, and after many in vain.
const FIRST_SPREAD: Duration = Duration::from_millis(1);
const LONGEST_SPREAD: Duration = Duration::from_millis(64);

/// How long an idle worker sleeps that is told nothing; with a stream, after a hint.
const POLL: Duration = Duration::from_secs(1);

/// The hints about a worker's queues and kinds.
pub(super) struct Hints {
    store: Arc<dyn TaskStore>,
    wanted: Claim,
    stream: Stream,
    /// Before the stream is opened again.
    pause: Duration,
    /// A hint was heard and the worker has not asked since.
    is_heard: bool,
    /// How many hints in a row it has followed in vain.
    in_vain: u32,
    /// When the worker asked because of a hint, or found a task, for the last time.
    stirred: Instant,
}

type Opened = Result<Result<Option<Wakeups>, ProviderError>, Elapsed>;

enum Stream {
    Closed(Instant),
    Opening(BoxFuture<'static, Opened>),
    Open(Wakeups),
    /// The store has none.
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

    /// How long the worker may sleep that has just asked. Within its lease it sees that a worker with as long a lease
    /// has claimed a task since, and so learns when that lease ends.
    pub(super) fn poll(&self) -> Duration {
        match self.stream {
            Stream::Open(_) => {
                let longest = self.wanted.lease.clamp(POLL, LONGEST_IDLE);
                self.stirred.elapsed().clamp(POLL, longest)
            }
            _ => POLL,
        }
    }

    /// Waits for a hint, and says how soon to ask. Never returns between a hint and the claim that follows it.
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

    /// Within which time to ask after a hint.
    fn spread(&self) -> Duration {
        match self.in_vain.checked_sub(2) {
            Some(more) => (FIRST_SPREAD * 2_u32.saturating_pow(more)).min(LONGEST_SPREAD),
            None => Duration::ZERO,
        }
    }

    /// The worker has asked. `found`: and there was something.
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

    /// A stream that begins or ends is a hint too: some may have been missed.
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
