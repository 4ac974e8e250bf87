//! The recorded requests and answers.

use std::sync::{Mutex, MutexGuard, PoisonError};

use dlock_core::{
    Name, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Ask, AskOutcome, List, Page, Release, ReleaseOutcome, Renew,
        RenewOutcome, Revoke, RevokeOutcome,
    },
};
use tokio::time::Instant;

/// An operation of [`Provider`](dlock_core::Provider) or [`Admin`](dlock_core::provider::Admin).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is the method of that name")]
pub enum Op {
    Acquire,
    Renew,
    Release,
    Read,
    RenewMany,
    Watch,
    List,
    Revoke,
    Ask,
    Purge,
}

impl Op {
    pub(super) const ALL: [Self; 10] = [
        Self::Acquire,
        Self::Renew,
        Self::Release,
        Self::Read,
        Self::RenewMany,
        Self::Watch,
        Self::List,
        Self::Revoke,
        Self::Ask,
        Self::Purge,
    ];
}

/// The request of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is the argument of that method")]
pub enum Request {
    Acquire(Acquire),
    Renew(Renew),
    Release(Release),
    Read(Name),
    RenewMany(Vec<Renew>),
    Watch,
    List(List),
    Revoke(Revoke),
    Ask(Ask),
    Purge(usize),
}

impl Request {
    /// The operation that it requests.
    #[must_use]
    pub const fn op(&self) -> Op {
        match self {
            Self::Acquire(_) => Op::Acquire,
            Self::Renew(_) => Op::Renew,
            Self::Release(_) => Op::Release,
            Self::Read(_) => Op::Read,
            Self::RenewMany(_) => Op::RenewMany,
            Self::Watch => Op::Watch,
            Self::List(_) => Op::List,
            Self::Revoke(_) => Op::Revoke,
            Self::Ask(_) => Op::Ask,
            Self::Purge(_) => Op::Purge,
        }
    }
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is the result of that method")]
pub enum Outcome {
    Acquire(AcquireOutcome),
    Renew(RenewOutcome),
    Release(ReleaseOutcome),
    Read(Option<Record>),
    /// How many answers there were; each is in the record of its own renewal.
    RenewMany(usize),
    /// Whether there is a stream.
    Watch(bool),
    List(Page),
    Revoke(RevokeOutcome),
    Ask(AskOutcome),
    Purge(u64),
}

/// One call, as the caller saw it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Call {
    /// Which operation.
    pub op: Op,
    /// Its request.
    pub request: Request,
    /// When the call began.
    pub began: Instant,
    /// The caller's answer; `None` while the caller waits, and forever if it stopped waiting.
    pub answer: Option<Result<Outcome, ProviderError>>,
}

impl Call {
    /// The request, if this is an acquire.
    #[must_use]
    pub const fn acquire(&self) -> Option<&Acquire> {
        if let Request::Acquire(request) = &self.request {
            Some(request)
        } else {
            None
        }
    }

    /// The request, if this is a renewal.
    #[must_use]
    pub const fn renew(&self) -> Option<&Renew> {
        if let Request::Renew(request) = &self.request {
            Some(request)
        } else {
            None
        }
    }

    /// The request, if this is a release.
    #[must_use]
    pub const fn release(&self) -> Option<&Release> {
        if let Request::Release(request) = &self.request {
            Some(request)
        } else {
            None
        }
    }
}

#[derive(Default)]
pub(super) struct Log(Mutex<State>);

#[derive(Default)]
struct State {
    calls: Vec<Call>,
    /// How many calls were forgotten: the number of the first call in `calls`.
    forgotten: usize,
}

impl Log {
    /// Records the beginning of a call; returns its position.
    pub(super) fn began(&self, op: Op, request: Request) -> usize {
        let mut state = self.lock();
        state.calls.push(Call {
            op,
            request,
            began: Instant::now(),
            answer: None,
        });
        state.forgotten + state.calls.len() - 1
    }

    pub(super) fn ended(&self, entry: usize, answer: Result<Outcome, ProviderError>) {
        let mut state = self.lock();
        let Some(index) = entry.checked_sub(state.forgotten) else {
            return;
        };
        if let Some(call) = state.calls.get_mut(index) {
            call.answer = Some(answer);
        }
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        self.lock().calls.clone()
    }

    pub(super) fn count(&self, op: Op) -> usize {
        self.lock()
            .calls
            .iter()
            .filter(|call| call.op == op)
            .count()
    }

    pub(super) fn forget(&self) {
        let mut state = self.lock();
        state.forgotten += state.calls.len();
        state.calls.clear();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics between two related changes.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

macro_rules! outcome_from {
    ($($from:ty => $variant:ident,)*) => {$(
        impl From<$from> for Outcome {
            fn from(outcome: $from) -> Self {
                Self::$variant(outcome)
            }
        }
    )*};
}

outcome_from! {
    AcquireOutcome => Acquire,
    RenewOutcome => Renew,
    ReleaseOutcome => Release,
    Option<Record> => Read,
    Page => List,
    RevokeOutcome => Revoke,
    AskOutcome => Ask,
    u64 => Purge,
}
