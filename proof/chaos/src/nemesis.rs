//! The nemesis, which breaks things: three hands at once, each with its own seeded choices, and a trap.
//!
//! A hand deals its blows from a shuffled deck, so that each occurs in a run that is long enough for one.
//! The history records every blow, from before it begins until after it has ended, and everything is
//! back to normal when a hand has finished.

mod wire;

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use dlock_proof::history::{Log, OpenFault, line::AFTERMATH};
use tokio::time::{Instant, sleep, timeout};

use self::wire::Wire;
use crate::{
    cli::Failure,
    fleet::{Fleet, every_life},
    limits::{TAKEOVER, until},
    storage::Storage,
    store::Store,
};

/// How many times each blow was dealt.
#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<BTreeMap<&'static str, u64>>);

/// The targets of the nemesis, and when it stops.
pub(crate) struct Nemesis<'a> {
    pub(crate) fleet: &'a Fleet,
    pub(crate) storage: &'a Storage,
    pub(crate) log: &'a Log,
    pub(crate) tally: &'a Tally,
    /// The longest lease.
    pub(crate) lease: Duration,
    pub(crate) until: Instant,
}

/// The fate of a worker.
#[derive(Clone, Copy)]
enum Fate {
    Killed,
    Paused,
}

/// Whether a blow of this name is one to the wire.
pub(crate) fn strikes_the_wire(blow: &str) -> bool {
    Wire::ALL.iter().any(|wire| wire.name() == blow)
}

/// Blows, in a new order each round.
struct Deck<T> {
    all: Vec<T>,
    left: Vec<T>,
}

