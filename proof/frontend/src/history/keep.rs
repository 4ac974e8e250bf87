//! Keeps a history that shows a failure, for inspection.

use std::{
    fmt, fs,
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
};

use super::{
    Line, What,
    checker::{Report, check},
};

/// A history that was kept, and where it is.
#[derive(Debug)]
#[non_exhaustive]
pub struct Kept {
    /// The lines.
    pub history: PathBuf,
    /// The findings of a check of them.
    pub report: Report,
    /// How to repeat the run, from its header.
    repeat: Vec<String>,
}

/// Writes a history into a folder, which is created if it does not exist. `name` becomes part of the file's name.
///
/// The [`Kept`] displays as a failure report: the seed, the command that repeats the run, the broken invariants, and
/// the path.
///
/// # Errors
/// If the file cannot be written.
pub fn keep(folder: impl AsRef<Path>, name: &str, lines: &[Line]) -> io::Result<Kept> {
    let folder = folder.as_ref();
    fs::create_dir_all(folder)?;
    let safe = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let name: String = name
        .chars()
        .map(|letter| if safe(letter) { letter } else { '-' })
        .collect();
    let history = folder.join(format!("{name}.jsonl"));
    write(&history, lines)?;
    let report = check(lines);
    Ok(Kept {
        history,
        report,
        repeat: repeat(lines),
    })
}

/// The folder for kept histories: `DLOCK_HISTORIES` if that is set, else `dlock-histories` in the
/// folder for temporary files.
#[must_use]
pub fn folder() -> PathBuf {
    std::env::var_os("DLOCK_HISTORIES").map_or_else(
        || std::env::temp_dir().join("dlock-histories"),
        PathBuf::from,
    )
}

/// Writes a history to a file, a line for each line.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: impl AsRef<Path>, lines: &[Line]) -> io::Result<()> {
    let mut file = BufWriter::new(fs::File::create(path)?);
    for line in lines {
        writeln!(file, "{line}")?;
    }
    file.flush()
}

fn repeat(lines: &[Line]) -> Vec<String> {
    let mut repeat = Vec::new();
    if let Some(What::Header(header)) = lines.first().map(|line| &line.what) {
        repeat.extend(header.seed.map(|seed| format!("seed: {seed}")));
        if !header.command.is_empty() {
            repeat.push(format!("repeat: {}", header.command));
        }
    }
    repeat
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            history,
            report,
            repeat,
        } = self;
        for line in repeat {
            writeln!(f, "{line}")?;
        }
        writeln!(f, "{report}")?;
        write!(f, "history: {}", history.display())
    }
}
