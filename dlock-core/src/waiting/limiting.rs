//! When a wait ends without the lock: its limit, which is a total (W4), and the end of a place in line.

use std::{future::pending, time::Duration};

use super::{Acquired, Answer, Contender, Wait};
use crate::{Error, waiting::Settings};

impl Contender {
    /// What is left of the caller's limit.
    pub(super) fn left(&self) -> Option<Duration> {
        if self.gone.is_raised() {
            return Some(Duration::ZERO);
        }
        match self.wait {
            Wait::No | Wait::Limit(None) => None,
            Wait::Limit(Some(limit)) => {
                Some(limit.saturating_sub(self.lock.store.clock.elapsed(self.started)))
            }
        }
    }

    pub(super) async fn out_of_time(&self) {
        tokio::select! {
            biased;
            () = self.gone.raised() => {}
            () = self.limit() => {}
        }
    }

    async fn limit(&self) {
        while let Some(left) = self.left() {
            if left.is_zero() {
                return;
            }
            self.lock.store.clock.pause(left).await;
        }
        pending::<()>().await;
    }

    /// A store that said who holds the lock no longer ago than an attempt may take is not silent: its last
    /// call was cut by the limit.
    pub(super) fn timeout(&mut self) -> Error {
        let Settings { store, plan, .. } = &*self.lock;
        let holder = self.seen.take().map(Box::new);
        let silent = holder.is_none() || store.clock.elapsed(self.answered) >= plan.attempt();
        Error::Timeout {
            waited: store.clock.elapsed(self.started),
            holder,
            source: self.error.take().filter(|_| silent),
        }
    }

    /// The caller gets every grant. Of a place that went to others it is not told: it asks anew.
    pub(super) fn for_caller(&self, answer: Option<Answer>) -> Option<Answer> {
        let granted = |answer: &Answer| matches!(answer, Ok(Acquired::Holding(_)));
        answer.filter(|answer| !self.gone.is_raised() || granted(answer))
    }
}
