//! `mutants.toml` and `tasks.toml`: the bugs of the frontend and those of the queue, and what catches them.

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
    /// What the matrix and `DLOCK_PLANT` call it.
    pub name: String,
    /// What goes wrong, and the rule that says so.
    pub what: String,
    /// The cases of the frontend that fail because of it, in one discipline at least: exactly these.
    #[serde(default)]
    pub cases: String,
    /// Cases that fail because of it now and then, as threads happen to run.
    #[serde(default)]
    pub by_chance: String,
    /// The rules of the simulation of which one is the first to be broken.
    #[serde(default)]
    pub rules: String,
    /// Of a bug of the queue, instead of `rules`: the rules of its own simulation of which one is the first to be
    /// broken.
    #[serde(default)]
    pub tasks: String,
    /// A seed that shows it, where that is not one of the first few.
    pub seed: Option<u64>,
    /// Instead of `rules`: why no run of the simulation shows it.
    pub unseen: Option<String>,
    /// What the cancellation harness says of it, if it is one of those that the harness must find.
    pub left_behind: Option<String>,
    /// Wire cases that fail because of it.
    #[serde(default)]
    pub wire: String,
    /// What makes the bug.
    #[serde(rename = "edit")]
    pub edits: Vec<Edit>,
}

impl Mutants {
    /// Reads the text of the file.
    ///
    /// # Errors
    /// What is wrong with the text, and where.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// The bugs that the sources of this crate list.
    ///
    /// # Panics
    /// If the file is damaged.
    #[must_use]
    pub fn listed() -> Self {
        let files = [
            ("mutants.toml", include_str!("../mutants.toml")),
            ("tasks.toml", include_str!("../tasks.toml")),
        ];
        let parsed = files.map(|(file, text)| {
            Self::parse(text).unwrap_or_else(|error| panic!("{file}: {error}"))
        });
        let bugs = parsed.into_iter().flat_map(|parsed| parsed.bugs).collect();
        Self { bugs }
    }
}
