//! The goals of the queue.

use super::{Acks, QUEUES, report::peers};
use crate::{
    check::{Line, at_least, at_most, shown},
    medians::Medians,
    systems::{Kind, Store},
};

const THROUGHPUT: &str = "queue: tasks that do nothing";
const LOG: &str = "queue: log";
const LATENCY: &str = "queue: enqueue to start";
const SNAPSHOT: &str = "queue: old snapshot";
const BACKLOG: &str = "queue: backlog";
const IDLE: &str = "queue: idle worker";
const CRASH: &str = "queue: crash of a worker";
const UPDATES: &str = "queue: claims and heartbeats";

/// That of the tables.
const FILLFACTOR: &str = "35";

/// The lease of the crash, a second for the next look, and a round trip on a busy machine.
const CRASH_MS: f64 = 3000.0 + 1000.0 + 100.0;

pub(crate) fn lines(medians: &Medians, backlog: &[usize]) -> Vec<Line> {
    let check = Check(medians);
    let mut lines = Vec::new();
    lines.extend(check.throughput());
    lines.push(check.log());
    lines.extend(check.latency());
    lines.extend(check.snapshot());
    lines.extend(check.backlog(backlog));
    lines.extend(check.idle());
    lines.extend(check.crash());
    lines.push(check.updates());
    lines
}

struct Check<'a>(&'a Medians);

const STORE: Store = Store::Postgres;

