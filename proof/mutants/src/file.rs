//! `mutants.toml` and `tasks.toml`: the bugs of the frontend and those of the queue, each with the checks that must fail.

use serde::Deserialize;

use crate::Edit;

/// All bugs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Mutants {
    /// In the order of the file.
    #[serde(rename = "bug")]
    pub bugs: Vec<Bug>,
}

/// One bug of the frontend, or of the queue.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Bug {
    /// The name that the matrix and `DLOCK_PLANT` use.
    pub name: String,
    /// The error that it plants, and the rule that forbids it.
    pub what: String,
    /// The case of the frontend that is played first; another one may fail instead.
    pub case: Option<String>,
    /// The seed of the simulation that is played first, if runs of it must show the bug.
    pub seed: Option<u64>,
    /// Whether the cancellation harness must fail.
    #[serde(default)]
    pub cancelling: bool,
    /// A wire case that must fail.
    pub wire: Option<String>,
    /// Whether it is a bug of the queue: then the queue's own simulation must reveal it.
    #[serde(skip)]
    pub of_queue: bool,
    /// The edits that make the bug.
    #[serde(rename = "edit")]
    pub edits: Vec<Edit>,
}

impl Mutants {
    /// Parses the text of the file.
    ///
    /// # Errors
    /// The error in the text, and its place.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// The bugs that the sources of this crate list.
    ///
    /// # Panics
    /// If the file is damaged.
    #[must_use]
    pub fn listed() -> Self {
        let parse =
            |file, text| Self::parse(text).unwrap_or_else(|error| panic!("{file}: {error}"));
        let frontend = parse("mutants.toml", include_str!("../mutants.toml"));
        let mut queue = parse("tasks.toml", include_str!("../tasks.toml"));
        for bug in &mut queue.bugs {
            bug.of_queue = true;
        }
        let bugs = frontend.bugs.into_iter().chain(queue.bugs).collect();
        Self { bugs }
    }
}
