//! What `cargo mutants` lists.

use std::{
    error::Error,
    path::{Path, PathBuf},
    process::Command,
};

use serde::{Deserialize, de::IgnoredAny};

/// One change of the sources.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Operator {
    /// File, place, and what is changed to what.
    pub name: String,
    /// Below the workspace.
    pub file: PathBuf,
    /// The text that is replaced.
    pub span: Span,
    /// What stands there instead.
    pub replacement: String,
    /// What it is in.
    pub(super) function: Option<IgnoredAny>,
}

/// From here to there, without the end.
#[derive(Clone, Copy, Debug, Deserialize)]
#[non_exhaustive]
pub struct Span {
    /// The first letter.
    pub start: Place,
    /// The one after the last.
    pub end: Place,
}

/// Both count from one; a column is a letter.
#[derive(Clone, Copy, Debug, Deserialize)]
#[non_exhaustive]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The letter of the line.
    pub column: usize,
}

impl Operator {
    /// Its name without line and column, which every other change moves.
    #[must_use]
    pub fn title(&self) -> String {
        let file = self.file.display().to_string();
        let rest = self.name.strip_prefix(&file).unwrap_or(&self.name);
        let what = rest.split_once(": ").map_or(rest, |(_, what)| what);
        format!("{file}: {what}")
    }
}

impl Place {
    /// Where it stands in the text.
    pub(super) fn offset(self, text: &str) -> Option<usize> {
        let line = text.split_inclusive('\n').nth(self.line.checked_sub(1)?)?;
        let before: usize = (text.split_inclusive('\n').take(self.line - 1))
            .map(str::len)
            .sum();
        let letters = line.char_indices().map(|(at, _)| at);
        let column = letters
            .chain([line.len()])
            .nth(self.column.checked_sub(1)?)?;
        Some(before + column)
    }
}

/// The changes of the files that `.cargo/mutants.toml` names.
pub(super) fn listed(workspace: &Path) -> Result<Vec<Operator>, Box<dyn Error>> {
    let listed = Command::new("cargo")
        .args(["mutants", "--list", "--json", "--package", "dlock-core"])
        .current_dir(workspace)
        .output()?;
    if !listed.status.success() {
        let said = String::from_utf8_lossy(&listed.stderr);
        return Err(format!(
            "`cargo mutants --list` failed: {said}\nInstall it: cargo install cargo-mutants --locked"
        )
        .into());
    }
    let mut operators: Vec<Operator> = serde_json::from_slice(&listed.stdout)?;
    // A constant asks no switch.
    operators.retain(|operator| operator.function.is_some());
    if operators.is_empty() {
        return Err("`cargo mutants` lists nothing: see .cargo/mutants.toml".into());
    }
    Ok(operators)
}
