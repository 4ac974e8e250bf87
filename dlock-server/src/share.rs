//! How much of a server one client may have, where there are several: the holder of a token or a certificate.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use dlock_http::Code;
use tokio::sync::Semaphore;

use crate::{problem::Refusal, rights::Holder};

/// What a server has a limited number of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Calls of the store under way.
    Calls,
    /// Requests that wait, and streams of hints.
    Waits,
    /// Streams of the dashboard.
    Streams,
    /// Views of the dashboard that are looked at, or were a moment ago.
    Views,
    /// Bytes of bodies and answers.
    Memory,
}

/// What a client has at the moment.
#[derive(Debug)]
pub(crate) struct Usage {
    taken: [AtomicUsize; 5],
    /// Pages that are read for it at a time: the others of it wait.
    pub(crate) pages: Semaphore,
}

/// A client that may have no more than a part of the server.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    holder: Arc<Holder>,
    percent: usize,
}

/// What a client has until this is dropped.
#[derive(Debug)]
pub(crate) struct Part {
    holder: Arc<Holder>,
    kind: Kind,
    count: usize,
}

impl Usage {
    pub(crate) fn new() -> Self {
        Self {
            taken: Default::default(),
            pages: Semaphore::new(PAGES),
        }
    }

    const fn of(&self, kind: Kind) -> &AtomicUsize {
        let [calls, waits, streams, views, memory] = &self.taken;
        match kind {
            Kind::Calls => calls,
            Kind::Waits => waits,
            Kind::Streams => streams,
            Kind::Views => views,
            Kind::Memory => memory,
        }
    }
}

/// How many pages are read for one client at a time.
const PAGES: usize = 2;

impl Client {
    /// A client that may have this part of all there is, in percent.
    pub(crate) const fn new(holder: Arc<Holder>, percent: usize) -> Self {
        Self { holder, percent }
    }

    /// Takes some of what the server has so much of.
    ///
    /// # Errors
    /// A refusal if that is more than its share, which is one at least.
    pub(crate) fn take(&self, kind: Kind, count: usize, all: usize) -> Result<Part, Refusal> {
        // Lists are refused to everybody when half of the calls or of the memory is taken: one client cannot bring that about.
        let percent = match kind {
            Kind::Waits | Kind::Streams | Kind::Views => self.percent,
            Kind::Calls | Kind::Memory => self.percent / 2,
        };
        let most = (all.saturating_mul(percent) / 100).max(1);
        let part = self.add(kind, count);
        if self.usage().of(kind).load(Ordering::Relaxed) > most {
            let what = match kind {
                Kind::Calls => "calls of the store",
                Kind::Waits => "requests that wait, and streams of hints,",
                Kind::Streams => "streams",
                Kind::Views => "views of the dashboard",
                Kind::Memory => "bytes of bodies and answers",
            };
            let detail =
                format!("this client has its share of the server: {most} {what} at a time");
            return Err(Refusal::new(Code::TooMany, detail));
        }
        Ok(part)
    }

    /// Takes what is there already.
    pub(crate) fn add(&self, kind: Kind, count: usize) -> Part {
        self.usage().of(kind).fetch_add(count, Ordering::Relaxed);
        Part {
            holder: Arc::clone(&self.holder),
            kind,
            count,
        }
    }

    pub(crate) fn usage(&self) -> &Usage {
        &self.holder.usage
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let taken = self.holder.usage.of(self.kind);
        taken.fetch_sub(self.count, Ordering::Relaxed);
    }
}
