//! A hand-over from its offer to its verdict, in paused time.

use std::{
    num::NonZeroU8,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{runtime::Handle, time::sleep};

use super::*;
use crate::{
    DLock,
    lease::{Settings, Term},
    names::{Duty, KeeperIdentity, Registration},
    provider::Tokens,
    tests::scripted::{Scripted, record, token, uuid},
};

/// A lock of this client, with a waiter.
struct Scene {
    lock: DLock,
    registration: Option<Registration>,
}

impl Scene {
    fn new() -> Self {
        let lock = Scripted::new().lock(Clock::tokio(1.0));
        Self {
            registration: Some(lock.0.state.register()),
            lock,
        }
    }

    /// Another waiter.
    fn another(&self) -> Registration {
        self.state().register()
    }

    fn here(&self) -> Id {
        Handle::current().id()
    }

    /// The waiter leaves.
    fn leave(&mut self) {
        self.registration = None;
    }

    fn state(&self) -> &Arc<NameState> {
        &self.lock.0.state
    }

    fn clock(&self) -> &Clock {
        &self.lock.0.store.clock
    }

    fn granted(&self, number: u128) {
        self.state().granted(uuid(number), token(1));
    }
}

/// Most names are held for longer than they are waited for.
#[tokio::test(start_paused = true)]
async fn line_that_everyone_has_left_is_forgotten() {
    let mut scene = Scene::new();
    scene.granted(1);
    scene.leave();
    assert!(scene.state().known().lines.is_empty());
}

/// A term of this lock with sixteen tokens, and the lease that its release offers.
fn block(scene: &Scene, number: u128) -> Arc<Term> {
    let tokens = Tokens::new(token(16), NonZeroU8::new(16).unwrap()).unwrap();
    let sent = scene.lock.0.store.clock.now();
    Term::new(&scene.lock.0, uuid(number), tokens, sent, true)
}

/// The duty to release a term, and its fate.
struct Gives(Arc<Mutex<Option<&'static str>>>);

impl Duty for Gives {
    fn was_taken(self: Box<Self>) {
        *self.0.lock().unwrap() = Some("taken");
    }
}

impl Drop for Gives {
    fn drop(&mut self) {
        self.0.lock().unwrap().get_or_insert("given back");
    }
}

/// A term that is on offer.
struct OnOffer {
    keeper: Option<KeeperIdentity>,
    became: Arc<Mutex<Option<&'static str>>>,
}

impl OnOffer {
    fn became(&self) -> Option<&'static str> {
        *self.became.lock().unwrap()
    }
}

impl Scene {
    /// The release of this lease begins.
    fn goes_on(&self, lease: &Arc<Term>) -> Option<OnOffer> {
        lease.begin_release();
        let became = Arc::default();
        let duty: Box<dyn Duty> = Box::new(Gives(Arc::clone(&became)));
        let giver = Arc::<Term>::clone(lease);
        let until = lease.goes_on_until().unwrap();
        let offering = self
            .state()
            .offer_term(giver, until, lease.home.id(), || Some(duty));
        let keeper = match offering {
            Offering::No => return None,
            Offering::Kept => None,
            Offering::Unkept(keeper) => Some(keeper),
        };
        Some(OnOffer { keeper, became })
    }

    /// The lease that the first waiter in line gets, with this lock.
    fn follows(&self, lock: &Arc<Settings>) -> Option<Arc<Term>> {
        let follow = |giver: &dyn GoesOn, highest| Term::follow(giver, lock, highest);
        match self.state().succeed(self.here(), self.clock(), follow)? {
            Following::Lease(term) => Some(term),
            Following::Over(_) => None,
        }
    }

    fn is_retired(&self, lease: &Term) -> bool {
        self.state().is_retired(self.clock(), lease.uuid)
    }
}

#[tokio::test(start_paused = true)]
async fn term_that_goes_on_is_not_over() {
    let scene = Scene::new();
    let mut lease = block(&scene, 1);
    for _ in 1..16 {
        let on_offer = scene.goes_on(&lease).unwrap();
        lease = scene.follows(&scene.lock.0).unwrap();
        assert_eq!(on_offer.became(), Some("taken"));
        assert!(!scene.is_retired(&lease) && scene.state().is_live(lease.uuid));
    }
    assert!(scene.goes_on(&lease).is_none(), "its block is used up");
    assert!(!scene.state().is_offered(scene.here()));
}

/// The duty to release stays with the keeper until a waiter has a lease, and ends there.
#[tokio::test(start_paused = true)]
async fn term_goes_on_or_is_given_back() {
    let scene = Scene::new();
    let lease = block(&scene, 1);
    let on_offer = scene.goes_on(&lease).unwrap();
    let keeper = on_offer.keeper.as_ref().unwrap();
    let keep = |at_once| scene.state().keep(keeper, scene.clock().now(), at_once);
    let until = keep(false).unwrap();
    assert_eq!(
        until.since(scene.clock().now()),
        scene.lock.0.plan.succession_time()
    );
    assert!(!scene.is_retired(&lease) && on_offer.became().is_none());
    sleep(scene.lock.0.plan.succession_time()).await;
    assert_eq!(keep(false), None);
    assert!(scene.is_retired(&lease), "nobody came");
    assert_eq!(on_offer.became(), Some("given back"));
    assert!(scene.follows(&scene.lock.0).is_none());

    let lease = block(&scene, 2);
    let on_offer = scene.goes_on(&lease).unwrap();
    let keeper = on_offer.keeper.as_ref().unwrap();
    assert_eq!(scene.state().keep(keeper, scene.clock().now(), true), None);
    assert!(scene.is_retired(&lease), "its keeper is gone");
    assert_eq!(on_offer.became(), Some("given back"));
    assert!(scene.follows(&scene.lock.0).is_none());
}

/// A keeper that sleeps for one offer wakes for the next one, which ends sooner.
#[tokio::test(start_paused = true)]
async fn keeper_wakes_for_an_offer_that_ends_sooner() {
    let scene = Scene::new();
    let lease = block(&scene, 1);
    let keeper = scene.goes_on(&lease).unwrap().keeper.unwrap();
    let now = scene.clock().now();
    let first = scene.state().keep(&keeper, now, false).unwrap();
    let next = scene.follows(&scene.lock.0).unwrap();
    next.begin_release();
    let sooner = now + Duration::from_millis(1);
    assert!(sooner < first);
    let duty: Box<dyn Duty> = Box::new(Gives(Arc::default()));
    let (giver, home) = (Arc::<Term>::clone(&next), next.home.id());
    let offering = scene.state().offer_term(giver, sooner, home, || Some(duty));
    assert!(matches!(offering, Offering::Kept), "a name has one keeper");
    tokio::time::timeout(Duration::ZERO, keeper.notified())
        .await
        .unwrap();
    assert_eq!(scene.state().keep(&keeper, now, false), Some(sooner));
}

/// A waiter that comes for the term after that gets none, however late the keeper is.
#[tokio::test(start_paused = true)]
async fn term_is_over_before_a_late_keeper_comes() {
    let scene = Scene::new();
    let lease = block(&scene, 1);
    let on_offer = scene.goes_on(&lease).unwrap();
    sleep(scene.lock.0.plan.succession_time()).await;
    assert!(scene.follows(&scene.lock.0).is_none());
    assert_eq!(on_offer.became(), Some("given back"));
    assert!(scene.is_retired(&lease));
}

#[tokio::test(start_paused = true)]
async fn waiter_with_other_settings_ends_the_term() {
    let scene = Scene::new();
    let lease = block(&scene, 1);
    let on_offer = scene.goes_on(&lease).unwrap();
    let other = scene.lock.owned_by("they").unwrap();
    assert!(scene.follows(&other.0).is_none());
    assert!(!scene.state().is_offered(scene.here()));
    assert_eq!(on_offer.became(), Some("given back"));
    assert!(scene.is_retired(&lease));
}

/// T6.
#[tokio::test(start_paused = true)]
async fn token_that_was_seen_elsewhere_ends_the_term() {
    let scene = Scene::new();
    for (seen, goes_on) in [(record(1, "we"), true), (record(16, "they"), false)] {
        let lease = block(&scene, 1);
        let shown = crate::Record {
            token: token(16),
            ..seen
        };
        let _on_offer = scene.goes_on(&lease).unwrap();
        scene.state().saw(scene.clock(), &shown);
        let next = scene.follows(&scene.lock.0);
        assert_eq!(next.is_some(), goes_on, "{}", shown.owner);
    }
}

/// A waiter that comes meanwhile need not call the store.
#[tokio::test(start_paused = true)]
async fn term_with_a_block_is_expected_to_go_on_while_it_is_young() {
    let scene = Scene::new();
    let will_go_on = || {
        scene
            .state()
            .will_go_on(scene.here(), scene.clock(), &scene.lock.0.plan)
    };
    let _lease = block(&scene, 1);
    assert!(will_go_on());
    sleep(scene.lock.0.plan.succession_time()).await;
    assert!(!will_go_on());
    let _lease = block(&scene, 2);
    assert!(will_go_on());
    scene.granted(3);
    assert!(!will_go_on(), "one token");
}

#[tokio::test(start_paused = true)]
async fn term_that_its_last_waiter_leaves_is_over() {
    let mut scene = Scene::new();
    let another = scene.another();
    let lease = block(&scene, 1);
    let on_offer = scene.goes_on(&lease).unwrap();
    drop(another);
    assert!(scene.state().is_offered(scene.here()), "one is left");
    scene.leave();
    assert_eq!(on_offer.became(), Some("given back"));
    assert!(scene.is_retired(&lease));
}

/// T6.
#[tokio::test(start_paused = true)]
async fn term_does_not_go_on_after_a_later_one_of_ours() {
    let scene = Scene::new();
    let lease = block(&scene, 1);
    let on_offer = scene.goes_on(&lease).unwrap();
    scene.granted(2);
    assert!(scene.follows(&scene.lock.0).is_none());
    assert_eq!(on_offer.became(), Some("given back"));
    assert!(scene.is_retired(&lease));
}
