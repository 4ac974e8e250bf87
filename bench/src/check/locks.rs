//! The goals of the locks.

use super::{Line, at_least, at_most, shown};
use crate::{
    medians::Medians,
    mixes::EXPERIMENT,
    results::Results,
    systems::{Entry, Kind, SYSTEMS, Store, ours::Waiting},
};

const PAIR: &str = "acquire and release, uncontended, median";
const NETWORK: &str = "the same through a network of 0.25 ms each way";
const ONE_PROCESS: &str = "contended, 8 waiters of one process";
const PROCESSES: &str = "contended, 8 processes, 5 ms";
const HANDOFF: &str = "hand-off across processes after release";
const TAKEOVER: &str = "takeover after kill -9, D = 3 s";
const WAITING: &str = "waiting";
const MIX: &str = "processes of several tasks";

/// What a pair may take, in pairs of the raw calls.
const OF_RAW: [(Store, f64); 4] = [
    (Store::Redis, 1.35),
    (Store::Postgres, 1.4),
    (Store::SQLite, 1.25),
    (Store::DynamoDb, 1.2),
];

/// Peers that no pair of ours may take longer than, uncontended.
const NOT_ABOVE: [(Store, &str); 5] = [
    (Store::Redis, "rlock"),
    (Store::Redis, "redis-lock"),
    (Store::Redis, "distributed-lock-redis"),
    (Store::Redis, "redlock"),
    (Store::Postgres, "distributed-lock-postgres"),
];

/// Systems that need more round trips than we do.
const MORE_ROUND_TRIPS: [(Store, &str); 3] = [
    (Store::Postgres, "SELECT FOR UPDATE, by hand"),
    (Store::Postgres, "distributed-lock-postgres"),
    (Store::Redis, "redlock"),
];

/// Percent of the possible grants across processes.
const POSSIBLE: [(Store, f64); 3] = [
    (Store::Redis, 95.0),
    (Store::Postgres, 92.0),
    (Store::SQLite, 90.0),
];

pub(super) fn lines(results: &Results) -> Vec<Line> {
    let check = Check(Medians::of(results));
    let mut lines = check.pairs();
    lines.extend(check.network());
    for store in Store::ALL {
        lines.extend(check.one_process(store));
    }
    lines.extend(check.processes());
    lines.extend(check.handoffs());
    lines.extend(check.takeovers());
    lines.extend(check.waiting(results));
    lines.extend(check.mixes(results));
    lines
}

struct Check(Medians);

impl Check {
    fn of(&self, experiment: &str, entry: Option<&Entry>, case: &str, figure: &str) -> Option<f64> {
        let entry = entry?;
        self.0
            .get(experiment, entry.store, entry.name, case, figure)
    }

    fn ours(&self, experiment: &str, store: Store, case: &str, figure: &str) -> Option<f64> {
        self.of(experiment, store.ours(), case, figure)
    }

