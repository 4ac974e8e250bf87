//! What several runs amount to: the median of each figure.

use std::collections::BTreeMap;

use crate::{
    foreign::report as foreign,
    results::{Results, Sample},
    statistics::median,
    systems::Store,
};

/// Medians by load, store, system and case.
pub(crate) struct Medians(BTreeMap<Key, BTreeMap<String, f64>>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    experiment: String,
    store: Store,
    system: String,
    case: String,
}

impl Medians {
    pub(crate) fn of(results: &Results) -> Self {
        let mut values: BTreeMap<Key, BTreeMap<String, Vec<f64>>> = BTreeMap::new();
        for sample in &results.samples {
            let key = Key {
                experiment: sample.experiment.clone(),
                store: sample.store,
                system: sample.system.clone(),
                case: sample.case.clone(),
            };
            let all = values.entry(key).or_default();
            let derived = derived(results, sample);
            for (figure, value) in sample.figures.clone().into_iter().chain(derived) {
                all.entry(figure).or_default().push(value);
            }
        }
        let medians = |figures: BTreeMap<String, Vec<f64>>| {
            figures
                .into_iter()
                .map(|(figure, mut values)| (figure, median(&mut values)))
                .collect()
        };
        Self(
            values
                .into_iter()
                .map(|(key, figures)| (key, medians(figures)))
                .collect(),
        )
    }

    /// A figure, if it was measured.
    pub(crate) fn get(
        &self,
        experiment: &str,
        store: Store,
        system: &str,
        case: &str,
        figure: &str,
    ) -> Option<f64> {
        let key = Key {
            experiment: experiment.to_owned(),
            store,
            system: system.to_owned(),
            case: case.to_owned(),
        };
        self.0.get(&key)?.get(figure).copied()
    }

    /// The cases of a load that were measured on a store.
    pub(crate) fn cases(&self, experiment: &str, store: Store, system: &str) -> Vec<&str> {
        self.0
            .keys()
            .filter(|key| {
                key.experiment == experiment && key.store == store && key.system == system
            })
            .map(|key| key.case.as_str())
            .collect()
    }
}

/// What follows from a sample and the raw calls of the same run: how many of the possible grants
/// there were, how long a cycle of all waiters is at best, how unequal their shares are.
fn derived(results: &Results, sample: &Sample) -> Vec<(String, f64)> {
    let figure = |name: &str| sample.figures.get(name).copied();
    let mut derived = Vec::new();
    if let (Some(least), Some(most)) = (figure("least_grants"), figure("most_grants")) {
        // 0 grants for everybody are equal shares of nothing.
        let ratio = if most == 0.0 {
            f64::INFINITY
        } else {
            most / least
        };
        derived.push(("most_by_least".to_owned(), ratio));
    }
    let uncontended = if foreign::is_foreign(&sample.experiment) {
        foreign::UNCONTENDED
    } else {
        "uncontended"
    };
    let raw = sample.store.raw().and_then(|raw| {
        let mut samples = results.samples.iter();
        let pair = samples.find(|other| {
            other.experiment == uncontended
                && other.run == sample.run
                && other.store == sample.store
                && other.system == raw.name
        })?;
        Some(pair.figures.get("acquire_p50_us")? + pair.figures.get("release_p50_us")?)
    });
    if let (Some(grants), Some(section), Some(raw)) =
        (figure("grants_per_second"), figure("section_us"), raw)
    {
        let cycle = section + raw;
        derived.push(("possible_share".to_owned(), grants * cycle / 1e6));
        if let Some(worst) = figure("wait_worst_ms") {
            derived.push(("worst_in_cycles".to_owned(), worst * 1e3 / (8.0 * cycle)));
        }
    }
    derived
}
