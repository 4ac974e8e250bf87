//! `dlock-figures [PART..]`: repeats these parts, or all, and fills the pages; `dlock-figures fill` only
//! fills them.

use std::{env, error::Error, path::Path, process::ExitCode};

use dlock_figures::{PAGES, PARTS, repeat};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()?;
    let words: Vec<String> = env::args().skip(1).collect();
    let only_fill = words == ["fill"];
    let unknown = words
        .iter()
        .find(|word| PARTS.iter().all(|part| part.name != **word));
    if let (Some(unknown), false) = (unknown, only_fill) {
        let names = PARTS.map(|part| part.name).join(", ");
        return Err(format!("there is no part {unknown}; parts: {names}").into());
    }
    for part in &PARTS {
        let asked = words.is_empty() || words.iter().any(|word| word == part.name);
        if asked && !only_fill {
            repeat(&workspace, part)?;
        }
    }
    PAGES.iter().try_for_each(|page| page.fill(&workspace))
}