    /// Our pair, and what it may take: the other's, so many times.
    fn pair(
        &self,
        (row, experiment): (&'static str, &str),
        store: Store,
        asked: String,
        other: Option<&Entry>,
        factor: f64,
    ) -> Line {
        let figure = "pair_p50_us";
        let limit = self.of(experiment, other, "", figure);
        let ours = self.ours(experiment, store, "", figure);
        let limit = limit.map(|other| other * factor);
        at_most(row, store, asked, ours, limit, "µs")
    }

    fn pairs(&self) -> Vec<Line> {
        let load = (PAIR, "uncontended");
        let raw = OF_RAW.map(|(store, factor)| {
            let asked = format!("at most {factor} times the raw pair");
            self.pair(load, store, asked, store.raw(), factor)
        });
        let not_above = NOT_ABOVE.map(|(store, name)| {
            let asked = format!("not above {name}");
            self.pair(load, store, asked, system(store, name), 1.0)
        });
        raw.into_iter().chain(not_above).collect()
    }

    /// Where a round trip takes half a millisecond, only their number counts.
    fn network(&self) -> Vec<Line> {
        let load = (NETWORK, "network");
        let raw = [Store::Redis, Store::Postgres, Store::DynamoDb].map(|store| {
            let asked = "within 5 % of the raw pair".to_owned();
            self.pair(load, store, asked, store.raw(), 1.05)
        });
        let slower = MORE_ROUND_TRIPS.map(|(store, name)| {
            let asked = format!("ahead of {name}");
            self.pair(load, store, asked, system(store, name), 1.0)
        });
        raw.into_iter().chain(slower).collect()
    }

    /// Inside a process the process itself passes the lock on.
    fn one_process(&self, store: Store) -> Vec<Line> {
        let experiment = "contended, one process";
        let get = |case, figure| self.ours(experiment, store, case, figure);
        let (grants, empty, busy) = ("grants_per_second", "0 ms", "5 ms");
        let row = ONE_PROCESS;
        let mut lines = vec![at_least(
            row,
            store,
            "empty section: 100,000 grants/s".to_owned(),
            get(empty, grants),
            100_000.0,
            "/s",
        )];
        if let Some((peer, name)) = self.best_peer(experiment, store, empty, grants) {
            let asked = format!("empty section: 5 times the best peer: {name}");
            let times = get(empty, grants).map(|ours| ours / peer);
            lines.push(at_least(row, store, asked, times, 5.0, "times"));
        }
        lines.push(at_least(
            row,
            store,
            "5 ms: 99 % of the possible grants".to_owned(),
            get(busy, "possible_share").map(|share| share * 100.0),
            99.0,
            "%",
        ));
        for (case, asked, figure, limit, unit) in [
            (
                empty,
                "at most 0.15 commands a grant",
                "commands_per_grant",
                0.15,
                "",
            ),
            (
                empty,
                "most/least grants at most 1.2",
                "most_by_least",
                1.2,
                "",
            ),
            (
                busy,
                "most/least grants at most 1.2",
                "most_by_least",
                1.2,
                "",
            ),
            (
                busy,
                "worst wait under 3 full cycles",
                "worst_in_cycles",
                3.0,
                "cycles",
            ),
        ] {
            let words = if case == empty { "empty section" } else { case };
            let asked = format!("{words}: {asked}");
            lines.push(at_most(
                row,
                store,
                asked,
                get(case, figure),
                Some(limit),
                unit,
            ));
        }
        lines
    }

    fn best_peer(
        &self,
        experiment: &str,
        store: Store,
        case: &str,
        figure: &str,
    ) -> Option<(f64, &'static str)> {
        peers(store)
            .filter_map(|peer| Some((self.of(experiment, Some(peer), case, figure)?, peer.name)))
            .max_by(|a, b| a.0.total_cmp(&b.0))
    }

    fn processes(&self) -> Vec<Line> {
        let get = |store, figure| self.ours("contended, 8 processes", store, "5 ms", figure);
        let share = |store| get(store, "possible_share").map(|share| share * 100.0);
        let row = PROCESSES;
        let mut lines = Vec::new();
        for (store, percent) in POSSIBLE {
            let asked = format!("{percent} % of the possible grants");
            lines.push(at_least(row, store, asked, share(store), percent, "%"));
            let asked = "most/least grants at most 1.5".to_owned();
            let unequal = get(store, "most_by_least");
            lines.push(at_most(row, store, asked, unequal, Some(1.5), ""));
        }
        // Those with wake-ups.
        for store in [Store::Redis, Store::Postgres] {
            let asked = "worst wait under 3 full cycles".to_owned();
            let worst = get(store, "worst_in_cycles");
            lines.push(at_most(row, store, asked, worst, Some(3.0), "cycles"));
            let asked = "at most 10 commands a grant".to_owned();
            let commands = get(store, "commands_per_grant");
            lines.push(at_most(row, store, asked, commands, Some(10.0), ""));
        }
        let asked = "% of the possible grants";
        let store = Store::DynamoDb;
        lines.push(shown(row, store, asked, share(store), None));
        lines
    }

    fn handoffs(&self) -> Vec<Line> {
        let p99 = |store| self.ours("hand-off", store, "", "p99_ms");
        let mut lines = Vec::new();
        for (store, limit) in [
            (Store::Redis, 5.0),
            (Store::Postgres, 5.0),
            (Store::SQLite, 20.0),
        ] {
            let asked = format!("p99 under {limit} ms");
            lines.push(at_most(
                HANDOFF,
                store,
                asked,
                p99(store),
                Some(limit),
                "ms",
            ));
        }
        lines.push(shown(
            HANDOFF,
            Store::DynamoDb,
            "p99",
            p99(Store::DynamoDb),
            None,
        ));
        // On Postgres the peers block in the server; on Redis all of them poll.
        let best = |figure: &str| {
            peers(Store::Redis)
                .filter_map(|peer| self.of("hand-off", Some(peer), "", figure))
                .min_by(f64::total_cmp)
        };
        for figure in ["p50_ms", "p99_ms"] {
            let ratio = best(figure)
                .zip(self.ours("hand-off", Store::Redis, "", figure))
                .map(|(best, ours)| best / ours);
            let what = figure.trim_end_matches("_ms");
            let asked = format!("{what} 10 times better than the best peer that polls");
            lines.push(at_least(HANDOFF, Store::Redis, asked, ratio, 10.0, "times"));
        }
        lines
    }

    fn takeovers(&self) -> Vec<Line> {
        let limits = Store::ALL.map(|store| match store {
            // An observer: the waiter's poll comes on top, D/10 of a lease of 3 s.
            Store::DynamoDb => (store, 3_400.0, "D + P + 100 ms"),
            _ => (store, 3_100.0, "D + 100 ms"),
        });
        let line = |(store, limit, words)| {
            let measured = self.ours("takeover", store, "", "after_last_renewal_ms");
            let asked = format!("at most {words} after the last renewal");
            at_most(TAKEOVER, store, asked, measured, Some(limit), "ms")
        };
        limits.map(line).into()
    }

    fn waiting(&self, results: &Results) -> Vec<Line> {
        // A span of n intervals can hold n + 1 polls.
        let polls = results.sizes.idle.as_secs_f64() / crate::experiments::POLL.as_secs_f64();
        let limit = (polls + 1.0) / polls;
        let line = |store| {
            let measured = self.ours("idle waiter", store, "", "calls_per_poll");
            let asked = "at most one call in a poll interval".to_owned();
            at_most(WAITING, store, asked, measured, Some(limit), "")
        };
        Store::ALL.map(line).into()
    }

    /// W8, for each mix that the run had.
    fn mixes(&self, results: &Results) -> Vec<Line> {
        let mut lines = Vec::new();
        for store in Store::ALL {
            for mix in &results.sizes.mixes {
                for waiting in [Waiting::Called, Waiting::Polled] {
                    if store == Store::DynamoDb && matches!(waiting, Waiting::Called) {
                        continue;
                    }
                    let case = mix.case(waiting);
                    let get = |figure| self.ours(EXPERIMENT, store, &case, figure);
                    let (measured, bound) = (get("process_worst_ms"), get("bound_ms"));
                    let asked = format!("{case}: no process waits longer than the bound");
                    lines.push(at_most(MIX, store, asked, measured, bound, "ms"));
                }
            }
        }
        lines
    }
}

fn system(store: Store, name: &str) -> Option<&'static Entry> {
    SYSTEMS
        .iter()
        .find(|entry| entry.store == store && entry.name == name)
}

/// What is written by hand is no peer.
fn peers(store: Store) -> impl Iterator<Item = &'static Entry> {
    SYSTEMS
        .iter()
        .filter(move |entry| entry.store == store && entry.kind == Kind::Peer)
}
