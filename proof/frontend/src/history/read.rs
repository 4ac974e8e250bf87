//! Reads histories back, from files that may end in the middle of a line.

use std::{
    fs,
    io::{self, BufRead as _, BufReader},
    path::Path,
};

use super::{Line, What};

/// The reason why a kept history could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The file could not be read.
    Io(io::Error),
    /// A line that is not the last is not a line of a history.
    Line {
        /// Its number, counted from 1.
        number: usize,
        /// The error in it.
        error: serde_json::Error,
    },
}

/// Reads a history. A torn last line, whose process was killed while it wrote, is left out.
///
/// # Errors
/// [`ReadError`]; lines torn in the middle of a file are errors, since their contents are unknown.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<Line>, ReadError> {
    let mut file = BufReader::new(fs::File::open(path)?);
    let mut lines = Vec::new();
    let mut text = Vec::new();
    for number in 1.. {
        text.clear();
        if file.read_until(b'\n', &mut text)? == 0 {
            break;
        }
        if text.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice(&text) {
            Ok(line) => lines.push(line),
            // Only a line that was cut off has no end.
            Err(_) if text.last() != Some(&b'\n') => {}
            Err(error) => return Err(ReadError::Line { number, error }),
        }
    }
    Ok(lines)
}

/// Reads the files that the processes of one run wrote, each its own, into one history. One of them has the header.
///
/// # Errors
/// As for [`read`].
pub fn read_all<P: AsRef<Path>>(
    paths: impl IntoIterator<Item = P>,
) -> Result<Vec<Line>, ReadError> {
    let mut lines = Vec::new();
    for path in paths {
        lines.extend(read(path)?);
    }
    lines.sort_by_key(|line| (!matches!(line.what, What::Header(_)), line.t));
    Ok(lines)
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(_) => f.write_str("the history cannot be read"),
            Self::Line { number, .. } => write!(f, "line {number} is not a line of a history"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Line { error, .. } => Some(error),
        }
    }
}
