//! Acquire and release with nobody else there: the systems of a store take short turns, so that what
//! disturbs the machine disturbs all of them.

use std::time::Duration;

use anyhow::Result;

use crate::{
    bench::{At, Bench},
    clock::Moment,
    results::{Figures, figures},
    sizes::Sizes,
    statistics::{median, micros, percentile},
    systems::{Entry, Lock, Places, Store},
};

/// Not counted: connections, plans and caches get warm.
const WARM: u32 = 20;

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    let at = At {
        run,
        experiment: "uncontended",
        case: "",
    };
    for &store in &bench.stores {
        bench
            .progress
            .set_message(format!("uncontended on {store}"));
        in_turns(bench, at, store, bench.places()).await?;
    }
    Ok(())
}

/// All systems of a store that is reached at these places.
pub(super) async fn in_turns(
    bench: &Bench,
    at: At<'_>,
    store: Store,
    places: &Places,
) -> Result<()> {
    let mut turns: Vec<(&'static Entry, Series)> = Vec::new();
    for entry in bench.systems(store) {
        match Series::begin(bench, entry, places).await {
            Ok(series) => turns.push((entry, series)),
            Err(error) => bench.settle(at, entry, Err(error)),
        }
    }
    for (entry, series) in take_turns(turns, &bench.sizes).await? {
        bench.settle(at, entry, series.figures());
    }
    Ok(())
}

/// Short turns, until all have had theirs.
pub(super) async fn take_turns<T>(
    mut turns: Vec<(T, Series)>,
    sizes: &Sizes,
) -> Result<Vec<(T, Series)>> {
    for _ in 0..sizes.turns {
        let mut after = Vec::new();
        for (whose, series) in turns {
            // In a task: the main thread is no worker of the runtime, and would pay for a
            // thread's wake-up in every call.
            let turn = tokio::spawn(series.turn(sizes.turn));
            after.push((whose, turn.await?));
        }
        turns = after;
    }
    Ok(turns)
}

/// Pairs of one system.
pub(super) struct Series {
    lock: Box<dyn Lock>,
    acquires: Vec<f64>,
    releases: Vec<f64>,
    pairs: Vec<f64>,
    failed: Option<anyhow::Error>,
}

impl Series {
    async fn begin(bench: &Bench, entry: &'static Entry, places: &Places) -> Result<Self> {
        Self::warm(entry.open(places).await?.lock(&bench.name("free"))?).await
    }

    pub(super) async fn warm(lock: Box<dyn Lock>) -> Result<Self> {
        for _ in 0..WARM {
            lock.acquire().await?.release().await?;
        }
        Ok(Self::of(lock))
    }

    pub(super) const fn of(lock: Box<dyn Lock>) -> Self {
        Self {
            lock,
            acquires: Vec::new(),
            releases: Vec::new(),
            pairs: Vec::new(),
            failed: None,
        }
    }

    /// Another lock of the same system from here on.
    pub(super) fn switch(&mut self, lock: Box<dyn Lock>) {
        self.lock = lock;
    }

    async fn turn(mut self, span: Duration) -> Self {
        let begin = Moment::now();
        while self.failed.is_none() && Moment::now().since(begin) < span {
            self.failed = self.pair().await.err();
        }
        self
    }

    pub(super) async fn pair(&mut self) -> Result<()> {
        let asked = Moment::now();
        let held = self.lock.acquire().await?;
        let granted = Moment::now();
        held.release().await?;
        let released = Moment::now();
        self.acquires.push(micros(granted.since(asked)));
        self.releases.push(micros(released.since(granted)));
        self.pairs.push(micros(released.since(asked)));
        Ok(())
    }

    pub(super) fn figures(self) -> Result<Figures> {
        match self.failed {
            Some(error) => Err(error),
            None => Ok(summary(self.acquires, self.releases, self.pairs)),
        }
    }
}

/// What pairs amount to, in microseconds.
pub(super) fn summary(
    mut acquires: Vec<f64>,
    mut releases: Vec<f64>,
    mut pairs: Vec<f64>,
) -> Figures {
    let seconds = pairs.iter().sum::<f64>() / 1e6;
    figures([
        ("pairs_per_second", pairs.len() as f64 / seconds),
        ("acquire_p50_us", median(&mut acquires)),
        ("acquire_p99_us", percentile(&mut acquires, 0.99)),
        ("release_p50_us", median(&mut releases)),
        ("release_p99_us", percentile(&mut releases, 0.99)),
        ("pair_p50_us", median(&mut pairs)),
        ("pair_p99_us", percentile(&mut pairs, 0.99)),
    ])
}
