//! The results of a run as JSON: one raw sample for each system under each load in each run.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::{
    loads::Load,
    machine::Machine,
    systems::{Kind, Store},
};

/// All measurements of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Results {
    /// The command line.
    pub(crate) command: String,
    pub(crate) date: String,
    pub(crate) took_seconds: u64,
    /// How many times each load was measured.
    pub(crate) runs: u32,
    pub(crate) machine: Machine,
    /// The systems that could not be measured, and why.
    pub(crate) failures: Vec<String>,
    pub(crate) samples: Vec<Sample>,
}

/// One system under one load in one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// 1 and up; 0 for a load that is measured once.
    pub(crate) run: u32,
    pub(crate) load: Load,
    /// The case of the load, such as the number of tasks; empty if there is only one.
    pub(crate) case: String,
    pub(crate) store: Store,
    pub(crate) system: String,
    pub(crate) kind: Kind,
    pub(crate) figures: Figures,
}

/// Measured values by name; the name ends with the unit.
pub(crate) type Figures = BTreeMap<String, f64>;

impl Results {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("reading {}", path.display()))
    }

    /// One line for each sample, so that differences stay readable.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let Self {
            command,
            date,
            took_seconds,
            runs,
            machine,
            failures,
            samples,
        } = self;
        let samples: Vec<String> = samples
            .iter()
            .map(serde_json::to_string)
            .collect::<Result<_, _>>()?;
        let text = format!(
            "{{\n\"command\": {},\n\"date\": \"{date}\",\n\"took_seconds\": {took_seconds},\n\"runs\": {runs},\n\
             \"machine\": {},\n\"failures\": {},\n\"samples\": [\n{}\n]}}\n",
            serde_json::to_string(command)?,
            serde_json::to_string(machine)?,
            serde_json::to_string(failures)?,
            samples.join(",\n")
        );
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text).with_context(|| format!("writing {}", path.display()))
    }
}

/// Figures from pairs, rounded to five digits. JSON has no number for "never", so such a figure is left out.
pub(crate) fn figures<const N: usize>(pairs: [(&str, f64); N]) -> Figures {
    pairs
        .into_iter()
        .filter(|(_, value)| value.is_finite())
        .map(|(name, value)| (name.to_owned(), round(value)))
        .collect()
}

fn round(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let scale = 10_f64.powi(5 - value.abs().log10().ceil() as i32);
    (value * scale).round() / scale
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Results of ours and of others on Postgres, by load, case, system, kind and figure.
    pub(crate) fn results(samples: &[(Load, &str, &str, Kind, &str, f64)]) -> Results {
        let sample =
            |(load, case, system, kind, figure, value): &(Load, &str, &str, Kind, &str, f64)| {
                Sample {
                    run: 1,
                    load: *load,
                    case: (*case).to_owned(),
                    store: Store::Postgres,
                    system: (*system).to_owned(),
                    kind: *kind,
                    figures: figures([(*figure, *value)]),
                }
            };
        Results {
            command: String::new(),
            date: String::new(),
            took_seconds: 77,
            runs: 1,
            machine: Machine::here(),
            failures: Vec::new(),
            samples: samples.iter().map(sample).collect(),
        }
    }

    #[test]
    fn results_are_read_as_they_were_written() -> Result<()> {
        let written = results(&[(
            Load::Pair,
            "",
            "dlock",
            Kind::Ours,
            "pair_p50_us",
            123.456_7,
        )]);
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("results/one.json");
        written.write(&path)?;
        let read = Results::read(&path)?;
        assert_eq!(
            serde_json::to_value(&read)?,
            serde_json::to_value(&written)?
        );
        assert_eq!(read.samples[0].figures["pair_p50_us"], 123.46);
        Ok(())
    }
}
