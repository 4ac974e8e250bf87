//! Which waiters are woken when, and which names are forgotten.

use dlock_core::FencingToken;
use tokio::time::{advance, timeout};
use uuid::Uuid;

use super::*;

const LEASE: Duration = Duration::from_secs(15);
const MOMENT: Duration = Duration::from_millis(1);

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn held() -> Record {
    let token = FencingToken::new(1).unwrap();
    Record::new(Uuid::nil(), "holder", std::time::UNIX_EPOCH, token, LEASE)
}

/// The hint for this lock.
fn hint(text: &str) -> Wakeup {
    Wakeup::Name(name(text))
}

/// A channel, and a waiter that is refused this lock now.
struct Channel(Waited, Arc<WaitedNames>);

impl Channel {
    fn new() -> Self {
        let waited = Waited::default();
        let names = waited.open();
        Self(waited, names)
    }

    fn refused(&self, lock: &str, asked: Instant) {
        self.0.refused(&name(lock), &held(), asked);
    }

    async fn is_due(&self) -> bool {
        timeout(MOMENT, self.1.fresh.notified()).await.is_ok()
    }

    async fn until_next(&self) {
        let next = self.1.waits().next;
        sleep_until(next.expect("nothing is due")).await;
    }

    /// A round in which the session can confirm that it listens for these. Returns the waiters that are woken.
    fn says(&self, locks: &[&str]) -> Vec<Wakeup> {
        let heard: Vec<Name> = locks.iter().map(|lock| name(lock)).collect();
        let unsaid = self.1.round().unsaid;
        assert!(heard.iter().all(|lock| unsaid.contains(lock)), "{unsaid:?}");
        self.1.said(&heard)
    }
}

#[tokio::test(start_paused = true)]
async fn waiter_is_woken_once_the_session_listens_for_it_and_no_more() {
    let channel = Channel::new();
    assert!(!channel.is_due().await);
    channel.refused("a", Instant::now());
    assert!(channel.is_due().await);
    assert_eq!(channel.says(&["a"]), [hint("a")]);
    advance(MOMENT).await;
    channel.refused("a", Instant::now());
    assert!(!channel.is_due().await, "it misses nothing");
    assert_eq!(channel.1.round(), WaitRound::default());
    assert_eq!(channel.1.said(&[]), []);
}

#[tokio::test(start_paused = true)]
async fn waiter_that_asked_before_the_session_listened_is_woken_too() {
    let channel = Channel::new();
    let before = Instant::now();
    channel.refused("a", before);
    advance(MOMENT).await;
    assert!(channel.is_due().await);
    assert_eq!(channel.says(&["a"]), [hint("a")]);
    channel.refused("a", before);
    assert!(channel.is_due().await);
    let round = channel.1.round();
    assert_eq!(round, WaitRound::default(), "it listens already");
    assert_eq!(channel.1.said(&[]), [hint("a")]);
}

/// Otherwise each of several waiters that try all the time, closely one after another, would cause the next one to be
/// woken.
#[tokio::test(start_paused = true)]
async fn those_who_ask_side_by_side_after_the_session_listens_are_not_woken() {
    let channel = Channel::new();
    let before = Instant::now();
    channel.refused("a", before);
    assert!(channel.is_due().await);
    advance(MOMENT).await;
    channel.says(&["a"]);
    advance(MOMENT).await;
    let beside = Instant::now();
    channel.refused("a", before);
    assert!(channel.is_due().await);
    advance(MOMENT).await;
    assert_eq!(channel.1.said(&[]), [hint("a")]);
    channel.refused("a", beside);
    assert!(
        !channel.is_due().await,
        "the session listened when it asked"
    );
    assert_eq!(channel.1.said(&[]), []);
}

