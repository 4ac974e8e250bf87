//! The changes that `cargo mutants` lists, one operator, condition or result each, all in one copy of
//! the workspace: one build instead of one for each.

mod alive;
mod body;
mod compile;
mod list;
mod play;

use std::{error::Error, path::Path};

pub use self::{body::switched, list::Operator};
use crate::copy;

/// How the changes came out.
#[derive(Debug)]
#[non_exhaustive]
pub struct Tally {
    /// What `cargo mutants` lists.
    pub listed: usize,
    /// Those that do not compile.
    pub refused: usize,
    /// Those that a test noticed.
    pub noticed: usize,
    /// Those among them of which a test never ended.
    pub hung: usize,
    /// Those that no test noticed, and `alive.toml` says why.
    pub alive: usize,
    /// What is wrong: one that lives and is not listed, one that is listed and does not live.
    pub complaints: Vec<String>,
}

/// Lists the changes whose title contains `only`, builds the copy that contains those that compile, and plays
/// each.
///
/// # Errors
/// A command that fails, a file that cannot be read or written.
pub fn play(workspace: &Path, folder: &Path, only: &str) -> Result<Tally, Box<dyn Error>> {
    let mut operators = list::listed(workspace)?;
    operators.retain(|operator| operator.title().contains(only));
    if operators.is_empty() {
        return Err(format!("`cargo mutants` lists no change of {only}").into());
    }
    let mut kept: Vec<usize> = (0..operators.len()).collect();
    loop {
        let chosen: Vec<&Operator> = kept.iter().map(|&number| &operators[number]).collect();
        copy::write_planted(workspace, folder, |files| plant(files, &chosen))?;
        let broken = compile::broken(folder)?;
        if broken.is_empty() {
            break;
        }
        eprintln!("{} of {} do not compile", broken.len(), chosen.len());
        let mut position = 0..;
        kept.retain(|_| !broken.contains(&position.next().unwrap_or_default()));
    }
    let kept: Vec<&Operator> = kept.iter().map(|&number| &operators[number]).collect();
    let played = play::all(folder, &kept)?;
    let alive = alive::Alive::listed();
    let living: Vec<&Operator> = (kept.iter().zip(&played))
        .filter(|(_, end)| **end == play::End::Alive)
        .map(|(operator, _)| *operator)
        .collect();
    let ended = |end| played.iter().filter(|other| **other == end).count();
    Ok(Tally {
        listed: operators.len(),
        refused: operators.len() - kept.len(),
        noticed: ended(play::End::Noticed) + ended(play::End::Hung),
        hung: ended(play::End::Hung),
        alive: living.len(),
        complaints: alive.complaints(&living, only),
    })
}

/// Writes the changes into the files, and says what each is called.
fn plant(files: &mut copy::Files, operators: &[&Operator]) -> Result<Vec<String>, Box<dyn Error>> {
    let mut sources: Vec<&Path> = operators.iter().map(|one| one.file.as_path()).collect();
    sources.sort_unstable();
    sources.dedup();
    for source in sources {
        let content = files
            .get_mut(source)
            .ok_or_else(|| format!("there is no {}", source.display()))?;
        let of_file: Vec<(usize, &Operator)> = (operators.iter().copied().enumerate())
            .filter(|(_, one)| one.file == source)
            .collect();
        *content = switched(str::from_utf8(content)?, &of_file)?.into_bytes();
    }
    Ok((0..operators.len())
        .map(|number| number.to_string())
        .collect())
}