impl Nemesis<'_> {
    /// Kills and pauses workers.
    pub(crate) async fn strike_workers(&self, mut random: fastrand::Rng) -> Result<(), Failure> {
        let mut deck = Deck::new(vec![Fate::Killed, Fate::Paused]);
        while self.rest(1, &mut random).await {
            let (Some(fate), Some(mut worker)) =
                (deck.draw(&mut random), self.fleet.any(&mut random))
            else {
                continue;
            };
            match fate {
                Fate::Killed => {
                    worker.kill().await?;
                    self.tally.count("worker killed");
                    sleep(up_to(self.lease, &mut random)).await;
                    worker.start()?;
                }
                Fate::Paused => {
                    let Some(pause) = worker.stop().await? else {
                        continue;
                    };
                    self.tally.count("worker paused");
                    // From a tenth of a lease to three.
                    let most = self.lease.mul_f64(2.9);
                    sleep(self.lease / 10 + up_to(most, &mut random)).await;
                    worker.go_on(pause)?;
                }
            }
        }
        Ok(())
    }

    /// Deals the store every blow that it has.
    pub(crate) async fn strike_store(
        &self,
        store: &mut dyn Store,
        mut random: fastrand::Rng,
    ) -> Result<(), Failure> {
        // Half of the blows are so short that a lease outlasts them.
        let mut blows = store.blows(self.lease.mul_f64(1.5));
        blows.extend(store.blows(self.lease / 4));
        let mut deck = Deck::new(blows);
        while self.rest(2, &mut random).await {
            let Some(blow) = deck.draw(&mut random) else {
                continue;
            };
            // All locks are on this server.
            let fault = self.log.fault(blow.name(), "");
            self.tally.count(blow.name());
            store.suffer(blow.drawn(&mut random)).await?;
            self.over(vec![fault], &[String::new()]);
        }
        Ok(())
    }

    /// Breaks the wire between workers and the store, where there is one.
    pub(crate) async fn strike_wire(&self, mut random: fastrand::Rng) -> Result<(), Failure> {
        let proxies = self.fleet.proxies();
        if proxies.is_empty() {
            return Ok(());
        }
        let mut deck = Deck::new(Wire::ALL.to_vec());
        while self.rest(1, &mut random).await {
            let Some(wire) = deck.draw(&mut random) else {
                continue;
            };
            // The wire of one worker, or of all.
            let one = random.usize(0..proxies.len());
            let struck = if wire.is_everywhere() || random.u32(0..5) == 0 {
                0..proxies.len()
            } else {
                one..one + 1
            };
            let whose: Vec<String> = struck.clone().map(every_life).collect();
            let faults = whose
                .iter()
                .map(|worker| self.log.fault(wire.name(), worker));
            let faults = faults.collect();
            self.tally.count(wire.name());
            for proxy in &proxies[struck.clone()] {
                wire.begin(proxy, self.lease, &mut random).await;
            }
            sleep(wire.lasts(self.lease, &mut random)).await;
            for proxy in &proxies[struck] {
                proxy.calm().await;
            }
            self.over(faults, &whose);
        }
        Ok(())
    }

    /// Ends these faults. Calls that they struck end by their own limits, and their effects last until then.
    fn over(&self, faults: Vec<OpenFault>, whose: &[String]) {
        let felt: Vec<_> = whose
            .iter()
            .map(|worker| self.log.fault(AFTERMATH, worker))
            .collect();
        faults.into_iter().for_each(OpenFault::end);
        let lasts = self.lease / 4;
        tokio::spawn(async move {
            sleep(lasts).await;
            felt.into_iter().for_each(OpenFault::end);
        });
    }

    /// Pauses workers in the middle of a read-modify-write, until another has written.
    pub(crate) async fn set_traps(&self, mut random: fastrand::Rng) -> Result<(), Failure> {
        while self.rest(1, &mut random).await {
            self.set_trap().await?;
            sleep(up_to(3 * self.lease, &mut random)).await;
        }
        Ok(())
    }

    /// The scripted pause: a worker is stopped after it has seen that its lease is valid and has read
    /// the value, until a later holder has written; then it continues. Returns whether the worker undid
    /// that write where tokens are not checked, and was refused where they are.
    pub(crate) async fn set_trap(&self) -> Result<bool, Failure> {
        let Ok(Ok(caught)) = timeout(TAKEOVER, self.storage.trap()).await else {
            return Ok(false);
        };
        let Some(mut worker) = self.fleet.named(&caught.process).await else {
            return Ok(false);
        };
        let Some(pause) = worker.stop().await? else {
            return Ok(false);
        };
        // The worker waits for this answer. If its connection is gone, the answer is not needed.
        let _gone = caught.answer.send(());
        let (storage, lock, token) = (self.storage, &caught.lock, caught.token);
        let succeeded = until(TAKEOVER, || storage.succeeded(lock, token)).await;
        worker.go_on(pause)?;
        let bitten = succeeded && until(TAKEOVER, || storage.bitten(token)).await;
        self.tally.count("scripted pause");
        if bitten {
            self.tally.count(BITTEN);
        }
        Ok(bitten)
    }

    /// Pauses for that many times the usual rest. Returns whether there is time for another blow.
    async fn rest(&self, times: u32, random: &mut fastrand::Rng) -> bool {
        sleep(times * Duration::from_millis(random.u64(200..1500))).await;
        Instant::now() < self.until
    }
}

/// A scripted pause after which the worker undid the write of its successor.
pub(crate) const BITTEN: &str = "scripted pause that bit";

impl Tally {
    fn count(&self, what: &'static str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(what).or_default() += 1;
    }

    pub(crate) fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl<T: Clone> Deck<T> {
    const fn new(all: Vec<T>) -> Self {
        let left = Vec::new();
        Self { all, left }
    }

    /// `None` only if the deck has no cards at all.
    fn draw(&mut self, random: &mut fastrand::Rng) -> Option<T> {
        if self.left.is_empty() {
            self.left.clone_from(&self.all);
            random.shuffle(&mut self.left);
        }
        self.left.pop()
    }
}

fn up_to(most: Duration, random: &mut fastrand::Rng) -> Duration {
    most.mul_f64(random.f64())
}
