//! One call to the provider: some renewals that travel together, or one alone. A call that hangs makes room for others
//! after D/30, has no answer after D/6, and its items are then tried again alone.

#[cfg(test)]
mod tests;

use std::{mem, pin::pin, sync::Arc, time::Duration};

use super::{
    log_end,
    schedule::{Outcome, PlannedCall, Schedule, next_check},
    send_queue::{Kind, Route},
    timer_queue::{Entry, Health},
};
use crate::{
    ProviderError,
    events::Operation,
    lease::{RenewalAttempt, renewal},
    provider::{Renew, RenewOutcome},
    store::Store,
};

type Answer = Result<RenewOutcome, ProviderError>;

/// A call and the terms it is for. Dropping it settles it as a call without an answer: that covers a provider that
/// panics and a runtime that ends.
pub(super) struct Call {
    schedule: Arc<Schedule>,
    route: Route,
    kind: Kind,
    /// The terms whose attempt has not been settled.
    items: Vec<Entry>,
    /// Whether it is counted among the calls that others wait for.
    in_the_way: bool,
    ended: bool,
}

impl PlannedCall {
    pub(super) fn of(self, schedule: &Arc<Schedule>) -> Call {
        let Self { route, kind, items } = self;
        Call {
            schedule: Arc::clone(schedule),
            route,
            kind,
            items,
            in_the_way: true,
            ended: false,
        }
    }
}

impl Call {
    pub(super) async fn run(mut self) {
        let Some(first) = self.items.first().map(|entry| Arc::clone(&entry.term)) else {
            return;
        };
        let store = &first.store;
        self.admission(store).await;
        let (attempts, requests, gone) = self.begin_attempts();
        let limits = self.items.iter().map(|entry| entry.term.attempt_limit());
        // Never longer than the shortest lease of the call allows.
        let Some(limit) = limits.min() else {
            self.settle(None, gone);
            return;
        };
        let answers = {
            let mut answers = pin!(send(store, first.plan.group.as_ref(), limit, &requests));
            tokio::select! {
                biased;
                answers = &mut answers => answers,
                // D/30, usually. A call that hangs must not hold up the others.
                () = store.clock.pause(limit / 5) => {
                    self.make_room();
                    answers.await
                }
            }
        };
        let heard = answers.iter().any(Result::is_ok);
        let (company, resting) = (attempts.len(), self.resting(store));
        let mut outcomes = gone;
        for ((entry, attempt), answer) in mem::take(&mut self.items)
            .into_iter()
            .zip(attempts)
            .zip(answers)
        {
            outcomes.push(match renewal::settle(&entry.term, attempt, answer) {
                Ok(()) => Outcome::Again(next_check(&entry.term), entry.with(Health::Healthy)),
                Err(_) => retry(entry, company > 1 && !heard && self.kind == Kind::Due),
            });
        }
        let silent = self.settle(Some(heard), outcomes);
        if silent && self.in_the_way {
            // The next probe comes after a pause: a crowd must not storm a store that is down.
            store.clock.pause(resting).await;
        }
    }

    /// While the store answers no call, a failed renewal is repeated only in its turn; but not so late that the lease
    /// would miss its last full attempt, or, after that, half of its remainder.
    async fn admission(&self, store: &Store) {
        let retried = self
            .items
            .iter()
            .filter(|entry| entry.health != Health::Healthy);
        let patience = retried.map(|entry| {
            let (left, attempt) = (entry.term.remaining(), entry.term.plan.attempt());
            left.checked_sub(attempt).unwrap_or(left / 2)
        });
        if let (Some(patience), Some(first)) = (patience.min(), self.items.first()) {
            let term = &first.term;
            // A lease that has ended takes no turn.
            let lease_ended = async {
                loop {
                    let mut changed = pin!(term.changed());
                    changed.as_mut().enable();
                    if self.items.len() == 1 && !term.is_valid() {
                        return;
                    }
                    changed.await;
                }
            };
            tokio::select! {
                biased;
                () = lease_ended => {}
                // If it is not admitted in time, it is sent nevertheless.
                _admitted = store.outage.admit(&term.plan, patience) => {}
            }
        }
    }

