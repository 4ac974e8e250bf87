//! A run beside the figures that are to be reached.

use crate::{
    http,
    medians::Medians,
    mixes::EXPERIMENT,
    results::{Parts, Results},
    systems::{Kind, SYSTEMS, Store, ours::Waiting},
    table::{Table, number},
    tasks,
};

/// The row of the goals that a line belongs to, what is asked, and what came of it.
pub(crate) struct Line {
    pub(crate) row: &'static str,
    pub(crate) store: Store,
    pub(crate) asked: String,
    measured: String,
    pub(crate) verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Reached,
    Missed,
    /// Nothing is asked; the figure is shown.
    Shown,
    NotMeasured,
}

const PAIR: &str = "acquire and release, uncontended, median";
const NETWORK: &str = "the same through a network of 0.25 ms each way";
const CONTENDED: &str = "contended, 8 waiters, 5 ms";
const HANDOFF: &str = "hand-off across processes after release";
const TAKEOVER: &str = "takeover after kill -9, D = 3 s";
const WAITING: &str = "waiting";
const MIX: &str = "processes of several tasks";

/// The table, and whether everything that was asked was measured and reached. What nobody measured is left out, be it
/// the locks, the queue or servers.
pub(crate) fn render(results: &Results) -> (String, bool) {
    let Parts {
        locks,
        queues,
        servers,
    } = results.parts();
    let mut lines = Vec::new();
    if locks {
        lines.extend(of_locks(results));
    }
    if queues {
        lines.extend(of_queues(results));
    }
    if servers {
        lines.extend(http::check::lines(results));
    }
    render_lines(&lines)
}

pub(crate) fn render_locks(results: &Results) -> String {
    render_lines(&of_locks(results)).0
}

pub(crate) fn render_queues(results: &Results) -> String {
    render_lines(&of_queues(results)).0
}

pub(crate) fn render_servers(results: &Results) -> String {
    render_lines(&http::check::lines(results)).0
}

fn of_queues(results: &Results) -> Vec<Line> {
    tasks::check::lines(&Medians::of(results), &results.sizes.queue.backlog)
}

fn of_locks(results: &Results) -> Vec<Line> {
    let check = Check(Medians::of(results));
    let mut lines = check.pairs();
    lines.extend(check.network());
    for store in Store::ALL {
        lines.extend(check.contended(store, "contended, one process", 1.2, 4.0));
        // Across processes only the stores with wake-ups are asked for shares.
        lines.extend(check.contended(store, "contended, 8 processes", 1.5, 10.0));
    }
    lines.extend(check.handoffs());
    lines.extend(check.takeovers());
    lines.extend(check.waiting(results));
    lines.extend(check.mixes(results));
    lines
}

fn render_lines(lines: &[Line]) -> (String, bool) {
    let mut table = Table::new(["figure", "store", "at least", "measured", ""]);
    for line in lines {
        let verdict = match line.verdict {
            Verdict::Reached => "reached",
            Verdict::Missed => "NOT REACHED",
            Verdict::Shown => "for information",
            Verdict::NotMeasured => "not measured",
        };
        table.row([
            line.row.to_owned(),
            line.store.to_string(),
            line.asked.clone(),
            line.measured.clone(),
            verdict.to_owned(),
        ]);
    }
    let count = |verdict| lines.iter().filter(|line| line.verdict == verdict).count();
    let (reached, missed) = (count(Verdict::Reached), count(Verdict::Missed));
    let absent = count(Verdict::NotMeasured);
    let text = format!(
        "\n### Figures to reach\n\n{}\n{reached} reached, {missed} not reached, {absent} not measured.\n",
        table.render(5)
    );
    (text, missed == 0 && absent == 0)
}

struct Check(Medians);

impl Check {
    fn ours(&self, experiment: &str, store: Store, case: &str, figure: &str) -> Option<f64> {
        let ours = store.ours()?;
        self.0.get(experiment, store, ours.name, case, figure)
    }

    fn pairs(&self) -> Vec<Line> {
        let of = |store, system: &str, figure: &str| {
            self.0.get("uncontended", store, system, "", figure)
        };
        let raw = |store: Store, figure: &str| of(store, store.raw()?.name, figure);
        let ours = |store, figure: &str| self.ours("uncontended", store, "", figure);
        let mut lines = Vec::new();
        for (what, figure) in [("acquire", "acquire_p50_us"), ("release", "release_p50_us")] {
            let store = Store::Redis;
            let limit = raw(store, figure).map(|raw| raw * 1.1 + 20.0);
            let asked = format!("{what} within 10 % + 20 µs of the raw call");
            lines.push(at_most(
                PAIR,
                store,
                asked,
                ours(store, figure),
                limit,
                "µs",
            ));
        }
        let pair = "pair_p50_us";
        let by_hand = of(Store::Redis, "SET NX + Lua, by hand", pair);
        lines.push(shown(
            PAIR,
            Store::Redis,
            "the pair beside SET NX + Lua by hand",
            ours(Store::Redis, pair),
            by_hand,
        ));
        for (store, system, factor, asked) in [
            (
                Store::Postgres,
                "SELECT FOR UPDATE, by hand",
                1.15,
                "within 15 % of BEGIN, SELECT FOR UPDATE, COMMIT",
            ),
            (
                Store::Postgres,
                "distributed-lock-postgres",
                1.0,
                "ahead of distributed-lock-postgres",
            ),
            (
                Store::DynamoDb,
                "raw UpdateItem",
                1.05,
                "within 5 % of two raw UpdateItem calls",
            ),
            (
                Store::SQLite,
                "raw statements",
                1.2,
                "within 20 % of the raw statements",
            ),
        ] {
            let limit = of(store, system, pair).map(|other| other * factor);
            lines.push(at_most(
                PAIR,
                store,
                asked.to_owned(),
                ours(store, pair),
                limit,
                "µs",
            ));
        }
        lines
    }

