//! The state that the schedulers of several runtimes share, and the log of a lease that is no longer renewed. Also,
//! for the tests of the other files: a store that answers at once, and terms to renew in it.

use std::{
    future::pending,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use tokio::runtime::{Builder, Runtime};
use tracing::{
    Event, Level, Metadata, Subscriber,
    span::{Attributes, Record as Values},
    subscriber::with_default,
};
use uuid::Uuid;

use super::*;
use crate::{
    Client, EndCause, FencingToken, Name, Provider, ProviderError, Record,
    lease::Settings,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Discipline, Release, ReleaseOutcome, Renew,
        RenewOutcome,
    },
    store::Store,
    tests::traced,
    time::{HolderInstant, ManualClock, Plan, plan_of},
};

pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const INSTANT: Duration = Duration::from_nanos(1);
pub(super) const LEASE: Duration = Duration::from_secs(60);

/// Renews every lease, except those whose names begin with `fails` or `hangs`.
struct Obedient {
    batches: bool,
    renewals: Arc<AtomicUsize>,
}

#[async_trait]
impl Provider for Obedient {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new("obedient", Discipline::StoreClock).batch(self.batches)
    }

    async fn acquire(&self, _: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        pending().await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        self.renewals.fetch_add(1, Ordering::SeqCst);
        let name = request.name.as_str();
        if name.starts_with("hangs") {
            pending::<()>().await;
        }
        if name.starts_with("fails") {
            return Err(ProviderError::unknown("on purpose"));
        }
        Ok(RenewOutcome::Renewed { asked: false })
    }

    async fn release(&self, _: &Release) -> Result<ReleaseOutcome, ProviderError> {
        pending().await
    }

    async fn read(&self, _: &Name) -> Result<Option<Record>, ProviderError> {
        pending().await
    }
}

/// A store, and the clock of its client.
pub(super) struct Scene {
    pub(super) store: Arc<Store>,
    pub(super) hand: ManualClock,
    renewals: Arc<AtomicUsize>,
    granted: AtomicUsize,
}

impl Scene {
    pub(super) fn new(batches: bool) -> Self {
        let (clock, hand) = Clock::manual();
        let renewals = Arc::<AtomicUsize>::default();
        let provider = Obedient {
            batches,
            renewals: Arc::clone(&renewals),
        };
        Self {
            store: Client::with_clock(provider, clock).0,
            hand,
            renewals,
            granted: AtomicUsize::new(0),
        }
    }

    /// A lease of a minute, granted now. If two end together, the first one is renewed first.
    pub(super) fn term(&self, name: &str) -> Arc<Term> {
        self.term_with(name, plan_of(LEASE))
    }

    pub(super) fn term_with(&self, name: &str, plan: Plan) -> Arc<Term> {
        let number = self.granted.fetch_add(1, Ordering::SeqCst);
        self.term_of(number, name, plan)
    }

    /// A lease that was granted to the request with this number.
    pub(super) fn term_of(&self, number: usize, name: &str, plan: Plan) -> Arc<Term> {
        let store = Arc::clone(&self.store);
        let name = Name::new(name).unwrap();
        let state = store.names.get(&name, &store.clock);
        let uuid = Uuid::from_u128(number as u128);
        let lock = Arc::new(Settings {
            store,
            state,
            name,
            owner: "we".into(),
            plan: Arc::new(plan),
            data: None,
        });
        Term::new(&lock, uuid, FencingToken::MAX.into(), self.now(), true)
    }

    /// This many leases, granted now.
    pub(super) fn terms(&self, count: usize) -> Vec<Arc<Term>> {
        let names = (0..count).map(|number| format!("lease {number}"));
        names.map(|name| self.term(&name)).collect()
    }

    pub(super) fn now(&self) -> HolderInstant {
        self.store.clock.now()
    }

    /// The number of renewals that the store was called for.
    pub(super) fn renewals(&self) -> usize {
        self.renewals.load(Ordering::SeqCst)
    }
}

/// To be renewed for the first time.
pub(super) fn entry(term: &Arc<Term>) -> Entry {
    Entry {
        term: Arc::clone(term),
        health: Health::Healthy,
    }
}

