//! Statistics over several runs: the median of each figure, and figures derived from others of the same run.

use std::collections::{BTreeMap, HashMap};

use crate::{
    loads::Load,
    results::{Figures, Results, Sample},
    statistics::median,
    systems::{Kind, OURS, Store},
};

/// Medians by load, case, store and system, in the order in which they were measured.
pub(crate) struct Medians(Vec<Row>);

/// One system under one load.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) load: Load,
    pub(crate) case: String,
    pub(crate) store: Store,
    pub(crate) system: String,
    pub(crate) kind: Kind,
    pub(crate) figures: Figures,
}

impl Medians {
    pub(crate) fn of(runs: &[Results]) -> Self {
        let mut rows: Vec<(&Sample, BTreeMap<String, Vec<f64>>)> = Vec::new();
        let mut places = HashMap::new();
        for results in runs {
            for sample in &results.samples {
                let key = (sample.load, &sample.case, sample.store, &sample.system);
                let place = *places.entry(key).or_insert_with(|| {
                    rows.push((sample, BTreeMap::new()));
                    rows.len() - 1
                });
                let derived = derived(results, sample);
                for (figure, value) in sample.figures.clone().into_iter().chain(derived) {
                    rows[place].1.entry(figure).or_default().push(value);
                }
            }
        }
        let row = |(sample, figures): (&Sample, BTreeMap<String, Vec<f64>>)| Row {
            load: sample.load,
            case: sample.case.clone(),
            store: sample.store,
            system: sample.system.clone(),
            kind: sample.kind,
            figures: figures
                .into_iter()
                .map(|(figure, mut values)| (figure, median(&mut values)))
                .collect(),
        };
        Self(rows.into_iter().map(row).collect())
    }

    pub(crate) fn of_load(&self, load: Load) -> impl Iterator<Item = &Row> {
        self.0.iter().filter(move |row| row.load == load)
    }

    /// All systems on a store under one case of a load.
    pub(crate) fn of_case(
        &self,
        load: Load,
        case: &str,
        store: Store,
    ) -> impl Iterator<Item = &Row> {
        self.of_load(load)
            .filter(move |row| row.case == case && row.store == store)
    }

    /// Ours in the recommended setting.
    pub(crate) fn ours(&self, load: Load, case: &str, store: Store) -> Option<&Row> {
        self.of_case(load, case, store)
            .find(|row| row.system == OURS)
    }

    pub(crate) fn raw(&self, load: Load, case: &str, store: Store) -> Option<&Row> {
        self.of_case(load, case, store)
            .find(|row| row.kind == Kind::Raw)
    }
}

impl Row {
    pub(crate) fn get(&self, figure: &str) -> Option<f64> {
        self.figures.get(figure).copied()
    }
}

/// Figures that follow from a sample and the raw calls of the same run: the share of the possible grants, the longest
/// wait in cycles of all waiters, and how unequal the waiters' shares are.
fn derived(results: &Results, sample: &Sample) -> Figures {
    let figure = |name: &str| sample.figures.get(name).copied();
    let mut derived = Figures::new();
    if let (Some(least), Some(most)) = (figure("least_grants"), figure("most_grants")) {
        // 0 grants for every waiter would count as equal shares.
        let ratio = if most == 0.0 {
            f64::INFINITY
        } else {
            most / least
        };
        derived.insert("most_by_least".to_owned(), ratio);
    }
    let mut samples = results.samples.iter();
    let raw = samples.find(|other| {
        (other.load, other.kind) == (Load::Pair, Kind::Raw)
            && (other.run, other.store) == (sample.run, sample.store)
    });
    let raw = raw.and_then(|raw| {
        let get = |name: &str| raw.figures.get(name).copied();
        Some(get("acquire_p50_us")? + get("release_p50_us")?)
    });
    if let (Some(grants), Some(section), Some(raw)) =
        (figure("grants_per_second"), figure("section_us"), raw)
    {
        let cycle = section + raw;
        derived.insert("possible_percent".to_owned(), grants * cycle / 1e4);
        if let (Some(worst), Some(waiters)) = (figure("wait_worst_ms"), figure("waiters")) {
            derived.insert("worst_cycles".to_owned(), worst * 1e3 / (waiters * cycle));
        }
    }
    derived
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Results, figures, tests::results};

    #[test]
    fn share_of_the_possible_is_that_of_the_raw_calls_of_the_same_run() {
        let sample = |system: &str, kind, load, figures| Sample {
            run: 1,
            load,
            case: String::new(),
            store: Store::Redis,
            system: system.to_owned(),
            kind,
            figures,
        };
        let contended = [
            ("grants_per_second", 100.0),
            ("section_us", 5_000.0),
            ("least_grants", 0.0),
            ("most_grants", 40.0),
            ("wait_worst_ms", 200.0),
            ("waiters", 8.0),
        ];
        let raw = [("acquire_p50_us", 600.0), ("release_p50_us", 400.0)];
        let runs = [Results {
            samples: vec![
                sample(OURS, Kind::Ours, Load::Processes, figures(contended)),
                sample("raw", Kind::Raw, Load::Pair, figures(raw)),
            ],
            ..results(&[])
        }];
        let medians = Medians::of(&runs);
        let ours = medians.ours(Load::Processes, "", Store::Redis);
        let get = |figure| ours.and_then(|row| row.get(figure));
        assert_eq!(get("possible_percent"), Some(60.0));
        assert_eq!(get("most_by_least"), Some(f64::INFINITY));
        assert!(get("worst_cycles").is_some_and(|cycles| (cycles - 4.167).abs() < 0.001));
    }
}
