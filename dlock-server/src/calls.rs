//! Calls of the store: how many at a time, and how long each may take.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dlock_core::ProviderError;
use dlock_http::Code;
use metrics::gauge;
use tokio::time::timeout;

use crate::{
    measure,
    problem::{Refusal, of_store},
};

/// What is shed when there is too much, the first one first (N6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Lists and looks.
    List,
    /// Looks on behalf of those who wait.
    Wait,
    /// New tasks.
    Enqueue,
    /// New leases, and taking away what has to be taken away.
    Acquire,
    /// New claims of tasks.
    Claim,
    /// Renewals, heartbeats, releases and endings: never shed.
    Hold,
}

impl Class {
    /// As metrics call it.
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

    /// Which part of all calls may be under way for one of this class to begin, in percent.
    const fn share(self) -> Option<usize> {
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

/// The calls under way. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    under_way: Arc<AtomicUsize>,
    most: usize,
}

/// One call under way.
#[derive(Debug)]
struct Call(Arc<AtomicUsize>);

impl Drop for Call {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
        gauge!(measure::CALLS).decrement(1);
    }
}

impl Calls {
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

    /// A call of the store, in a task of its own: a client that hangs up leaves it to run to its answer or its limit, so
    /// that no connection to the store is lost by it (G1). Over its limit it may have been applied.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        class: Class,
        limit: Duration,
        request: impl Future<Output = Result<T, ProviderError>> + Send + 'static,
    ) -> Result<T, Refusal> {
        let call = self.begin(class)?;
        let task = tokio::spawn(async move {
            let answer = timeout(limit, request).await;
            drop(call);
            answer
        });
        match task.await {
            Ok(Ok(Ok(answer))) => Ok(answer),
            Ok(Ok(Err(error))) => Err(of_store(&error).into()),
            Ok(Err(_elapsed)) => {
                tracing::warn!(?limit, "the store has not answered in time");
                Err(Code::Unknown.into())
            }
            // It panicked, or the runtime is going away.
            Err(error) => {
                tracing::error!(%error, "a call of the store broke off");
                Err(Code::Unknown.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_shed_first_and_renewals_never() {
        let calls = Calls::new(10);
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
}
