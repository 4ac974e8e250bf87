//! The copy of the workspace that contains the bugs.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fs, io,
    path::{Path, PathBuf},
};

use crate::{Edit, Mutants, apply};

/// The crate whose copy knows which bug is on.
const MUTATED: &str = "dlock-core";

/// The other crates whose copies get bugs, and query the first.
const OTHERS: [&str; 2] = ["layers/several", "layers/tasks"];

/// The matrix calls functions that exist only in the copy. So it is where cargo does not look for it, except in the
/// copy.
const MATRIX: (&str, &str) = ("proof/mutants/matrix", "proof/mutants/examples/matrix");

/// Copies the workspace into a folder, with the bugs in `dlock-core`. Files that are the same already
/// are left alone, so that cargo builds only what has changed.
///
/// # Errors
/// An edit that cannot be made, with its bug; a file that cannot be read or written.
pub fn write_copy(
    workspace: &Path,
    folder: &Path,
    mutants: &Mutants,
) -> Result<(), Box<dyn Error>> {
    let mut files = BTreeMap::new();
    read(workspace, Path::new(""), &mut files)?;
    let names = plant(&mut files, mutants)?;
    add_switches(&mut files, &names)?;
    fs::create_dir_all(folder)?;
    for (path, content) in &files {
        let path = folder.join(path);
        if fs::read(&path).is_ok_and(|old| old == *content) {
            continue;
        }
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, content)?;
    }
    let mut old = BTreeMap::new();
    read(folder, Path::new(""), &mut old)?;
    let now: BTreeSet<&PathBuf> = files.keys().collect();
    for path in old.keys().filter(|path| !now.contains(path)) {
        fs::remove_file(folder.join(path))?;
    }
    Ok(())
}

/// Path below the workspace.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Every file below a folder except the build output of cargo and git's files.
fn read(root: &Path, below: &Path, files: &mut Files) -> io::Result<()> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let name = entry.file_name();
        if name == "target" || name == ".git" {
            continue;
        }
        let path = below.join(name);
        if entry.file_type()?.is_dir() {
            read(root, &path, files)?;
        } else {
            let content = fs::read(entry.path())?;
            let path = match path.strip_prefix(MATRIX.0) {
                Ok(program) => Path::new(MATRIX.1).join(program),
                Err(_) => path,
            };
            files.insert(path, content);
        }
    }
    Ok(())
}

/// Writes the bugs into the files, with the name of each.
fn plant(files: &mut Files, mutants: &Mutants) -> Result<Vec<String>, Box<dyn Error>> {
    let mut edits: BTreeMap<(&str, &str), Vec<(usize, &Edit)>> = BTreeMap::new();
    for (number, bug) in mutants.bugs.iter().enumerate() {
        for edit in &bug.edits {
            let file = (&*edit.folder, &*edit.file);
            edits.entry(file).or_default().push((number, edit));
        }
    }
    let mut wrong = Vec::new();
    for ((package, file), edits) in edits {
        let path = Path::new(package).join("src").join(file);
        let content = files
            .get_mut(&path)
            .ok_or_else(|| format!("a bug names {file}, which {package} does not have"))?;
        match apply(str::from_utf8(content)?, &edits) {
            Ok(mutated) => *content = mutated.into_bytes(),
            Err((bug, refused)) => {
                let bug = &mutants.bugs[bug].name;
                wrong.push(format!("{bug}: in {file}, what it edits {refused}"));
            }
        }
    }
    if !wrong.is_empty() {
        return Err(wrong.join("\n").into());
    }
    Ok(mutants.bugs.iter().map(|bug| bug.name.clone()).collect())
}

/// The module that knows which bug is on.
fn add_switches(files: &mut Files, names: &[String]) -> Result<(), Box<dyn Error>> {
    let sources = Path::new(MUTATED).join("src");
    let asks = "mod planted {\n    pub(crate) use dlock_core::is_planted as is_on;\n}";
    let own = "mod planted;\n#[doc(hidden)]\npub use self::planted::{is_on as is_planted, plant};";
    for (package, module) in OTHERS
        .map(|other| (other, asks))
        .into_iter()
        .chain([(MUTATED, own)])
    {
        let root = files
            .get_mut(&Path::new(package).join("src/lib.rs"))
            .ok_or_else(|| format!("{package} has no lib.rs"))?;
        // Code that a bug leaves unused is no mistake.
        let source = str::from_utf8(root)?;
        let with_switches = format!("#![allow(warnings, clippy::all)]\n{source}\n{module}\n");
        *root = with_switches.into_bytes();
    }
    let switches = format!(
        "const NAMES: &[&str] = &{names:?};\n{}",
        include_str!("switches.rs.in")
    );
    files.insert(sources.join("planted.rs"), switches.into_bytes());
    Ok(())
}
