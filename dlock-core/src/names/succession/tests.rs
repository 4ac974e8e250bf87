//! A hand-over from its offer to its verdict, in paused time.

use std::time::Duration;

use tokio::time::sleep;

use super::*;
use crate::{
    DLock,
    tests::scripted::{Scripted, token, uuid},
};

struct Somebody;

impl Waiter for Somebody {
    fn step_aside(&self) {}
}

/// A lock of this client, for which somebody waits.
struct Scene {
    lock: DLock,
    _registration: Registration,
    _somebody: Arc<dyn Waiter>,
}

impl Scene {
    fn new() -> Self {
        let lock = Scripted::new().lock(Clock::tokio(1.0));
        let somebody: Arc<dyn Waiter> = Arc::new(Somebody);
        let waiter = Arc::downgrade(&somebody);
        Self {
            _registration: lock.0.state.register(waiter, Duration::MAX),
            _somebody: somebody,
            lock,
        }
    }

    fn state(&self) -> &Arc<NameState> {
        &self.lock.0.state
    }

    fn clock(&self) -> &Clock {
        &self.lock.0.store.clock
    }

    fn plan(&self) -> &Plan {
        &self.lock.0.plan
    }

    fn granted(&self, number: u128) {
        self.state().granted(uuid(number), token(1));
    }

    /// The release of this term of ours begins.
    fn hands_over(&self, number: u128) -> HandOver {
        let uuid = uuid(number);
        self.granted(number);
        let version = Version { uuid, renewals: 0 };
        self.state()
            .hand_over_to_waiter(self.clock(), self.plan(), uuid, Some(version))
            .unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn offer_goes_with_its_releasing_task() {
    let scene = Scene::new();
    let hand_over = scene.hands_over(1);
    assert!(scene.state().is_offered());
    drop(hand_over);
    assert!(!scene.state().is_offered());
}

/// H5: then the name goes back to the store.
#[tokio::test(start_paused = true)]
async fn row_of_hand_overs_ends_with_an_offer_that_nobody_takes() {
    let scene = Scene::new();
    let hand_over = scene.hands_over(1);
    assert!(!hand_over.granted(scene.clock(), scene.plan()).await);
    assert!(!scene.state().is_offered());
    scene.granted(2);
    assert!(!scene.state().is_passed_on(), "it came from the store");
}

#[tokio::test(start_paused = true)]
async fn row_of_hand_overs_goes_on_with_a_later_term() {
    let scene = Scene::new();
    let hand_over = scene.hands_over(1);
    scene.granted(2);
    assert!(!hand_over.granted(scene.clock(), scene.plan()).await);
    assert!(scene.state().is_passed_on());
}

/// H3.
#[tokio::test(start_paused = true)]
async fn waiter_that_has_taken_an_offer_gets_the_time_of_an_attempt() {
    for (attempts, granted) in [(0.5, true), (2.0, false)] {
        let scene = Scene::new();
        let patience = scene.plan().successor_patience();
        let takes = scene.plan().attempt().mul_f64(attempts);
        let hand_over = scene.hands_over(1);
        let offer = scene.state().take_offer().unwrap();
        let claims = async {
            sleep(patience + takes).await;
            offer.granted();
        };
        let verdict = hand_over.granted(scene.clock(), scene.plan());
        let (verdict, ()) = tokio::join!(verdict, claims);
        assert_eq!(verdict, granted, "after {takes:?}");
    }
}
