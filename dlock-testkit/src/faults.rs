//! Faults between a caller and any provider: calls lost, delayed, repeated and refused by script; and a record of every
//! call, so that a case can assert "exactly one try" or "no write".
//!
//! A request in flight is not recalled when the caller drops the call: a request that a fault delivers late runs in a
//! separate task, as it would on a network.

mod forward;
mod log;
mod script;

use std::{fmt, future::Future, sync::Arc};

use dlock_core::{Provider, ProviderError};
use tokio::sync::watch;

use self::{
    log::Log,
    script::{Ask, Script},
};
pub use self::{
    log::{Call, Op, Outcome, Request},
    script::Fault,
};

/// A wrapper around a provider that loses, delays, repeats and refuses calls by script, and records every one. Clones
/// share the script and the record. It forwards everything except [`Provider::sharing`]: a client that found the inner
/// provider would bypass the faults.
///
/// ```
/// # use dlock_core::{Name, Provider, provider::Release};
/// # use dlock_testkit::{faults::{Fault, Faulty, Op}, memory::{MemoryProvider, MemoryStore}};
/// # use uuid::Uuid;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let faulty = Faulty::new(MemoryProvider::new(&MemoryStore::store_clock()));
/// faulty.next(Op::Release, Fault::THROTTLED);
/// let release = Release::new(Name::new("door")?, Uuid::from_u128(1), None);
/// assert!(faulty.release(&release).await.is_err());
/// assert!(faulty.release(&release).await.is_ok());
/// assert_eq!(faulty.count(Op::Release), 2);
/// # Ok(()) }
/// ```
pub struct Faulty<P> {
    inner: Arc<P>,
    script: Arc<Script>,
    log: Arc<Log>,
    /// Wake-ups pass; `false` swallows them. A change of the number ends every stream.
    wakeups: Arc<watch::Sender<(bool, u64)>>,
}

impl<P: Provider> Faulty<P> {
    /// Wraps a provider; without a script it only records.
    #[must_use]
    pub fn new(inner: P) -> Self {
        Self {
            inner: Arc::new(inner),
            script: Arc::default(),
            log: Arc::default(),
            wakeups: Arc::new(watch::Sender::new((true, 0))),
        }
    }

    /// The provider inside, past all faults.
    #[must_use]
    pub fn inner(&self) -> &P {
        &self.inner
    }

    /// How many clones of the provider inside exist, this one and calls in progress included: whether anything still
    /// uses it.
    #[must_use]
    pub fn clones(&self) -> usize {
        Arc::strong_count(&self.inner)
    }

    /// Applies this fault to one upcoming call of this operation: the next one without a fault from an earlier `next`.
    /// Takes precedence over [`always`](Self::always).
    pub fn next(&self, op: Op, fault: Fault) {
        self.script.next(op, fault);
    }

    /// Applies this fault to every subsequent call of this operation, until [`clear`](Self::clear).
    pub fn always(&self, op: Op, fault: Fault) {
        self.script.always(op, fault);
    }

    /// Applies this fault to every subsequent call of every operation, as if the store were gone, until
    /// [`clear`](Self::clear).
    pub fn everything(&self, fault: Fault) {
        for op in Op::ALL {
            self.script.always(op, fault);
        }
    }

    /// Forgets all faults that have not struck yet. Requests that were held back stay held back.
    pub fn clear(&self) {
        self.script.clear();
    }

    /// Delivers the requests that [`Fault::HoldRequest`] and [`Fault::HoldCopy`] held back, in the order in which they
    /// were sent; resolves when the store has answered all of them.
    pub async fn deliver(&self) {
        for held in self.script.held() {
            held.await;
        }
    }

    /// How many requests are held back.
    #[must_use]
    pub fn held(&self) -> usize {
        self.script.held_count()
    }

    /// Swallows wake-ups from now on, or lets them pass again.
    pub fn mute_wakeups(&self, mute: bool) {
        self.wakeups.send_modify(|(pass, _)| *pass = !mute);
    }

    /// Ends every stream of wake-ups, as a lost connection does.
    pub fn break_watches(&self) {
        self.wakeups.send_modify(|(_, broken)| *broken += 1);
    }

    /// Every call so far, in the order in which they began.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.log.calls()
    }

    /// How many calls of this operation have begun so far. A renewal inside `renew_many` counts as an [`Op::Renew`] of
    /// its own, in addition to the one [`Op::RenewMany`].
    #[must_use]
    pub fn count(&self, op: Op) -> usize {
        self.log.count(op)
    }

    /// Forgets the calls recorded so far.
    pub fn forget_calls(&self) {
        self.log.forget();
    }

    /// Makes one call, subject to the fault that is due for it.
    async fn call<T, F, Fut>(&self, op: Op, request: Request, ask: F) -> Result<T, ProviderError>
    where
        T: Clone + Into<Outcome> + Send + 'static,
        F: Fn(Arc<P>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, ProviderError>> + Send + 'static,
    {
        let entry = self.log.began(op, request);
        let fault = self.script.due(op);
        let result = self.under(fault, ask).await;
        self.log.ended(entry, result.clone().map(Into::into));
        result
    }

    async fn under<T, F, Fut>(&self, fault: Option<Fault>, ask: F) -> Result<T, ProviderError>
    where
        T: Send + 'static,
        F: Fn(Arc<P>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, ProviderError>> + Send + 'static,
    {
        let inner = Arc::clone(&self.inner);
        let ask: Ask<T> = Arc::new(move || Box::pin(ask(Arc::clone(&inner))));
        self.script.play(fault, ask).await
    }
}

impl<P> Clone for Faulty<P> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            script: Arc::clone(&self.script),
            log: Arc::clone(&self.log),
            wakeups: Arc::clone(&self.wakeups),
        }
    }
}

impl<P> fmt::Debug for Faulty<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty")
            .field("calls", &self.log.calls().len())
            .finish_non_exhaustive()
    }
}
