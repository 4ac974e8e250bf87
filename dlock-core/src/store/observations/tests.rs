//! Texts and places: what counts, what does not, and what a place costs at most.

use std::{
    collections::BTreeMap,
    sync::{Mutex, mpsc},
    time::Instant,
};

use uuid::Uuid;

use super::{first_seen::Damaged, *};
use crate::testing::ManualClock;

const ORIGIN: &str = "a boot";

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn version(renewals: u64) -> Version {
    Version {
        uuid: Uuid::from_u128(7),
        renewals,
    }
}

fn sight(renewals: u64, first: ContenderInstant) -> FirstSeen {
    FirstSeen {
        version: version(renewals),
        first,
    }
}

/// In memory.
#[derive(Debug, Default)]
struct Shelf(Mutex<BTreeMap<Name, String>>);

impl Observations for Shelf {
    fn load(&self, lock: &Name) -> io::Result<Option<String>> {
        Ok(self.0.lock().unwrap().get(lock).cloned())
    }

    fn store(&self, lock: &Name, text: &str) -> io::Result<()> {
        self.0.lock().unwrap().insert(lock.clone(), text.to_owned());
        Ok(())
    }
}

/// A place, and a clock that has run for an hour.
struct Scene {
    shelf: Shelf,
    clock: Clock,
    hand: ManualClock,
}

impl Scene {
    fn new() -> Self {
        let (clock, hand) = Clock::manual();
        hand.advance(Duration::from_secs(3600));
        Self {
            shelf: Shelf::default(),
            clock,
            hand,
        }
    }

    /// Sees this version now; returns the instant that is kept, as a reading of the clock.
    fn sees(&self, renewals: u64) -> i64 {
        let seen = sight(renewals, self.clock.contender_now());
        let kept = exchange(&self.shelf, &self.clock, &name("door"), seen).unwrap();
        kept.readings().0
    }

    fn now(&self) -> i64 {
        self.clock.contender_now().readings().0
    }
}

#[test]
fn first_sight_of_a_version_stays() {
    let scene = Scene::new();
    let first = scene.now();
    for _ in 0..3 {
        assert_eq!(scene.sees(4), first);
        scene.hand.advance(Duration::from_secs(1));
    }
    let next = scene.now();
    assert_eq!(scene.sees(5), next);
    scene.hand.advance(Duration::from_secs(1));
    assert_eq!(scene.sees(5), next);
    let back = scene.now();
    assert_eq!(scene.sees(4), back);
}

#[test]
fn text_says_what_was_seen() {
    let seen = sight(u64::MAX, ContenderInstant::at(i64::MAX, 0));
    let text = seen.render(ORIGIN);
    let read = FirstSeen::parse(&text, ORIGIN).unwrap().unwrap();
    assert_eq!(read.version, seen.version);
    assert_eq!(read.first.readings(), (i64::MAX, 0));
    assert!(FirstSeen::parse(&text, "b boot").unwrap().is_none());
}

#[test]
fn text_with_any_damage_counts_for_nothing() {
    let text = sight(12, ContenderInstant::at(345, 678)).render(ORIGIN);
    let damaged = |text: &str| {
        let read = FirstSeen::parse(text, ORIGIN);
        assert!(matches!(read, Err(Damaged)), "{text}: {read:?}");
    };
    for at in 0..text.len() {
        damaged(&text[..at]);
        damaged(&[&text[..at], &text[at + 1..]].concat());
        for other in ['0', '1', ' ', '\n', 'x'] {
            if !text[at..].starts_with(other) {
                damaged(&format!("{}{other}{}", &text[..at], &text[at + 1..]));
            }
        }
    }
    damaged(&format!("{text}\n"));
    damaged(&format!("{text}{text}"));
}

#[test]
fn instant_in_the_future_counts_for_nothing() {
    let scene = Scene::new();
    let (hour, later) = (scene.now(), scene.now() + 1);
    for first in [
        ContenderInstant::at(later, hour),
        ContenderInstant::at(hour, later),
    ] {
        let text = sight(1, first).render(&scene.clock.origin().unwrap());
        scene.shelf.store(&name("door"), &text).unwrap();
        assert_eq!(scene.sees(1), hour);
    }
}

#[test]
fn damaged_text_is_replaced() {
    let scene = Scene::new();
    for garbage in ["", "dlock observation 1\n", "\u{fffd}"] {
        scene.shelf.store(&name("door"), garbage).unwrap();
        scene.hand.advance(Duration::from_secs(1));
        let now = scene.now();
        assert_eq!(scene.sees(1), now);
        scene.hand.advance(Duration::from_secs(1));
        assert_eq!(scene.sees(1), now, "it was not replaced");
    }
}

#[test]
fn place_that_cannot_be_read_is_left_as_it_is() {
    #[derive(Debug)]
    struct Unreadable;

    impl Observations for Unreadable {
        fn load(&self, _: &Name) -> io::Result<Option<String>> {
            Err(io::Error::other("unreadable"))
        }

        fn store(&self, _: &Name, text: &str) -> io::Result<()> {
            panic!("{text} is stored")
        }
    }

    let (clock, _hand) = Clock::manual();
    let seen = sight(1, clock.contender_now());
    exchange(&Unreadable, &clock, &name("door"), seen).unwrap_err();
}

#[test]
fn only_clones_of_a_manual_clock_have_its_origin() {
    let (clock, _hand) = Clock::manual();
    let (other, _hand) = Clock::manual();
    assert_eq!(clock.origin().unwrap(), clock.clone().origin().unwrap());
    assert_ne!(clock.origin().unwrap(), other.origin().unwrap());
    assert!(Clock::tokio(1.0).origin().is_err());
}

#[cfg(target_os = "linux")]
#[test]
fn origin_of_the_system_is_this_boot() {
    let origin = Clock::system().origin().unwrap();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert!(origin.starts_with(boot.trim()), "{origin}");
    assert_eq!(origin, Clock::system().origin().unwrap());
}

/// Each load waits until the sender is dropped.
#[derive(Debug)]
struct Hanging(Mutex<mpsc::Receiver<()>>);

impl Observations for Hanging {
    fn load(&self, _: &Name) -> io::Result<Option<String>> {
        // The sender is dropped, not sent from.
        self.0.lock().unwrap().recv().unwrap_err();
        Ok(None)
    }

    fn store(&self, _: &Name, _: &str) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn place_that_hangs_costs_one_wait_and_one_thread() {
    let (word, words) = mpsc::channel();
    let keeper = Keeper::new(Hanging(Mutex::new(words)));
    let clock = Clock::system();
    let (limit, seen) = (Duration::from_millis(50), sight(1, clock.contender_now()));
    let door = name("door");
    let ask = |limit| keeper.exchange(&clock, &door, seen.version, seen.first, limit);
    assert!(ask(limit).await.is_none());
    #[expect(clippy::disallowed_methods, reason = "the test's own time")]
    let began = Instant::now();
    for _ in 0..200 {
        assert!(ask(limit).await.is_none());
    }
    assert!(began.elapsed() < 100 * limit, "each waited anew");
    assert_eq!(keeper.turn.available_permits(), 0);

    // It comes back.
    drop(word);
    let turn = Arc::clone(&keeper.turn).acquire_owned();
    let turn = tokio::time::timeout(Duration::from_secs(20), turn).await;
    drop(turn.unwrap().unwrap());
    let kept = ask(Duration::from_secs(20)).await;
    assert_eq!(kept.unwrap().readings(), seen.first.readings());
}
