//! What a run leaves behind: one sample for each thing measured in each run, raw, as JSON.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
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

    /// What several runs wrote, as one.
    pub(crate) fn together(paths: &[PathBuf]) -> Result<Self> {
        let mut all = paths.iter().map(|path| Self::read(path));
        let first = all.next().context("there are no results")??;
        all.try_fold(first, |results, more| results.and(more?))
    }

    /// This run and another; what was true of the first stands above both.
    fn and(mut self, other: Self) -> Result<Self> {
        let Self {
            command,
            began: _,
            took_seconds,
            machine,
            sizes,
            failures,
            samples,
        } = other;
        ensure!(
            self.machine.commit == machine.commit && self.sizes.runs == sizes.runs,
            "these results are of several commits, or were measured more and less often"
        );
        self.command = format!("{}; {command}", self.command);
        self.took_seconds += took_seconds;
        self.failures.extend(failures);
        self.samples.extend(samples);
        Ok(self)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn run(store: Store, commit: &str) -> Results {
        let machine = Machine {
            commit: commit.to_owned(),
            ..Machine::here()
        };
        Results {
            command: store.to_string(),
            began: 0,
            took_seconds: 7,
            machine,
            sizes: Sizes::quick(),
            failures: vec![format!("nothing of {store}")],
            samples: vec![Sample {
                run: 1,
                experiment: "uncontended".to_owned(),
                store,
                system: "dlock".to_owned(),
                case: String::new(),
                figures: Figures::new(),
            }],
        }
    }

    #[test]
    fn runs_of_one_commit_are_put_together() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let write = |name: &str, results: Results| -> Result<PathBuf> {
            let path = folder.path().join(name);
            results.write(&path)?;
            Ok(path)
        };
        let redis = write("redis", run(Store::Redis, "abc"))?;
        let postgres = write("postgres", run(Store::Postgres, "abc"))?;
        let later = write("later", run(Store::SQLite, "def"))?;
        let both = Results::together(&[redis.clone(), postgres])?;
        let stores: Vec<Store> = both.samples.iter().map(|sample| sample.store).collect();
        assert_eq!(stores, [Store::Redis, Store::Postgres]);
        assert_eq!((both.took_seconds, both.failures.len()), (14, 2));
        assert_eq!(both.command, "Redis; Postgres");
        assert!(Results::together(&[redis, later]).is_err());
        Ok(())
    }
}