/// The term is in no queue and no call any more.
pub(super) fn is_let_go(term: &Arc<Term>) -> bool {
    Arc::strong_count(term) == 1
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

#[test]
fn end_of_a_runtime_leaves_the_others_schedules_and_nothing_of_its_own() {
    let scene = Scene::new(true);
    let schedulers = scene.store.renewals::<Schedulers>().unwrap();
    let schedules = || schedulers.0.lock().unwrap().len();
    let keep = |runtime: &Runtime, name: &str| {
        let _entered = runtime.enter();
        let term = scene.term(name);
        Schedulers::keep(&term);
        term
    };
    let (one, other) = (runtime(), runtime());
    let (left, kept) = (keep(&one, "left"), keep(&other, "kept"));
    assert_eq!(schedules(), 2);
    drop(one);
    assert!(is_let_go(&left));
    let third = runtime();
    let late = keep(&third, "late");
    assert_eq!(schedules(), 2, "of a runtime that is gone");
    for term in [kept, late] {
        assert!(!is_let_go(&term));
        term.begin_release();
        assert!(is_let_go(&term), "its scheduler was not found");
    }
}

#[tokio::test]
async fn schedule_whose_task_was_dropped_keeps_nothing_and_takes_nothing() {
    let scene = Scene::new(true);
    let schedule = Arc::new(Schedule::new(&scene.store));
    let term = scene.term("door");
    assert!(schedule.join(entry(&term)).is_none());
    // A call in flight holds it, too.
    drop(Runner(Arc::clone(&schedule)));
    assert!(is_let_go(&term));
    assert!(schedule.has_ended());
    assert!(schedule.join(entry(&term)).is_some());
}

#[tokio::test]
async fn terms_that_come_after_the_end_of_a_schedule_share_the_next_one() {
    let scene = Scene::new(true);
    let schedulers = Schedulers::default();
    let term = scene.term("door");
    // A call in flight keeps it alive.
    let (ended, _) = schedulers.schedule(&term);
    drop(Runner(Arc::clone(&ended)));
    let (next, new) = schedulers.schedule(&term);
    assert!(new && !Arc::ptr_eq(&ended, &next));
    let (same, new) = schedulers.schedule(&term);
    assert!(!new && Arc::ptr_eq(&next, &same));
}

/// The names of the warnings of a thread.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<&'static str>>>);

impl Subscriber for Warnings {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> tracing::Id {
        tracing::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::Id, _: &Values<'_>) {}

    fn record_follows_from(&self, _: &tracing::Id, _: &tracing::Id) {}

    fn event(&self, event: &Event<'_>) {
        if *event.metadata().level() == Level::WARN {
            self.0.lock().unwrap().push(event.metadata().name());
        }
    }

    fn enter(&self, _: &tracing::Id) {}

    fn exit(&self, _: &tracing::Id) {}
}

#[tokio::test]
async fn only_a_lease_that_was_lost_or_held_for_too_long_is_warned_of() {
    let scene = Scene::new(true);
    let warnings = |term: &Term| {
        let warnings = Warnings::default();
        with_default(warnings.clone(), || log_end(term, &scene.store.clock));
        warnings.0.lock().unwrap().clone()
    };
    let (released, lost) = (scene.term("released"), scene.term("lost"));
    released.begin_release();
    lost.refused(None);
    assert!(warnings(&released).is_empty());
    assert_eq!(warnings(&lost), ["lost"]);

    let limited = Plan {
        max_hold: Some(LEASE / 2),
        ..plan_of(LEASE)
    };
    let (long, short) = (scene.term("long"), scene.term_with("short", limited));
    scene.hand.advance(LEASE / 2);
    // This one loses only its runtime.
    assert!(warnings(&long).is_empty());
    assert_eq!(warnings(&short), ["held_too_long"]);
    scene.hand.advance(LEASE / 2);
    let cause = |term: &Term| term.over().map(|end| end.cause);
    assert!(matches!(cause(&long), Some(EndCause::Expired { .. })));
    assert!(matches!(cause(&short), Some(EndCause::HeldTooLong)));
}

/// The end of its renewals reports the loss. Releasing it afterwards reports nothing new.
#[tokio::test]
async fn loss_is_warned_of_once() {
    let scene = Scene::new(true);
    let term = scene.term("door");
    Schedulers::keep(&term);
    let said = traced::events(|| term.refused(None));
    assert!(said.contains(&"lost"), "{said:?}");
    let said = traced::events(|| term.begin_release());
    assert!(!said.contains(&"lost"), "{said:?}");
}
