//! Several free locks at once, by one task: five of a set, and all permits of a semaphore of 64.

use std::time::Duration;

use anyhow::{Result, ensure};
use dlock_core::{Client, DLock};
use dlock_several::{MultiLock, Semaphore};

use super::{Load, Page};
use crate::{
    bench::{At, Bench},
    check::{Bound::Most, Goal, goal},
    clock::Moment,
    results::{Figures, figures},
    statistics::{micros, percentile},
    systems::{
        Entry, LEASE, Store,
        ours::{Waiting, build, provider},
    },
};

const FIVE: &str = "5 locks";
const ALL: &str = "64 permits";
const PAIRS: &str = "lone_pairs";

pub(super) const PAGE: Page = Page {
    title: "Several free locks acquired and released as one",
    columns: &[("p50, µs", "p50_us"), ("in lone pairs", PAIRS)],
    lines: &[],
    goals: &[at_most(FIVE, 1.6), at_most(ALL, 6.0)],
};

const fn at_most(case: &'static str, pairs: f64) -> Goal {
    goal(Store::Postgres, case, PAIRS, Most(pairs)).open()
}

/// Warm-up, not counted: connections, plans and caches.
const WARM: u32 = 10;

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    for entry in bench.ours() {
        for case in [FIVE, ALL] {
            bench.says(format!("{case} as one on {}", entry.store));
            let at = At {
                run,
                load: Load::Several,
                case,
            };
            let measured = tokio::spawn(series(
                client(bench, entry)?,
                bench.name("several"),
                case == ALL,
                bench.size(Duration::from_millis(300), Duration::from_millis(80)),
            ));
            bench.settle(at, entry, measured.await?);
        }
    }
    Ok(())
}

fn client(bench: &Bench, entry: &Entry) -> Result<Client> {
    let provider = provider(entry.store, bench.places(), Waiting::Called)?;
    Ok(Client::new(provider))
}

/// One such set again and again for that long, in turn with a pair of one lock.
async fn series(client: Client, name: String, all: bool, span: Duration) -> Result<Figures> {
    let one = build(client, &name, LEASE)?;
    let set = if all {
        Semaphore::new(&one, Semaphore::MOST)?.all()
    } else {
        let five: Result<Vec<DLock>, _> =
            (0..5).map(|n| one.named(format!("{name}/{n}"))).collect();
        MultiLock::new(five?)?
    };
    for _ in 0..WARM {
        set.hold().await?.release().await;
    }
    let (mut sets, mut pairs) = (Vec::new(), Vec::new());
    let begin = Moment::now();
    while Moment::now().since(begin) < span {
        let asked = Moment::now();
        let ends = set.hold().await?.release().await;
        sets.push(micros(Moment::now().since(asked)));
        ensure!(ends.values().all(Result::is_ok), "{ends:?}");
        let asked = Moment::now();
        one.acquire().await?.release().await?;
        pairs.push(micros(Moment::now().since(asked)));
    }
    let (set, pair) = (percentile(&mut sets, 0.5), percentile(&mut pairs, 0.5));
    Ok(figures([("p50_us", set), (PAIRS, set / pair)]))
}
