//! The goals of servers.

use super::{CROWD, OURS, PAIRS, crowd::Case, etcd::Way};
use crate::{
    check::{Line, at_least, at_most, shown},
    medians::Medians,
    results::Results,
    systems::Store,
};

const PAIR: &str = "over HTTP: acquire and release";
const KEPT: &str = "over HTTP: renewals while others crowd";

/// What is asked of a server at so many clients, of what the store does directly.
const CLIENTS: &str = "64";
const OF_DIRECT: f64 = 0.6;

/// What was measured of the two loads, beside what is asked of it. One that was not measured at all is not asked for.
pub(crate) fn lines(results: &Results) -> Vec<Line> {
    let medians = Medians::of(results);
    let has = |experiment: &str| {
        let mut samples = results.samples.iter();
        samples.any(|sample| sample.experiment == experiment)
    };
    let mut lines = Vec::new();
    for store in [Store::Postgres, Store::SQLite] {
        if has(PAIRS) {
            lines.extend(pairs(&medians, store));
        }
        if has(CROWD) {
            let cases = Case::all(results.sizes.http.crowd);
            lines.extend(cases.map(|case| kept(&medians, store, case)));
        }
    }
    lines
}

fn pairs(medians: &Medians, store: Store) -> Vec<Line> {
    let get = |clients, figure| medians.get(PAIRS, store, OURS, clients, figure);
    let mut lines = vec![
        at_least(
            PAIR,
            store,
            format!("{CLIENTS} clients: {OF_DIRECT} of the pairs of the store asked directly"),
            get(CLIENTS, "of_direct"),
            OF_DIRECT,
            "",
        ),
        shown(
            PAIR,
            store,
            "1 client: part of the pairs of the store asked directly",
            get("1", "of_direct"),
            None,
        ),
    ];
    if store == Store::Postgres {
        let rate = "pairs_per_second";
        for way in Way::ALL {
            let etcd = medians.get(PAIRS, Store::Etcd, way.name(), CLIENTS, rate);
            if let Some(etcd) = etcd {
                let asked = format!("{CLIENTS} clients: pairs/s beside {}", way.name());
                lines.push(shown(PAIR, store, &asked, get(CLIENTS, rate), Some(etcd)));
            }
        }
    }
    lines
}

fn kept(medians: &Medians, store: Store, case: Case) -> Line {
    let case = case.name();
    let lost = medians.get(CROWD, store, OURS, &case, "lost");
    at_most(
        KEPT,
        store,
        format!("{case}: no lease is lost"),
        lost,
        Some(0.0),
        "lost",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        check::Verdict,
        machine::Machine,
        results::{Sample, figures},
        sizes::Sizes,
    };

    fn verdicts(samples: &[(&str, &str, &str, f64)]) -> Vec<Verdict> {
        let sample = |(experiment, case, figure, value): &(&str, &str, &str, f64)| Sample {
            run: 1,
            experiment: (*experiment).to_owned(),
            store: Store::Postgres,
            system: OURS.to_owned(),
            case: (*case).to_owned(),
            figures: figures([(*figure, *value)]),
        };
        let results = Results {
            command: String::new(),
            began: 0,
            took_seconds: 0,
            machine: Machine::here(),
            sizes: Sizes::quick(),
            failures: Vec::new(),
            samples: samples.iter().map(sample).collect(),
        };
        let lines = lines(&results).into_iter();
        let of_store = lines.filter(|line| line.store == Store::Postgres);
        of_store.map(|line| line.verdict).collect()
    }

    #[test]
    fn share_of_many_clients_is_asked_and_that_of_one_is_shown() {
        let share = |clients, share| verdicts(&[(PAIRS, clients, "of_direct", share)]);
        assert_eq!(share("64", 0.6), [Verdict::Reached, Verdict::Shown]);
        assert_eq!(share("64", 0.59), [Verdict::Missed, Verdict::Shown]);
        assert_eq!(share("1", 0.9), [Verdict::NotMeasured, Verdict::Shown]);
    }

    #[test]
    fn one_lost_lease_is_one_too_many() {
        let [first, ..] = Case::all(Sizes::quick().http.crowd).map(Case::name);
        let lost = |lost| verdicts(&[(CROWD, &first, "lost", lost)]);
        assert_eq!(lost(0.0).first(), Some(&Verdict::Reached));
        assert_eq!(lost(1.0).first(), Some(&Verdict::Missed));
        // The other crowds are missing.
        assert_eq!(lost(0.0).last(), Some(&Verdict::NotMeasured));
    }
}