    /// A number and a `sent` for each term, drawn right before the call and not when the call was planned: the new
    /// deadline counts from that `sent`. A term whose release has begun gets none, and leaves the call.
    fn begin_attempts(&mut self) -> (Vec<RenewalAttempt>, Vec<Renew>, Vec<Outcome>) {
        let count = self.items.len();
        let (mut attempts, mut requests) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut gone = Vec::new();
        for entry in mem::replace(&mut self.items, Vec::with_capacity(count)) {
            let term = &entry.term;
            // It may have waited a long time for its turn.
            let stops = term.renewals_end();
            let stopped = stops.is_some_and(|end| end <= term.store.clock.now());
            let attempt = term.next_attempt().filter(|_| !stopped);
            match attempt {
                Some(attempt) => {
                    requests.push(renewal::request(term, attempt));
                    attempts.push(attempt);
                    self.items.push(entry);
                }
                None => gone.push(Outcome::Ended(entry)),
            }
        }
        (attempts, requests, gone)
    }

    /// How long the call pauses after a failure.
    fn resting(&self, store: &Store) -> Duration {
        let first = self.items.first();
        first.map_or(Duration::ZERO, |entry| {
            store.pause_after_failure(&entry.term.plan)
        })
    }

    fn make_room(&mut self) {
        if mem::take(&mut self.in_the_way) {
            self.schedule.make_room(self.route, self.kind);
        }
    }

    /// Returns whether the store answers nothing at present.
    fn settle(&mut self, heard: Option<bool>, outcomes: Vec<Outcome>) -> bool {
        self.ended = true;
        let (silent, done) = self.schedule.settle(self.route, heard, outcomes);
        for entry in done {
            log_end(&entry.term, self.schedule.clock());
        }
        silent
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.ended {
            let cut_off = ProviderError::unknown("the renewal was cut off");
            let items = mem::take(&mut self.items).into_iter();
            let outcomes = items.map(|entry| {
                entry.term.unanswered(cut_off.clone());
                retry(entry, false)
            });
            let outcomes = outcomes.collect();
            self.settle(Some(false), outcomes);
        }
        self.make_room();
    }
}

/// As many answers as requests, in their order, within the limit. A call of one request is a plain renewal.
async fn send(
    store: &Store,
    group: Option<&Arc<str>>,
    limit: Duration,
    requests: &[Renew],
) -> Vec<Answer> {
    let provider = &store.provider;
    if let [request] = requests {
        let what = (Operation::Renew, group);
        return vec![store.call(what, limit, provider.renew(request)).await];
    }
    let call = async { Ok(provider.renew_many(requests).await) };
    let none = |error: ProviderError| vec![Err(error); requests.len()];
    // Leases of several groups travel together.
    let what = (Operation::RenewMany, None);
    let answers = match store.call(what, limit, call).await {
        Ok(answers) => answers,
        Err(error) => {
            let answers = none(error);
            answers
                .iter()
                .take(1)
                .for_each(|answer| store.outage.heard(answer));
            return answers;
        }
    };
    let heard = answers.iter().find(|answer| answer.is_ok());
    if let Some(answer) = heard.or(answers.first()) {
        store.outage.heard(answer);
    }
    if answers.len() != requests.len() {
        // It is not known which answer is for which request.
        return none(ProviderError::unknown(format!(
            "the provider gave {} answers to {} renewals",
            answers.len(),
            requests.len()
        )));
    }
    answers
}

/// The next attempt comes after a short jittered pause. A term that failed together with others may have failed because
/// of one of them, and is retried with few others at most.
fn retry(entry: Entry, in_company: bool) -> Outcome {
    let term = &entry.term;
    let store = &term.store;
    let again = store.clock.now() + store.pause_after_failure(&term.plan);
    let ends = term.renewals_end().into_iter().chain([again]);
    let at = ends.fold(term.deadline(), Ord::min);
    let health = match entry.health {
        Health::Healthy if in_company => Health::Suspect,
        _ => Health::Isolated,
    };
    Outcome::Again(at, entry.with(health))
}
