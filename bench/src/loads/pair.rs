//! Acquire and release of a free lock: the systems of a store take short turns, so that what disturbs the machine disturbs
//! all of them.

use std::time::Duration;

use anyhow::Result;

use super::{Line, Load, Page};
use crate::{
    bench::{At, Bench},
    check::{Bound::MostOfRaw, goal},
    clock::Moment,
    results::{Figures, figures},
    statistics::{median, micros, percentile},
    systems::{Entry, Lock, Places, Store},
};

pub(super) const COLUMNS: &[(&str, &str)] = &[
    ("acquire p50", "acquire_p50_us"),
    ("p99", "acquire_p99_us"),
    ("release p50", "release_p50_us"),
    ("p99", "release_p99_us"),
    ("pair p50", FIGURE),
    ("p99", "pair_p99_us"),
];

pub(super) const FIGURE: &str = "pair_p50_us";

pub(super) const PAGE: Page = Page {
    title: "Acquire and release of a free lock, one task (µs)",
    columns: COLUMNS,
    lines: &[Line {
        what: "acquire and release a free lock, µs",
        case: "",
        figure: FIGURE,
        more: false,
    }],
    goals: &[
        goal(Store::Redis, "", FIGURE, MostOfRaw(1.35)).open(),
        goal(Store::Postgres, "", FIGURE, MostOfRaw(1.4)),
        goal(Store::SQLite, "", FIGURE, MostOfRaw(1.25)),
        goal(Store::DynamoDb, "", FIGURE, MostOfRaw(1.2)).open(),
    ],
};

/// Warm-up, not counted: connections, plans and caches.
const WARM: u32 = 20;

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    let at = At {
        run,
        load: Load::Pair,
        case: "",
    };
    for &store in &bench.stores {
        bench.says(format!("pairs on {store}"));
        in_turns(bench, at, store, bench.places()).await?;
    }
    Ok(())
}

/// All systems of a store whose servers are at these places.
pub(super) async fn in_turns(
    bench: &Bench,
    at: At<'_>,
    store: Store,
    places: &Places,
) -> Result<()> {
    let mut all: Vec<(&'static Entry, Series)> = Vec::new();
    for entry in bench.systems(store) {
        match Series::begin(bench, entry, places).await {
            Ok(series) => all.push((entry, series)),
            Err(error) => bench.settle(at, entry, Err(error)),
        }
    }
    let millis = Duration::from_millis;
    let (turns, span) = bench.size((6, millis(50)), (3, millis(30)));
    for _ in 0..turns {
        let mut after = Vec::new();
        for (entry, series) in all {
            // In a task: the main thread is no worker of the runtime, and would pay for waking a thread in
            // every call.
            after.push((entry, tokio::spawn(series.turn(span)).await?));
        }
        all = after;
    }
    for (entry, series) in all {
        bench.settle(at, entry, series.figures());
    }
    Ok(())
}

/// Pairs of one system.
struct Series {
    lock: Box<dyn Lock>,
    acquires: Vec<f64>,
    releases: Vec<f64>,
    pairs: Vec<f64>,
    failed: Option<anyhow::Error>,
}

impl Series {
    async fn begin(bench: &Bench, entry: &Entry, places: &Places) -> Result<Self> {
        let lock = entry.open(places).await?.lock(&bench.name("free"))?;
        for _ in 0..WARM {
            lock.acquire().await?.release().await?;
        }
        Ok(Self {
            lock,
            acquires: Vec::new(),
            releases: Vec::new(),
            pairs: Vec::new(),
            failed: None,
        })
    }

    async fn turn(mut self, span: Duration) -> Self {
        let begin = Moment::now();
        while self.failed.is_none() && Moment::now().since(begin) < span {
            self.failed = self.pair().await.err();
        }
        self
    }

    async fn pair(&mut self) -> Result<()> {
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

    fn figures(self) -> Result<Figures> {
        let Self {
            lock: _,
            mut acquires,
            mut releases,
            mut pairs,
            failed,
        } = self;
        if let Some(error) = failed {
            return Err(error);
        }
        Ok(figures([
            ("acquire_p50_us", median(&mut acquires)),
            ("acquire_p99_us", percentile(&mut acquires, 0.99)),
            ("release_p50_us", median(&mut releases)),
            ("release_p99_us", percentile(&mut releases, 0.99)),
            (FIGURE, median(&mut pairs)),
            ("pair_p99_us", percentile(&mut pairs, 0.99)),
        ]))
    }
}
