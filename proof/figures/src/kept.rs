//! What a part printed when it was last repeated.

use std::{error::Error, fs, path::Path};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::Part;

/// The data of one part.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Kept {
    /// The commit whose code was run.
    pub commit: String,
    /// The day, in UTC.
    pub date: String,
    /// How long it took, builds included.
    pub minutes: u64,
    /// What the commands printed, line by line.
    pub figures: Vec<Value>,
}

impl Kept {
    /// Reads the data of a part; `None` if it has never been repeated.
    ///
    /// # Errors
    /// Its file cannot be read, or is damaged.
    pub fn read(workspace: &Path, part: &str) -> Result<Option<Self>, Box<dyn Error>> {
        let path = workspace.join(file(part));
        if !path.exists() {
            return Ok(None);
        }
        let kept = serde_json::from_str(&fs::read_to_string(&path)?);
        Ok(Some(
            kept.map_err(|error| format!("{}: {error}", path.display()))?,
        ))
    }

    /// Writes them.
    pub(crate) fn write(&self, workspace: &Path, part: &Part) -> Result<(), Box<dyn Error>> {
        let text = serde_json::to_string_pretty(self)?;
        Ok(fs::write(workspace.join(file(part.name)), text + "\n")?)
    }

    /// The lines as what they are.
    pub(crate) fn lines<T: DeserializeOwned>(&self) -> Result<Vec<T>, Box<dyn Error>> {
        let lines = self.figures.iter().cloned().map(serde_json::from_value);
        Ok(lines.collect::<Result<_, _>>()?)
    }

    /// The only line as what it is.
    pub(crate) fn line<T: DeserializeOwned>(&self) -> Result<T, Box<dyn Error>> {
        let mut lines = self.lines()?;
        match (lines.pop(), lines.len()) {
            (Some(line), 0) => Ok(line),
            _ => Err(format!("{} lines of figures, and not one", self.figures.len()).into()),
        }
    }
}

fn file(part: &str) -> String {
    format!("proof/figures/data/{part}.json")
}
