//! What a run leaves behind: one sample for each thing measured in each run, raw, as JSON.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::{foreign, http, machine::Machine, sizes::Sizes, systems::Store, tasks};

/// Everything that was measured.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Results {
    /// The command line.
    pub(crate) command: String,
    /// When it began, in seconds since 1970.
    pub(crate) began: u64,
    pub(crate) took_seconds: u64,
    pub(crate) machine: Machine,
    pub(crate) sizes: Sizes,
    /// What could not be measured, and why.
    pub(crate) failures: Vec<String>,
    pub(crate) samples: Vec<Sample>,
}

/// One system under one load in one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// 1 and up; 0 for what is measured once.
    pub(crate) run: u32,
    pub(crate) experiment: String,
    pub(crate) store: Store,
    pub(crate) system: String,
    /// The load: `8 processes, 5 ms`. Empty where an experiment has one only.
    pub(crate) case: String,
    pub(crate) figures: Figures,
}

/// What a run measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// Also if it measured nothing.
    pub(crate) locks: bool,
    pub(crate) queues: bool,
    pub(crate) servers: bool,
}

/// Numbers by name; the name ends with the unit.
pub(crate) type Figures = BTreeMap<String, f64>;

impl Results {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_slice(&text)
            .with_context(|| format!("{} holds no results", path.display()))
    }

    pub(crate) fn parts(&self) -> Parts {
        let has = |is_one: fn(&str) -> bool| {
            let mut samples = self.samples.iter();
            samples.any(|sample| is_one(&sample.experiment))
        };
        let (queues, servers) = (has(tasks::report::is_of_a_queue), has(http::is_of_servers));
        let others = |name: &str| {
            !tasks::report::is_of_a_queue(name)
                && !http::is_of_servers(name)
                && !foreign::report::is_foreign(name)
        };
        Parts {
            locks: has(others) || !(queues || servers || self.has_foreign()),
            queues,
            servers,
        }
    }

    /// Whether locks of other languages were measured.
    pub(crate) fn has_foreign(&self) -> bool {
        let mut samples = self.samples.iter();
        samples.any(|sample| foreign::report::is_foreign(&sample.experiment))
    }

    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        // A line for each sample: diffs stay readable.
        let mut text = String::from("{\n");
        let head = [
            ("command", serde_json::to_string(&self.command)?),
            ("began", self.began.to_string()),
            ("took_seconds", self.took_seconds.to_string()),
            ("machine", serde_json::to_string(&self.machine)?),
            ("sizes", serde_json::to_string(&self.sizes)?),
            ("failures", serde_json::to_string(&self.failures)?),
        ];
        for (key, value) in head {
            text.push_str(&format!("\"{key}\": {value},\n"));
        }
        let samples: Result<Vec<String>, _> =
            self.samples.iter().map(serde_json::to_string).collect();
        text.push_str(&format!("\"samples\": [\n{}\n]}}\n", samples?.join(",\n")));
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Figures from pairs.
pub(crate) fn figures<const N: usize>(pairs: [(&str, f64); N]) -> Figures {
    pairs
        .into_iter()
        // JSON has no number for "never".
        .filter(|(_, value)| value.is_finite())
        .map(|(name, value)| (name.to_owned(), round(value)))
        .collect()
}

/// Four significant digits are more than a repeat of the run would confirm.
fn round(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let scale = 10_f64.powi(5 - value.abs().log10().ceil() as i32);
    (value * scale).round() / scale
}
