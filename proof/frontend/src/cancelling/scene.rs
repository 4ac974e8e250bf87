//! One operation, in one situation, dropped at one point; and the conditions that must hold then (I14).

use std::{
    fmt,
    future::{Future, poll_fn},
    sync::Arc,
    task::Poll,
    thread,
    time::Duration,
};

use dlock_core::{DLock, Lease, Name, Provider};
use tokio::{
    runtime::Handle,
    sync::oneshot,
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};
use uuid::Uuid;

use super::{
    cut::{Cut, Point, TURNS},
    gate::turn,
    operations::{Kind, Operation},
    stage::{Stage, Weather, client, lock, ok},
};

/// The poll after which the next waiter in the queue comes, and the one after which the holder releases.
const FOLLOWER_COMES: usize = 1;
const HOLDER_GOES: usize = 12;

/// How long "at once" may take: less than a lease or a poll interval.
const AT_ONCE: Duration = Duration::from_millis(200);

/// The same on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// The state of the lock when the operation begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Situation {
    /// The lock is free, and no other client wants it.
    Alone,
    /// Another client holds it, and releases it after a while. A second caller of the operation's client waits behind
    /// the operation.
    BehindAnother,
    /// The same, but the holder belongs to the same client: its term is claimed.
    BehindOneOfUs,
    /// The same, and the holder's term can continue with the next lease (S1).
    BehindATermOfOurs,
}

/// The ground on which scenes are played.
pub(super) struct Ground {
    /// The operation's provider, and that of all other clients.
    pub(super) providers: (Arc<dyn Provider>, Arc<dyn Provider>),
    pub(super) lease: Duration,
    /// Tokio's clock is paused, and nothing else runs on this runtime.
    pub(super) paused: bool,
}

/// One scene.
#[derive(Clone, Copy)]
pub(super) struct Scene {
    pub(super) operation: &'static Operation,
    pub(super) situation: Situation,
    pub(super) weather: Weather,
    pub(super) point: Point,
}

/// How a scene went.
pub(super) struct Played {
    /// The point was reached: the future was dropped there.
    pub(super) dropped: bool,
    /// How often it was polled.
    pub(super) polls: usize,
}

impl Scene {
    /// Plays the scene, and panics if anything of it remains.
    pub(super) async fn play(self, ground: &Ground) -> Played {
        let _says = Says(self);
        let tasks = Handle::current().metrics().num_alive_tasks();
        let name = ok(Name::new(format!("scene/{}", Uuid::new_v4().simple())));
        let (ours, theirs) = &ground.providers;
        let most = self.most(ground);
        let cut = if ground.paused {
            Cut::paused(self.point, ground.lease / 12, most)
        } else {
            Cut::real(self.point, most)
        };
        let place = (&name, ground.lease);
        let mut stage = Stage::new(Arc::clone(ours), place, cut, self.weather, ground.paused);
        let elsewhere = client(Arc::clone(theirs), ground.paused, 2);
        let rival = lock(&elsewhere, &name, ground.lease, ground.paused);

        let crowd = match self.situation {
            Situation::Alone => None,
            Situation::BehindAnother => {
                let held = ok(rival.acquire().await);
                Some(Crowd::gather(&mut stage, held))
            }
            Situation::BehindOneOfUs => {
                let held = stage.lease().await;
                Some(Crowd::gather(&mut stage, held))
            }
            Situation::BehindATermOfOurs => {
                let held = with_tokens_to_spare(&stage.lock, &rival).await;
                Some(Crowd::gather(&mut stage, held))
            }
        };
        (self.operation.run)(&mut stage).await;
        let played = Played {
            dropped: !stage.cut.ended && stage.cut.polls < most,
            polls: stage.cut.polls,
        };
        if let Some(crowd) = crowd {
            let expected = self.grants(stage.cut.ended);
            crowd.serve(&mut stage, expected).await;
        }

        // G2: free for others; usually at once.
        let free_within = match (ground.paused, stage.fair()) {
            (true, true) => AT_ONCE,
            (true, false) => ground.lease + AT_ONCE,
            (false, _) => PATIENCE,
        };
        let beside = stage
            .others
            .iter()
            .map(|name| ok(rival.named(name.as_str())));
        let rivals: Vec<DLock> = std::iter::once(rival.clone()).chain(beside).collect();
        let newcomer = async {
            for rival in &rivals {
                let answer = timeout(free_within, rival.acquire()).await;
                let Ok(answer) = answer else {
                    panic!("not free for another client within {free_within:?}")
                };
                let lease = ok(answer);
                assert!(lease.is_valid(), "granted, and not valid");
                ok(lease.release().await);
            }
        };
        let close = async {
            let Ok(left) = timeout(2 * ground.lease, stage.client.close()).await else {
                panic!("a call of the client does not end within two leases")
            };
            assert_eq!(left, 0, "leases left without a holder");
        };
        if ground.paused {
            tokio::join!(biased; newcomer, close);
        } else {
            // A newcomer that is refused once would wait for its next poll.
            close.await;
            newcomer.await;
        }
        assert_eq!(elsewhere.close().await, 0);

        // Nothing remains: no call, no memory, no task.
        let counts = Arc::clone(&stage.counts);
        drop((stage, elsewhere, rival, rivals));
        let gone = || {
            counts.under_way() == 0
                && Arc::strong_count(&counts) == 1
                && (!ground.paused || Handle::current().metrics().num_alive_tasks() <= tasks)
        };
        let began = Instant::now();
        while !gone() {
            assert!(
                began.elapsed() < ground.lease,
                "left behind: {} calls, {} owners of the provider, {} tasks",
                counts.under_way(),
                Arc::strong_count(&counts) - 1,
                Handle::current().metrics().num_alive_tasks() - tasks,
            );
            sleep(Duration::from_millis(5)).await;
        }
        played
    }

