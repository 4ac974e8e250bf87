//! One call to the provider: some renewals that travel together, or one alone.

use std::{mem, pin::pin, sync::Arc, time::Duration};

use super::{
    agenda::{Agenda, Departure, Next, next_look},
    farewell,
    lane::{Kind, Route},
    queue::{Kept, Standing},
};
use crate::{
    ProviderError, Renew, RenewOutcome,
    events::Operation,
    lease::{Draw, renewal},
    store::Store,
};

type Answer = Result<RenewOutcome, ProviderError>;

/// A call and the terms it is for. Dropping it settles it, as one without an answer: a provider that
/// panics and a runtime that ends take that path.
pub(super) struct Call {
    agenda: Arc<Agenda>,
    route: Route,
    kind: Kind,
    /// Those whose attempt has not been settled.
    items: Vec<Kept>,
    /// It is counted among the calls that others wait for.
    in_the_way: bool,
    ended: bool,
}

impl Departure {
    pub(super) fn of(self, agenda: &Arc<Agenda>) -> Call {
        let Self { route, kind, items } = self;
        Call {
            agenda: Arc::clone(agenda),
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
        let Some(first) = self.items.first().map(|kept| Arc::clone(&kept.term)) else {
            return;
        };
        let store = &first.store;
        self.turn(store).await;
        let (draws, requests, gone) = self.draw();
        let limits = self.items.iter().map(|kept| kept.term.attempt_limit());
        // Never longer than the shortest lease on board allows (V6).
        let Some(limit) = limits.min() else {
            self.settle(None, gone);
            return;
        };
        let answers = {
            let mut answers = pin!(ask(store, first.plan.group.as_ref(), limit, &requests));
            tokio::select! {
                biased;
                answers = &mut answers => answers,
                // D/30, usually. Whatever holds it up must not hold up the others.
                () = store.clock.pause(limit / 5) => {
                    self.make_room();
                    answers.await
                }
            }
        };
        let heard = answers.iter().any(Result::is_ok);
        let (company, resting) = (draws.len(), self.resting(store));
        let mut nexts = gone;
        for ((kept, draw), answer) in mem::take(&mut self.items)
            .into_iter()
            .zip(draws)
            .zip(answers)
        {
            nexts.push(match renewal::settle(&kept.term, draw, answer) {
                Ok(()) => Next::At(next_look(&kept.term), kept.with(Standing::Fresh)),
                Err(_) => failed(kept, company > 1 && !heard && self.kind == Kind::Due),
            });
        }
        let silent = self.settle(Some(heard), nexts);
        if silent && self.in_the_way {
            // The next probe comes after a pause: a crowd must not storm a store that is down.
            store.clock.pause(resting).await;
        }
    }

    /// What has failed is repeated in its turn while the store answers nobody, but not so late that a
    /// lease would miss its last full attempt, nor what is left after that.
    async fn turn(&self, store: &Store) {
        let retried = self
            .items
            .iter()
            .filter(|kept| kept.standing != Standing::Fresh);
        let patience = retried.map(|kept| {
            let (left, attempt) = (kept.term.remaining(), kept.term.plan.attempt());
            left.checked_sub(attempt).unwrap_or(left / 2)
        });
        if let (Some(patience), Some(first)) = (patience.min(), self.items.first()) {
            let term = &first.term;
            // Nobody's turn is taken for a lease that has ended.
            let over = async {
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
                () = over => {}
                // Without a turn it goes all the same.
                _turn = store.outage.turn(&term.plan, patience) => {}
            }
        }
    }

    /// V4: a number and a `sent` for each, drawn now, right before the call, and not when it was
    /// decided on. V7: whoever has begun its release draws none, and is gone.
    fn draw(&mut self) -> (Vec<Draw>, Vec<Renew>, Vec<Next>) {
        let count = self.items.len();
        let (mut draws, mut requests) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut gone = Vec::new();
        for kept in mem::replace(&mut self.items, Vec::with_capacity(count)) {
            let term = &kept.term;
            // It may have had no turn for long.
            let stops = term.renewals_end();
            let stopped = stops.is_some_and(|end| end <= term.store.clock.now());
            let draw = term.draw().filter(|_| !stopped);
            match draw {
                Some(draw) => {
                    requests.push(renewal::request(term, draw));
                    draws.push(draw);
                    self.items.push(kept);
                }
                None => gone.push(Next::Over(kept)),
            }
        }
        (draws, requests, gone)
    }

    /// How long it rests after a failure.
    fn resting(&self, store: &Store) -> Duration {
        let first = self.items.first();
        first.map_or(Duration::ZERO, |kept| {
            store.pause_after_failure(&kept.term.plan)
        })
    }

    fn make_room(&mut self) {
        if mem::take(&mut self.in_the_way) {
            self.agenda.make_room(self.route, self.kind);
        }
    }

    /// True if the store answers nothing at present.
    fn settle(&mut self, heard: Option<bool>, nexts: Vec<Next>) -> bool {
        self.ended = true;
        let (silent, over) = self.agenda.settle(self.route, heard, nexts);
        for kept in over {
            farewell(&kept.term, self.agenda.clock());
        }
        silent
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.ended {
            let cut_off = ProviderError::unknown("the renewal was cut off");
            let items = mem::take(&mut self.items).into_iter();
            let nexts = items.map(|kept| {
                kept.term.failed(cut_off.clone());
                failed(kept, false)
            });
            let nexts = nexts.collect();
            self.settle(Some(false), nexts);
        }
        self.make_room();
    }
}

/// As many answers as requests, in their order, within the limit. A call of one is a renewal like
/// any other.
async fn ask(
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
        // Whose answers they are, nobody knows.
        return none(ProviderError::unknown(format!(
            "the provider gave {} answers to {} renewals",
            answers.len(),
            requests.len()
        )));
    }
    answers
}

/// The next attempt comes after a short jittered pause (V6). A term that failed in company may have
/// failed for the sake of another, and is retried in small company at most.
fn failed(kept: Kept, in_company: bool) -> Next {
    let term = &kept.term;
    let store = &term.store;
    let again = store.clock.now() + store.pause_after_failure(&term.plan);
    let ends = term.renewals_end().into_iter().chain([again]);
    let at = ends.fold(term.deadline(), Ord::min);
    let standing = match kept.standing {
        Standing::Fresh if in_company => Standing::Doubtful,
        _ => Standing::Alone,
    };
    Next::At(at, kept.with(standing))
}
