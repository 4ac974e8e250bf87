//! Proves that nothing remains when a future is dropped before it is ready (G1 to G3, W1, I14).
//!
//! [`everywhere`] drops every public future of the frontend at every poll, in paused time: the memory store pauses
//! before and after it applies each request, so a caller goes away while its request is in flight, applied but
//! unanswered, or answered but not picked up. Each future runs alone, behind another client, behind its own client, and
//! behind a lease of its own client whose term can continue; it is dropped right after the poll, a turn of the
//! scheduler later, and long after it; on a store that answers, and on stores that lose requests, replies or releases.
//! After each drop:
//!
//! - no valid lease remains, and [`Client::close`](dlock_core::Client::close) agrees;
//! - another client gets the lock: at once if the store answers, otherwise within one lease;
//! - the next waiter in line is served, and the cancelled one is not served before it;
//! - no task, call or memory of the client remains.
//!
//! [`sampled`] drops the same futures, and the provider's own calls, at points drawn from a seed, on a real store in
//! real time. Properties that only one backend can check (for example, that a pool still has all its connections) are
//! checked by its tests afterwards:
//!
//! ```
//! # use dlock_proof::cancelling;
//! # use dlock_testkit::memory::{MemoryProvider, MemoryStore};
//! # #[tokio::main]
//! # async fn main() {
//! let store = MemoryStore::store_clock();
//! let (ours, theirs) = (MemoryProvider::new(&store), MemoryProvider::new(&store));
//! let tally = cancelling::sampled(ours, theirs, 60, 1).await;
//! assert!(tally.dropped > 0, "nothing was dropped: {tally:?}");
//! # }
//! ```
//!
//! A panic says what remains; the line before it names the future, the situation and the point.

mod calls;
mod cut;
mod gate;
mod operations;
mod scene;
mod stage;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use dlock_core::Provider;
use tokio::task::JoinSet;

pub use self::gate::turn;
use self::{
    calls::Calls,
    cut::Point,
    operations::{Kind, OPERATIONS, Operation},
    scene::{Ground, Scene, Situation},
    stage::Weather,
};

/// The lease in paused time: an acquire waits for a silent store for at least ten seconds, and with a longer lease for
/// as long as that.
const LEASE: Duration = Duration::from_secs(12);

/// The lease in real time: a lease that is not released lasts longer than a scene may take.
const LONG: Duration = Duration::from_secs(60);

/// How many sampled scenes run at a time.
const AT_A_TIME: usize = 6;

/// The figures of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// How often a future was started.
    pub scenes: usize,
    /// How often it was dropped before it was ready.
    pub dropped: usize,
    /// How often each future was dropped; those of the provider are listed under its own methods.
    pub each: BTreeMap<&'static str, usize>,
}

/// Drops every public future of the frontend at every poll. Needs a current-thread runtime with paused time, on which
/// nothing else runs.
///
/// `provider` makes providers on one and the same store, which has wake-ups, and answers without waiting for anything
/// but its own runtime.
///
/// # Panics
/// If anything remains.
pub async fn everywhere<P: Provider>(provider: impl Fn() -> P) -> Tally {
    let ground = Ground {
        providers: (Arc::new(provider()), Arc::new(provider())),
        lease: LEASE,
        paused: true,
    };
    let mut tally = Tally::default();
    for operation in OPERATIONS {
        let situations: &[Situation] = if operation.kind == Kind::Asks {
            &[
                Situation::Alone,
                Situation::BehindAnother,
                Situation::BehindOneOfUs,
                Situation::BehindATermOfOurs,
            ]
        } else {
            &[Situation::Alone]
        };
        for &situation in situations {
            for point in [Point::After, Point::TurnAfter, Point::LongAfter] {
                at_every_poll(&ground, &mut tally, |polls| Scene {
                    operation,
                    situation,
                    weather: Weather::Fair,
                    point: point(polls),
                })
                .await;
            }
            for weather in [
                Weather::RepliesLost,
                Weather::RequestsLost,
                Weather::NothingReleased,
            ] {
                at_every_poll(&ground, &mut tally, |polls| Scene {
                    operation,
                    situation,
                    weather,
                    point: Point::TurnAfter(polls),
                })
                .await;
            }
        }
    }
    tally
}

