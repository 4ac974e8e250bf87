//! `mutants.toml`: the bugs and what catches them.

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

/// One bug of the frontend.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Bug {
    /// What the matrix and `DLOCK_PLANT` call it.
    pub name: String,
    /// What goes wrong, and the rule that says so.
    pub what: String,
    /// The cases of the frontend that fail because of it, in one discipline at least: exactly these.
    pub cases: String,
    /// The rules of the simulation of which one is the first to be broken.
    #[serde(default)]
    pub rules: String,
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
        Self::parse(include_str!("../mutants.toml"))
            .unwrap_or_else(|error| panic!("mutants.toml: {error}"))
    }
}
