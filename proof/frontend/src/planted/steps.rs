//! Acquires that decide and write in more than one step.

use std::{sync::atomic::Ordering, time::Duration};

use dlock_core::{
    ProviderError,
    provider::{Acquire, AcquireOutcome},
};
use dlock_testkit::memory::rules::{self, Decision, Stored, Write};
use tokio::task::yield_now;

use super::{acquire, provider::PlantedProvider};

impl PlantedProvider {
    /// Decides on a first read, and writes that decision later.
    pub(super) async fn acquire_in_two_steps(
        &self,
        request: &Acquire,
    ) -> Result<AcquireOutcome, ProviderError> {
        let key = self.key(&request.name)?;
        let Decision { write, answer } = self
            .inner
            .store()
            .look(|records, now| self.decide_acquire(records.get(&key), request, now));
        yield_now().await;
        self.inner.store().decide(&key, |_, _| (write, ()));
        answer
    }

    /// Shows a mark that it writes later.
    pub(super) async fn acquire_and_mark_then(
        &self,
        request: &Acquire,
    ) -> Result<AcquireOutcome, ProviderError> {
        let mut outcome = self.write(&request.name, |stored, now| {
            rules::acquire(stored, &request.clone().marks(0), now)
        })?;
        if let AcquireOutcome::Held(shown) = &mut outcome
            && shown.wanted == 0
        {
            shown.wanted = request.marks;
            yield_now().await;
            self.write(&request.name, |stored, _| {
                let held = stored.filter(|stored| stored.held_by(shown.uuid));
                let write = held.map_or(Write::Nothing, |held| {
                    let mut marked = held.clone();
                    marked.record.wanted = request.marks;
                    Write::Put(Box::new(marked))
                });
                Decision {
                    write,
                    answer: Ok(()),
                }
            })?;
        }
        Ok(outcome)
    }

    /// Draws the token on a first read and takes the record later.
    pub(super) async fn acquire_with_an_early_token(
        &self,
        request: &Acquire,
    ) -> Result<AcquireOutcome, ProviderError> {
        let key = self.key(&request.name)?;
        let free = |stored: &Stored| acquire::freed(&acquire::strangers(stored));
        let drawn = self.inner.store().look(|records, now| {
            rules::acquire(records.get(&key).map(free).as_ref(), request, now).answer
        });
        // Some calls wait longer for the lock than others.
        let calls = self.calls.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis([0, 7, 3, 0, 5][calls % 5])).await;
        self.inner.store().decide(&key, |stored, now| {
            let mut decision = rules::acquire(stored, request, now);
            if let (Write::Put(taken), Ok(AcquireOutcome::Acquired(drawn))) =
                (&mut decision.write, &drawn)
            {
                taken.record.token = drawn.last();
                decision.answer = Ok(AcquireOutcome::Acquired(*drawn));
            }
            (decision.write, decision.answer)
        })
    }
}