    /// How many grants of the store it takes to serve the next in line in fair weather, after a drop or the end of the
    /// operation.
    fn grants(self, ended: bool) -> usize {
        // Long after a drop, the term has reached its limit of time (S3).
        let goes_on = self.situation == Situation::BehindATermOfOurs
            && (ended || !matches!(self.point, Point::LongAfter(_)));
        usize::from(!goes_on)
    }

    /// After how many polls a future that does not end is dropped.
    fn most(self, ground: &Ground) -> usize {
        let watches = self.operation.kind == Kind::Watches;
        match (self.situation, self.weather) {
            _ if !ground.paused && !watches => usize::MAX,
            (_, Weather::Fair) => TURNS + 15,
            // Longer than an acquire keeps calling a silent store.
            (Situation::Alone, _) => TURNS + 18,
            // Shorter, for the waiter behind it.
            (..) => TURNS + 6,
        }
    }
}

/// The others of a contended scene: the holder of the lock, and the waiter behind the operation.
struct Crowd {
    holder: JoinHandle<()>,
    follower: JoinHandle<Lease>,
}

impl Crowd {
    /// The lock is held; both wait for their cues.
    fn gather(stage: &mut Stage, lease: Lease) -> Self {
        let (goes, gone) = oneshot::channel();
        let (comes, come) = oneshot::channel();
        let holder = crate::spawn(async move {
            ok(gone.await);
            // In bad weather the release may get no answer.
            drop(lease.release().await);
        });
        let lock = stage.lock.clone();
        let follower = crate::spawn(async move {
            ok(come.await);
            ok(lock.acquire().await)
        });
        stage.cut.cues.push((FOLLOWER_COMES, comes));
        // The outcome of a holder's release in bad weather does not concern cancellation.
        let goes_after = if stage.fair() {
            HOLDER_GOES
        } else {
            usize::MAX
        };
        stage.cut.cues.push((goes_after, goes));
        Self { holder, follower }
    }

    /// The next in line is served, and a dropped waiter leaves no hole (W1).
    ///
    /// `expected`: how many grants of the store that takes, if the holder releases after the drop.
    async fn serve(self, stage: &mut Stage, expected: usize) {
        let held_still = stage.cut.cues.iter().any(|(due, _)| *due > FOLLOWER_COMES);
        stage.cut.polls = stage.cut.polls.max(FOLLOWER_COMES);
        stage.cut.give_cues();
        if stage.paused {
            // Until every task waits.
            sleep(AT_ONCE / 4).await;
        }
        stage.mend_wire();
        let granted = stage.counts.granted();
        stage.cut.polls = usize::MAX;
        stage.cut.give_cues();
        let within = match (stage.paused, stage.fair()) {
            (true, true) => AT_ONCE,
            (true, false) => stage.lock.duration(),
            (false, _) => PATIENCE,
        };
        let Ok(lease) = timeout(within, self.follower).await else {
            panic!("the next in line is not served within {within:?}")
        };
        let lease = ok(lease);
        if stage.paused && held_still && stage.fair() {
            let grants = stage.counts.granted() - granted;
            assert_eq!(
                grants, expected,
                "a waiter that has gone away was served first"
            );
        }
        ok(lease.release().await);
        ok(self.holder.await);
    }
}

/// A lease of a term that can continue: another caller of its client waited behind it when it was requested.
async fn with_tokens_to_spare(lock: &DLock, rival: &DLock) -> Lease {
    let held = ok(rival.acquire().await);
    let mut waiters = [lock.acquire(), lock.acquire()].map(Box::pin);
    // Until the first one, which made its request while it stood alone, has been refused.
    for _ in 0..TURNS {
        poll_fn(|context| {
            for waiter in &mut waiters {
                assert!(waiter.as_mut().poll(context).is_pending(), "not held");
            }
            Poll::Ready(())
        })
        .await;
        turn().await;
    }
    ok(held.release().await);
    let [first, second] = waiters;
    let lease = ok(first.await);
    drop(second);
    lease
}

/// Reports in which scene something was wrong.
struct Says(Scene);

impl Drop for Says {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("while playing: {}", self.0);
        }
    }
}

impl fmt::Display for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            operation,
            situation,
            weather,
            point,
        } = self;
        write!(
            f,
            "{} ({situation:?}, {weather:?}) dropped {point}",
            operation.name
        )
    }
}