    /// Where a round trip takes half a millisecond, only their number counts.
    fn network(&self) -> Vec<Line> {
        let of = |store, system: &str| self.0.get("network", store, system, "", "pair_p50_us");
        let raw = [Store::Redis, Store::Postgres, Store::DynamoDb].map(|store| {
            let raw = store.raw().and_then(|raw| of(store, raw.name));
            let asked = "within 5 % of the raw pair".to_owned();
            (store, asked, raw.map(|raw| raw * 1.05))
        });
        let slower = [
            (Store::Postgres, "SELECT FOR UPDATE, by hand"),
            (Store::Postgres, "distributed-lock-postgres"),
            (Store::Redis, "redlock"),
        ];
        let slower =
            slower.map(|(store, system)| (store, format!("ahead of {system}"), of(store, system)));
        let asked = raw.into_iter().chain(slower);
        let lines = asked.map(|(store, asked, limit)| {
            let ours = self.ours("network", store, "", "pair_p50_us");
            at_most(NETWORK, store, asked, ours, limit, "µs")
        });
        lines.collect()
    }

    fn contended(
        &self,
        store: Store,
        experiment: &'static str,
        unequal: f64,
        commands: f64,
    ) -> Vec<Line> {
        let across = experiment.contains("processes");
        let place = if across { "8 processes" } else { "one process" };
        let get = |figure| self.ours(experiment, store, "5 ms", figure);
        let mut lines = vec![
            at_least(
                CONTENDED,
                store,
                format!("{place}: 95 % of the possible grants"),
                get("possible_share").map(|share| share * 100.0),
                95.0,
                "%",
            ),
            at_most(
                CONTENDED,
                store,
                format!("{place}: worst wait under 3 full cycles"),
                get("worst_in_cycles"),
                Some(3.0),
                "cycles",
            ),
            at_most(
                CONTENDED,
                store,
                format!("{place}: most/least grants at most {unequal}"),
                get("most_by_least"),
                Some(unequal),
                "",
            ),
            at_most(
                CONTENDED,
                store,
                format!("{place}: at most {commands} commands a grant"),
                get("commands_per_grant"),
                Some(commands),
                "",
            ),
        ];
        if across && matches!(store, Store::SQLite | Store::DynamoDb) {
            for line in &mut lines {
                if line.verdict != Verdict::NotMeasured {
                    line.verdict = Verdict::Shown;
                }
            }
        }
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
        // On Postgres the peers block in the server; on Redis all of them poll. What one writes by
        // hand is no peer.
        let peers = SYSTEMS
            .iter()
            .filter(|entry| entry.store == Store::Redis && entry.kind == Kind::Peer);
        let best = |figure: &str| {
            let all = peers.clone();
            all.filter_map(|entry| self.0.get("hand-off", entry.store, entry.name, "", figure))
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

pub(crate) fn at_most(
    row: &'static str,
    store: Store,
    asked: String,
    measured: Option<f64>,
    limit: Option<f64>,
    unit: &str,
) -> Line {
    judge(
        row,
        store,
        asked,
        measured.zip(limit),
        |measured, limit| measured <= limit,
        ("≤", unit),
    )
}

pub(crate) fn at_least(
    row: &'static str,
    store: Store,
    asked: String,
    measured: Option<f64>,
    limit: f64,
    unit: &str,
) -> Line {
    let both = measured.map(|measured| (measured, limit));
    judge(
        row,
        store,
        asked,
        both,
        |measured, limit| measured >= limit,
        ("≥", unit),
    )
}

fn judge(
    row: &'static str,
    store: Store,
    asked: String,
    both: Option<(f64, f64)>,
    holds: fn(f64, f64) -> bool,
    (sign, unit): (&str, &str),
) -> Line {
    let (measured, verdict) = match both {
        None => ("–".to_owned(), Verdict::NotMeasured),
        Some((measured, limit)) => {
            let verdict = if holds(measured, limit) {
                Verdict::Reached
            } else {
                Verdict::Missed
            };
            let text = format!(
                "{} {sign} {} {unit}",
                number(Some(measured)),
                number(Some(limit))
            );
            (text.trim_end().to_owned(), verdict)
        }
    };
    Line {
        row,
        store,
        asked,
        measured,
        verdict,
    }
}

pub(crate) fn shown(
    row: &'static str,
    store: Store,
    asked: &str,
    measured: Option<f64>,
    beside: Option<f64>,
) -> Line {
    let beside = beside.map_or_else(String::new, |beside| {
        format!(" beside {}", number(Some(beside)))
    });
    Line {
        row,
        store,
        asked: asked.to_owned(),
        measured: format!("{}{beside}", number(measured)),
        verdict: Verdict::Shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(measured: Option<f64>, limit: Option<f64>) -> Verdict {
        at_most(PAIR, Store::Redis, String::new(), measured, limit, "µs").verdict
    }

    #[test]
    fn what_was_not_measured_is_not_reached() {
        assert!(verdict(Some(1.0), Some(1.0)) == Verdict::Reached);
        assert!(verdict(Some(1.1), Some(1.0)) == Verdict::Missed);
        assert!(verdict(Some(f64::INFINITY), Some(1.5)) == Verdict::Missed);
        assert!(verdict(Some(f64::NAN), Some(1.5)) == Verdict::Missed);
        assert!(verdict(None, Some(1.0)) == Verdict::NotMeasured);
        assert!(verdict(Some(1.0), None) == Verdict::NotMeasured);
    }
}
