//! The provider's own calls, dropped in flight: later calls receive their own answers, and a dropped call has either
//! been applied or not (G1).

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Name, Provider, ProviderError,
    provider::{Acquire, AcquireOutcome, Release, ReleaseOutcome, Renew, RenewOutcome},
};
use fastrand::Rng;
use tokio::time::timeout;
use uuid::Uuid;

use super::{
    Tally,
    cut::{Cut, Point},
    stage::ok,
};

/// How many calls are in flight at a time.
const AT_ONCE: usize = 4;

/// How long a later call may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// The lease of these calls: longer than all of them take.
const LEASE: Duration = Duration::from_secs(600);

/// A provider's methods, by the names under which they are listed.
const METHODS: [&str; 5] = [
    "Provider::acquire",
    "Provider::renew",
    "Provider::release",
    "Provider::read",
    "Provider::renew_many",
];

pub(super) struct Calls {
    ours: Arc<dyn Provider>,
    theirs: Arc<dyn Provider>,
    random: Rng,
}

impl Calls {
    pub(super) fn new(ours: Arc<dyn Provider>, theirs: Arc<dyn Provider>, random: Rng) -> Self {
        Self {
            ours,
            theirs,
            random,
        }
    }

    /// Drops this many calls.
    pub(super) async fn dropped(mut self, drops: usize, tally: &mut Tally) {
        let polls = self.polls().await;
        let mut left = drops;
        while left > 0 {
            let mut drawn = [None; AT_ONCE];
            for call in drawn.iter_mut().take(left) {
                let method = self.random.usize(..METHODS.len());
                let point = Point::TurnAfter(self.random.usize(..=polls[method]));
                *call = Some((method, point));
            }
            left = left.saturating_sub(AT_ONCE);
            let [a, b, c, d] = drawn.map(|call| self.maybe(call));
            let (a, b, c, d) = tokio::join!(a, b, c, d);
            for (name, dropped) in [a, b, c, d].into_iter().flatten() {
                tally.count(name, dropped);
            }
        }
    }

    async fn maybe(&self, call: Option<(usize, Point)>) -> Option<(&'static str, bool)> {
        let (method, point) = call?;
        Some((METHODS[method], !self.one(method, point).await.ended))
    }

    /// How often each method is polled until it is answered.
    async fn polls(&self) -> Vec<usize> {
        let mut polls = Vec::new();
        for method in 0..METHODS.len() {
            polls.push(self.one(method, Point::Never).await.polls);
        }
        polls
    }

    /// Makes one call, and drops it at this point.
    async fn one(&self, method: usize, point: Point) -> Cut {
        let name = ok(Name::new(format!("call/{}", Uuid::new_v4().simple())));
        let term = Acquire::new(name.clone(), Uuid::new_v4(), LEASE).owner("who goes away");
        let renewal = Renew::new(name.clone(), term.new, 1);
        let release = Release::new(name.clone(), term.new, None);
        let held = method != 0;
        if held {
            granted(self.answer("acquire", self.theirs.acquire(&term)).await);
        }
        let mut cut = Cut::real(point, usize::MAX);
        match method {
            0 => drop(cut.drive(self.ours.acquire(&term)).await),
            1 => drop(cut.drive(self.ours.renew(&renewal)).await),
            2 => drop(cut.drive(self.ours.release(&release)).await),
            3 => drop(cut.drive(self.ours.read(&name)).await),
            _ => drop(
                cut.drive(self.ours.renew_many(std::slice::from_ref(&renewal)))
                    .await,
            ),
        }

        // The next call on the same provider is answered, and with its own answer.
        let other = ok(Name::new(format!("call/{}", Uuid::new_v4().simple())));
        let next = Acquire::new(other.clone(), Uuid::new_v4(), LEASE).owner("who comes next");
        let token = granted(self.answer("acquire", self.ours.acquire(&next)).await);
        let record = self.answer("read", self.ours.read(&other)).await;
        let shown = record.map(|record| (record.uuid, record.token));
        assert_eq!(shown, Some((next.new, token)), "read another's answer");
        let renewal = Renew::new(other.clone(), next.new, 1);
        let renewed = self.answer("renew", self.ours.renew(&renewal)).await;
        assert!(
            matches!(renewed, RenewOutcome::Renewed { .. }),
            "{renewed:?}"
        );
        let release_next = Release::new(other, next.new, Some(token));
        let released = self
            .answer("release", self.ours.release(&release_next))
            .await;
        assert_eq!(
            released,
            ReleaseOutcome::Released { wanted: false },
            "another's answer"
        );

        // The dropped call was applied, or was not, or is still in flight.
        let record = self.answer("read", self.theirs.read(&name)).await;
        match record {
            Some(record) => assert_eq!(record.uuid, term.new, "another client's term"),
            None => assert!(!held, "the record is gone"),
        }
        let released = self.answer("release", self.theirs.release(&release)).await;
        assert!(
            !held || released.is_released(),
            "a term that was never given away: {released:?}"
        );
        cut
    }

    async fn answer<T>(
        &self,
        what: &str,
        call: impl Future<Output = Result<T, ProviderError>>,
    ) -> T {
        match timeout(PATIENCE, call).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => panic!("{what} after a dropped call failed: {error:?}"),
            Err(_elapsed) => panic!("{what} after a dropped call: not within {PATIENCE:?}"),
        }
    }
}

fn granted(outcome: AcquireOutcome) -> dlock_core::FencingToken {
    match outcome {
        AcquireOutcome::Acquired(tokens) => tokens.last(),
        other => panic!("a fresh name was not granted: {other:?}"),
    }
}
