//! Calls of the store: how many at a time, and how long each may take.

use std::{
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use dlock_core::{ProviderError, provider::for_holder};
use dlock_http::Code;
use futures_util::FutureExt as _;
use metrics::gauge;
use tokio::{runtime::Handle, time::timeout};

use crate::{
    measure,
    problem::{Refusal, of_store},
};

/// The classes of calls, in the order in which they are shed under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Lists and single reads.
    List,
    /// Reads on behalf of waiting requests.
    Wait,
    /// New tasks.
    Enqueue,
    /// New leases, and taking leases away.
    Acquire,
    /// New claims of tasks.
    Claim,
    /// Renewals, heartbeats, releases and endings, and the reads that they need: never shed, and on the connections
    /// that stores keep for holders.
    Hold,
}

impl Class {
    /// The name in metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Wait => "wait",
            Self::Enqueue => "enqueue",
            Self::Acquire => "acquire",
            Self::Claim => "claim",
            Self::Hold => "hold",
        }
    }

    /// The percentage of all calls that may be in flight for a call of this class to begin; `None`: any.
    pub(crate) const fn share(self) -> Option<usize> {
        match self {
            Self::List => Some(50),
            Self::Wait => Some(60),
            Self::Enqueue => Some(75),
            Self::Acquire => Some(90),
            Self::Claim => Some(100),
            Self::Hold => None,
        }
    }
}

/// The calls in flight. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct StoreCalls {
    under_way: Arc<AtomicUsize>,
    most: usize,
}

/// One call in flight.
#[derive(Debug)]
struct Call(Arc<AtomicUsize>);

impl Drop for Call {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
        gauge!(measure::CALLS).decrement(1);
    }
}

impl StoreCalls {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            under_way: Arc::default(),
            most: most.max(1),
        }
    }

    fn begin(&self, class: Class) -> Result<Call, Refusal> {
        let before = self.under_way.fetch_add(1, Ordering::Relaxed);
        gauge!(measure::CALLS).increment(1);
        let call = Call(Arc::clone(&self.under_way));
        match class.share() {
            Some(share) if before * 100 >= self.most * share => {
                measure::shed(class.name());
                Err(Code::Overloaded.into())
            }
            _ => Ok(call),
        }
    }

    /// A call of the store: if the client hangs up, the call still runs to its answer or its limit, so that no
    /// connection to the store is lost by it. A call that exceeded its limit may have been applied.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        class: Class,
        limit: Duration,
        request: impl Future<Output = Result<T, ProviderError>> + Send + 'static,
    ) -> Result<T, Refusal> {
        let call = self.begin(class)?;
        let answer = DetachOnDrop::new(async move {
            let request = AssertUnwindSafe(request).catch_unwind();
            let answer = match class {
                Class::Hold => for_holder(timeout(limit, request)).await,
                _ => timeout(limit, request).await,
            };
            drop(call);
            answer
        });
        match answer.await {
            Ok(Ok(Ok(answer))) => Ok(answer),
            Ok(Ok(Err(error))) => Err(of_store(&error).into()),
            Ok(Err(_panic)) => {
                tracing::error!("a call of the store panicked");
                Err(Code::Unknown.into())
            }
            Err(_elapsed) => {
                tracing::warn!(?limit, "the store has not answered in time");
                Err(Code::Unknown.into())
            }
        }
    }
}

/// A future that is polled in the task that awaits it, and continues in its own task if it is dropped before its end.
struct DetachOnDrop<F: Future<Output: Send> + Send + 'static>(Option<Pin<Box<F>>>);

impl<F: Future<Output: Send> + Send + 'static> DetachOnDrop<F> {
    fn new(future: F) -> Self {
        Self(Some(Box::pin(future)))
    }
}

impl<F: Future<Output: Send> + Send + 'static> Future for DetachOnDrop<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Some(future) = &mut self.0 else {
            return Poll::Pending;
        };
        let output = ready!(future.as_mut().poll(context));
        self.0 = None;
        Poll::Ready(output)
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for DetachOnDrop<F> {
    fn drop(&mut self) {
        if let (Some(future), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            drop(runtime.spawn(future));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_shed_first_and_renewals_never() {
        let calls = StoreCalls::new(10);
        let mut under_way = Vec::new();
        let mut refused = Vec::new();
        for _ in 0..12 {
            for class in [
                Class::List,
                Class::Wait,
                Class::Enqueue,
                Class::Acquire,
                Class::Claim,
            ] {
                if calls.begin(class).is_err() && !refused.contains(&class) {
                    refused.push(class);
                }
            }
            under_way.push(calls.begin(Class::Hold).unwrap());
        }
        assert_eq!(
            refused,
            [
                Class::List,
                Class::Wait,
                Class::Enqueue,
                Class::Acquire,
                Class::Claim
            ]
        );
        under_way.clear();
        assert!(calls.begin(Class::List).is_ok());
    }

    /// A connection to the store is not lost with the client for which it was used.
    #[tokio::test]
    async fn call_of_a_client_that_hangs_up_runs_to_its_end() {
        let calls = StoreCalls::new(10);
        let (answer, wait) = tokio::sync::oneshot::channel::<()>();
        let (ended, end) = tokio::sync::oneshot::channel();
        let call = async move {
            drop(wait.await);
            ended.send(()).unwrap();
            Ok(())
        };
        let mut asking = Box::pin(calls.ask(Class::Hold, Duration::from_secs(60), call));
        assert!((&mut asking).now_or_never().is_none());
        drop(asking);
        assert_eq!(calls.under_way.load(Ordering::Relaxed), 1);
        answer.send(()).unwrap();
        end.await.unwrap();
        while calls.under_way.load(Ordering::Relaxed) > 0 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn call_that_panics_is_one_without_an_answer() {
        let calls = StoreCalls::new(10);
        let panics = async { panic!("planted") };
        let answer = calls.ask::<()>(Class::Hold, Duration::from_secs(60), panics);
        let refusal = answer.await.unwrap_err();
        assert_eq!(refusal.0.code, Code::Unknown);
        assert_eq!(calls.under_way.load(Ordering::Relaxed), 0);
    }
}