impl Check<'_> {
    fn ours(&self, experiment: &str, store: Store, case: &str, figure: &str) -> Option<f64> {
        self.0.get(experiment, store, "dlock", case, figure)
    }

    /// The best of the peers that are to be compared, and its name.
    fn best(
        &self,
        experiment: &str,
        case: &str,
        figure: &str,
        of: fn(Acks) -> bool,
        larger: bool,
    ) -> Option<(f64, &'static str)> {
        let all = peers(STORE)
            .filter(|queue| of(queue.acks))
            .filter_map(|queue| {
                let value = self.0.get(experiment, STORE, queue.name, case, figure)?;
                Some((value, queue.name))
            });
        let by = |a: &(f64, &str), b: &(f64, &str)| a.0.total_cmp(&b.0);
        if larger {
            all.max_by(by)
        } else {
            all.min_by(by)
        }
    }

    fn throughput(&self) -> Vec<Line> {
        let (experiment, figure) = ("tasks: throughput", "run_per_second");
        let mut lines = Vec::new();
        for case in ["1 process", "4 processes"] {
            let ours = self.ours(experiment, STORE, case, figure);
            let ratio = |other: Option<f64>| ours.zip(other).map(|(ours, other)| ours / other);
            let each = self.best(experiment, case, figure, |acks| acks == Acks::Each, true);
            let name = each.map_or("", |(_, name)| name);
            lines.push(at_least(
                THROUGHPUT,
                STORE,
                format!("{case}: as many as the best peer that acknowledges each task: {name}"),
                ratio(each.map(|(value, _)| value)),
                1.0,
                "",
            ));
            let raw = QUEUES.iter().find(|queue| queue.kind == Kind::Raw);
            let raw = raw.and_then(|raw| self.0.get(experiment, STORE, raw.name, case, figure));
            lines.push(at_least(
                THROUGHPUT,
                STORE,
                format!("{case}: half of the raw statements"),
                ratio(raw),
                0.5,
                "",
            ));
            let all = self.best(experiment, case, figure, |_| true, true);
            let name = all.map_or("", |(_, name)| name);
            let asked = format!("{case}: beside the best of all peers: {name}");
            let ratio = ratio(all.map(|(value, _)| value));
            lines.push(shown(THROUGHPUT, STORE, &asked, ratio, None));
        }
        lines
    }

    fn log(&self) -> Line {
        let get = |name| {
            self.0
                .get("tasks: throughput", STORE, name, "1 process", "wal_bytes")
        };
        let asked = "at most 0.7 of River's bytes a task".to_owned();
        let limit = get("River").map(|bytes| bytes * 0.7);
        at_most(LOG, STORE, asked, get("dlock"), limit, "bytes")
    }

    fn latency(&self) -> Vec<Line> {
        let line = |case: &str| {
            let get = |figure| self.ours("tasks: latency", STORE, case, figure);
            let best = self.best("tasks: latency", case, "p99_ms", |_| true, false);
            let name = best.map_or("", |(_, name)| name);
            at_most(
                LATENCY,
                STORE,
                format!("{case}: p99 at most 1.2 of the best peer's: {name}"),
                get("p99_ms"),
                best.map(|(value, _)| value * 1.2),
                "ms",
            )
        };
        ["idle, 8/s", "200/s"].map(line).into()
    }

    fn snapshot(&self) -> Vec<Line> {
        let get = |figure| self.ours("tasks: old snapshot", STORE, "", figure);
        vec![
            at_least(
                SNAPSHOT,
                STORE,
                "95 % of 800 a second are run".to_owned(),
                get("of_offered").map(|share| share * 100.0),
                95.0,
                "%",
            ),
            at_most(
                SNAPSHOT,
                STORE,
                "a claim's p99 at the end is at most twice that of the start".to_owned(),
                get("claim_end_p99_ms"),
                get("claim_start_p99_ms").map(|start| start * 2.0),
                "ms",
            ),
        ]
    }

    fn backlog(&self, sizes: &[usize]) -> Vec<Line> {
        let (Some(few), Some(many)) = (sizes.first(), sizes.last()) else {
            return Vec::new();
        };
        let line = |store| {
            let get = |tasks: &usize| {
                self.ours("tasks: backlog", store, &tasks.to_string(), "claim_p50_us")
            };
            at_most(
                BACKLOG,
                store,
                format!("a claim among {many} tasks costs at most 1.5 of one among {few}"),
                get(many),
                get(few).map(|few| few * 1.5),
                "µs",
            )
        };
        [Store::Postgres, Store::SQLite].map(line).into()
    }

    fn idle(&self) -> Vec<Line> {
        let get = |figure| self.ours("tasks: idle", STORE, "", figure);
        vec![
            at_most(
                IDLE,
                STORE,
                "no log".to_owned(),
                get("wal_bytes_per_second"),
                Some(0.0),
                "bytes/s",
            ),
            at_most(
                IDLE,
                STORE,
                "at most 0.3 statements a second".to_owned(),
                get("statements_per_second"),
                Some(0.3),
                "",
            ),
        ]
    }

    fn updates(&self) -> Line {
        let share = self.ours("tasks: updates", STORE, FILLFACTOR, "hot_share");
        let asked = "95 % of them touch no index".to_owned();
        at_least(
            UPDATES,
            STORE,
            asked,
            share.map(|share| share * 100.0),
            95.0,
            "%",
        )
    }

    fn crash(&self) -> Vec<Line> {
        let line = |store| {
            at_most(
                CRASH,
                store,
                "its task begins again within the lease and a second".to_owned(),
                self.ours("tasks: crash", store, "", "after_kill_ms"),
                Some(CRASH_MS),
                "ms",
            )
        };
        [Store::Postgres, Store::SQLite].map(line).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        check::Verdict,
        machine::Machine,
        results::{Results, Sample, figures},
        sizes::Sizes,
    };

    fn results(samples: &[(&str, &str, &str, &str, f64)]) -> Results {
        let sample =
            |(experiment, system, case, figure, value): &(&str, &str, &str, &str, f64)| Sample {
                run: 1,
                experiment: (*experiment).to_owned(),
                store: STORE,
                system: (*system).to_owned(),
                case: (*case).to_owned(),
                figures: figures([(*figure, *value)]),
            };
        Results {
            command: String::new(),
            began: 0,
            took_seconds: 0,
            machine: Machine::here(),
            sizes: Sizes::quick(),
            failures: Vec::new(),
            samples: samples.iter().map(sample).collect(),
        }
    }

    fn verdict(
        samples: &[(&str, &str, &str, &str, f64)],
        row: &str,
        asked: &str,
    ) -> Option<Verdict> {
        let lines = lines(&Medians::of(&results(samples)), &[1000, 1_000_000]);
        let line = lines
            .iter()
            .find(|line| line.row == row && line.store == STORE && line.asked.contains(asked));
        line.map(|line| line.verdict)
    }

    #[test]
    fn best_peer_is_the_best_of_those_that_acknowledge_each_task() {
        let load = "tasks: throughput";
        let run = |system, rate| (load, system, "1 process", "run_per_second", rate);
        let best = "1 process: as many";
        let samples = [run("dlock", 100.0), run("River", 99.0), run("pgmq", 500.0)];
        assert_eq!(verdict(&samples, THROUGHPUT, best), Some(Verdict::Reached));
        let samples = [run("dlock", 100.0), run("River", 99.0), run("awa", 101.0)];
        assert_eq!(verdict(&samples, THROUGHPUT, best), Some(Verdict::Missed));
        // Without a peer there is nothing to compare with.
        let samples = [run("dlock", 100.0), run("raw statements", 201.0)];
        assert_eq!(
            verdict(&samples, THROUGHPUT, best),
            Some(Verdict::NotMeasured)
        );
        assert_eq!(
            verdict(&samples, THROUGHPUT, "1 process: half"),
            Some(Verdict::Missed)
        );
    }

    #[test]
    fn costs_are_beside_those_of_the_few_and_of_the_start() {
        let claim = |case, cost| ("tasks: backlog", "dlock", case, "claim_p50_us", cost);
        let samples = [claim("1000", 100.0), claim("1000000", 150.0)];
        assert_eq!(verdict(&samples, BACKLOG, ""), Some(Verdict::Reached));
        let samples = [claim("1000", 100.0), claim("1000000", 151.0)];
        assert_eq!(verdict(&samples, BACKLOG, ""), Some(Verdict::Missed));
        let p99 = |figure, cost| ("tasks: old snapshot", "dlock", "", figure, cost);
        let samples = [p99("claim_start_p99_ms", 2.0), p99("claim_end_p99_ms", 4.1)];
        assert_eq!(verdict(&samples, SNAPSHOT, "twice"), Some(Verdict::Missed));
    }
}
