//! Waiting for the fate of a term. Each watcher has its own timer: without watchers there is none.

use super::Term;
use crate::{End, State, testing::Event};

impl Term {
    /// Resolves when the lease has ended, with its cause. Its timer is its own: it waits for no renewal, and it reads
    /// the clock at least every D/10 and every second.
    pub(crate) async fn ended(&self) -> End {
        let mut waited = false;
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(loss) = self.over() {
                if waited {
                    self.record(Event::EndDelivered);
                }
                return loss;
            }
            waited = true;
            tokio::select! {
                biased;
                () = changed => {}
                () = self.store.clock.sleep_until(self.deadline(), self.plan.step()) => {}
            }
        }
    }

    /// Resolves when the lease is unsure or has ended.
    pub(crate) async fn unsure(&self) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if !matches!(self.state(), State::Valid) {
                return;
            }
            tokio::select! {
                biased;
                () = changed => {}
                () = self.store.clock.sleep_until(self.unsure_from(), self.plan.step()) => {}
            }
        }
    }
}
