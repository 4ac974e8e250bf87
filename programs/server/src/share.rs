//! How much of a server one client may have, where there are several; a client is the holder of a token or a
//! certificate.

use std::{
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dlock_http::Code;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::{problem::Refusal, rate_limit::RateLimit};

/// The limited resources of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Calls of the store in flight.
    StoreCalls,
    /// Requests that wait, and streams of hints.
    LongPolls,
    /// Streams of the dashboard.
    Streams,
    /// Views of the dashboard that are being watched, or were a moment ago.
    Views,
    /// Bytes of bodies and answers.
    Memory,
    /// Calls of a holder that wait for its [turn](Client::turn).
    Line,
}

/// A client's current usage, and its recent rate.
#[derive(Debug)]
pub(crate) struct Usage {
    taken: [AtomicUsize; 6],
    pace: Mutex<RateLimit>,
    /// Places of its calls as a holder.
    turns: OnceLock<Arc<Semaphore>>,
    /// Pages that are read for it at a time: its others wait.
    pub(crate) pages: Semaphore,
}

/// A client that may have no more than a part of the server.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    usage: Arc<Usage>,
    percent: usize,
}

/// A share of a resource that a client has until this is dropped.
#[derive(Debug)]
pub(crate) struct Part {
    usage: Arc<Usage>,
    kind: Kind,
    count: usize,
}

impl Usage {
    pub(crate) fn new() -> Self {
        Self {
            taken: Default::default(),
            pace: Mutex::new(RateLimit::new()),
            turns: OnceLock::new(),
            pages: Semaphore::new(PAGES),
        }
    }

    const fn of(&self, kind: Kind) -> &AtomicUsize {
        let [calls, waits, streams, views, memory, line] = &self.taken;
        match kind {
            Kind::StoreCalls => calls,
            Kind::LongPolls => waits,
            Kind::Streams => streams,
            Kind::Views => views,
            Kind::Memory => memory,
            Kind::Line => line,
        }
    }

    /// Whether one more request is within this many per second.
    pub(crate) fn admits(&self, rate: u32) -> bool {
        let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        pace.admits(rate)
    }
}

/// How many pages are read for one client at a time.
const PAGES: usize = 2;

/// How many calls of a holder may wait for each one in flight.
const LINE: usize = 64;

/// How many renewals of one call take one place: a full batch takes half of those that a client has at a server with
/// the usual limits.
const WEIGHT: usize = 16;

impl Client {
    /// A client that may have this percentage of everything.
    pub(crate) const fn new(usage: Arc<Usage>, percent: usize) -> Self {
        Self { usage, percent }
    }

    /// Takes some of a resource of which the server has `all`.
    ///
    /// # Errors
    /// A refusal if that is more than its share, which is at least one.
    pub(crate) fn take(&self, kind: Kind, count: usize, all: usize) -> Result<Part, Refusal> {
        let most = self.most(kind, all);
        let part = self.add(kind, count);
        if self.usage.of(kind).load(Ordering::Relaxed) > most {
            let what = match kind {
                Kind::StoreCalls => "calls of the store",
                Kind::LongPolls => "requests that wait, and streams of hints,",
                Kind::Streams => "streams",
                Kind::Views => "views of the dashboard",
                Kind::Memory => "bytes of bodies and answers",
                Kind::Line => "renewals, releases and endings that wait",
            };
            let detail =
                format!("this client has its share of the server: {most} {what} at a time");
            return Err(Refusal::new(Code::TooMany, detail));
        }
        Ok(part)
    }

    /// How many of this total it may have.
    fn most(&self, kind: Kind, all: usize) -> usize {
        // Lists are refused to every client when half of the calls or of the memory is taken: one client cannot bring
        // that about.
        let percent = match kind {
            Kind::LongPolls | Kind::Streams | Kind::Views => self.percent,
            Kind::StoreCalls | Kind::Memory => self.percent / 2,
            Kind::Line => self.percent / 2 * LINE,
        };
        (all.saturating_mul(percent) / 100).max(1)
    }

    /// A place for a call as a holder, of this many renewals or endings. Where the client has as many in flight as it
    /// may have of other calls, the next one waits for one of its own to end, and other clients do not notice: so a
    /// client that has a lot to renew is not refused for it.
    ///
    /// # Errors
    /// A refusal if too many wait already, or if it takes too long.
    pub(crate) async fn turn(
        &self,
        renewals: usize,
        all: usize,
        limit: Duration,
    ) -> Result<OwnedSemaphorePermit, Refusal> {
        let most = self.most(Kind::StoreCalls, all);
        let turns = self
            .usage
            .turns
            .get_or_init(|| Arc::new(Semaphore::new(most)));
        let _line = self.take(Kind::Line, 1, all)?;
        let weight = renewals.div_ceil(WEIGHT).clamp(1, most);
        let turn = Arc::clone(turns).acquire_many_owned(u32::try_from(weight).unwrap_or(1));
        match timeout(limit, turn).await {
            Ok(Ok(turn)) => Ok(turn),
            // The semaphore is never closed.
            Ok(Err(_)) | Err(_) => {
                let detail = "this client has its share of the server: its renewals, releases and endings come faster than they are answered";
                Err(Refusal::new(Code::TooMany, detail))
            }
        }
    }

    /// Takes some that is in use already.
    pub(crate) fn add(&self, kind: Kind, count: usize) -> Part {
        self.usage.of(kind).fetch_add(count, Ordering::Relaxed);
        Part {
            usage: Arc::clone(&self.usage),
            kind,
            count,
        }
    }

    pub(crate) fn usage(&self) -> &Usage {
        &self.usage
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let taken = self.usage.of(self.kind);
        taken.fetch_sub(self.count, Ordering::Relaxed);
    }
}