#[tokio::test(start_paused = true)]
async fn waiters_are_woken_in_each_round_until_the_session_listens() {
    let channel = Channel::new();
    channel.refused("a", Instant::now());
    channel.refused("b", Instant::now());
    for _ in 0..3 {
        assert_eq!(channel.says(&[]), [hint("a"), hint("b")]);
        channel.until_next().await;
    }
    assert_eq!(channel.says(&["b"]), [hint("a"), hint("b")]);
    channel.until_next().await;
    assert_eq!(channel.says(&["a"]), [hint("a")]);
}

#[tokio::test(start_paused = true)]
async fn lock_that_somebody_has_for_long_is_tried_less_and_less() {
    let channel = Channel::new();
    channel.refused("a", Instant::now());
    for pause in [50, 100, 200, 400, 800, 1000, 1000] {
        let began = Instant::now();
        assert_eq!(channel.says(&[]), [hint("a")]);
        channel.until_next().await;
        assert_eq!(began.elapsed(), Duration::from_millis(pause));
    }
}

/// Otherwise many locks that are waited for in turn would make the waiter of one whose channel is unavailable try each
/// time.
#[tokio::test(start_paused = true)]
async fn rounds_for_others_neither_try_nor_wake_what_is_to_pause() {
    let channel = Channel::new();
    channel.refused("a", Instant::now());
    assert_eq!(channel.says(&[]), [hint("a")]);
    channel.refused("b", Instant::now());
    assert_eq!(channel.1.round().unsaid, [name("b")]);
    assert_eq!(channel.1.said(&[name("b")]), [hint("b")]);
    channel.until_next().await;
    assert_eq!(channel.says(&["a"]), [hint("a")]);
}

#[tokio::test(start_paused = true)]
async fn who_comes_during_a_round_is_woken_after_the_next() {
    let channel = Channel::new();
    channel.refused("a", Instant::now());
    assert!(channel.is_due().await);
    assert_eq!(channel.1.round().unsaid, [name("a")]);
    channel.refused("b", Instant::now());
    assert_eq!(channel.1.said(&[name("a")]), [hint("a")]);
    assert!(channel.is_due().await);
    assert_eq!(channel.says(&["b"]), [hint("b")]);
}

/// Otherwise a lock that is held for long would be requested without a pause.
#[tokio::test(start_paused = true)]
async fn refusal_does_not_hasten_what_is_tried_again() {
    let channel = Channel::new();
    channel.refused("a", Instant::now());
    assert!(channel.is_due().await);
    assert_eq!(channel.says(&[]), [hint("a")]);
    channel.refused("a", Instant::now());
    assert!(!channel.is_due().await);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_asks_for_after_the_lease_is_over() {
    let channel = Channel::new();
    for lock in ["a", "b", "c"] {
        channel.refused(lock, Instant::now());
    }
    channel.says(&["a", "b"]);
    advance(LEASE).await;
    channel.refused("b", Instant::now());
    assert_eq!(channel.1.round().over, []);
    advance(2 * LATEST_QUESTION).await;
    let over = WaitRound {
        over: vec![name("a")],
        unsaid: vec![],
    };
    assert_eq!(channel.1.round(), over, "the session never listened for c");
    assert_eq!(channel.1.said(&[]), []);
    assert!(channel.1.waits().next.is_some());
    advance(LEASE).await;
    assert_eq!(channel.1.round().over, [name("b")]);
    assert_eq!(channel.1.said(&[]), []);
    assert_eq!(channel.1.waits().next, None);
    channel.refused("a", Instant::now());
    assert_eq!(channel.says(&["a"]), [hint("a")]);
}

#[tokio::test(start_paused = true)]
async fn each_channel_of_a_provider_hears_of_a_waiter() {
    let Channel(waited, first) = Channel::new();
    drop(waited.open());
    let second = waited.open();
    waited.refused(&name("a"), &held(), Instant::now());
    for channel in [&first, &second] {
        assert_eq!(channel.round().unsaid, [name("a")]);
    }
    assert_eq!(waited.channels().len(), 2);
}