/// Plays a scene for every poll of its future, from none on, until one runs to its end.
async fn at_every_poll(ground: &Ground, tally: &mut Tally, scene: impl Fn(usize) -> Scene) {
    for polls in 0.. {
        let scene = scene(polls);
        let played = scene.play(ground).await;
        tally.count(scene.operation.name, played.dropped);
        if !played.dropped {
            return;
        }
    }
}

/// Drops every public future of the frontend, and the calls of the provider itself, at `drops` points in all, drawn
/// from the seed: on a real store, in real time.
///
/// `ours` is the provider whose callers go away; `theirs` is another one on the same store.
///
/// # Panics
/// If anything remains, or a call receives the answer to another call.
pub async fn sampled(ours: impl Provider, theirs: impl Provider, drops: usize, seed: u64) -> Tally {
    let (ours, theirs): (Arc<dyn Provider>, Arc<dyn Provider>) = (Arc::new(ours), Arc::new(theirs));
    let ground = Arc::new(Ground {
        providers: (Arc::clone(&ours), Arc::clone(&theirs)),
        lease: LONG,
        paused: false,
    });
    let mut random = fastrand::Rng::with_seed(seed);
    let mut tally = Tally::default();
    let mut polls = BTreeMap::new();
    for (operation, situation) in every_kind() {
        // How long it takes is unknown until it has run to its end once.
        let scene = Scene {
            operation,
            situation,
            weather: Weather::Fair,
            point: Point::Never,
        };
        let played = scene.play(&ground).await;
        tally.count(operation.name, played.dropped);
        polls.insert((operation.name, situation), played.polls);
    }
    let mut kinds = every_kind().into_iter().cycle();
    let mut scenes = JoinSet::new();
    let mut played = 0;
    // How many points lie before the end depends on the speed of the store: continue until enough did.
    while played < drops / 2 || (tally.dropped <= drops / 4 && played < drops * 4) {
        played += 1;
        let Some((operation, situation)) = kinds.next() else {
            break;
        };
        let most = polls[&(operation.name, situation)];
        let scene = Scene {
            operation,
            situation,
            weather: Weather::Fair,
            point: Point::TurnAfter(random.usize(..=most)),
        };
        if scenes.len() == AT_A_TIME {
            tally.join(scenes.join_next().await);
        }
        let ground = Arc::clone(&ground);
        scenes.spawn(async move { (operation.name, scene.play(&ground).await.dropped) });
    }
    while let Some(played) = scenes.join_next().await {
        tally.join(Some(played));
    }
    Calls::new(ours, theirs, random)
        .dropped(drops - drops / 2, &mut tally)
        .await;
    tally
}

/// Every future in every situation.
fn every_kind() -> Vec<(&'static Operation, Situation)> {
    let contended = [
        Situation::BehindAnother,
        Situation::BehindOneOfUs,
        Situation::BehindATermOfOurs,
    ];
    let mut kinds: Vec<_> = OPERATIONS
        .iter()
        .map(|operation| (operation, Situation::Alone))
        .collect();
    for situation in contended {
        let asking = OPERATIONS
            .iter()
            .filter(|operation| operation.kind == Kind::Asks);
        kinds.extend(asking.map(|operation| (operation, situation)));
    }
    kinds
}

impl Tally {
    fn count(&mut self, name: &'static str, dropped: bool) {
        self.scenes += 1;
        self.dropped += usize::from(dropped);
        *self.each.entry(name).or_default() += usize::from(dropped);
    }

    fn join(&mut self, played: Option<Result<(&'static str, bool), tokio::task::JoinError>>) {
        match played {
            Some(Ok((name, dropped))) => self.count(name, dropped),
            Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Some(Err(error)) => panic!("a scene was cut off: {error}"),
            None => {}
        }
    }
}
