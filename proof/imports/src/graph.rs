//! The graph of imports, and its cycles.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fmt,
    path::Path,
};

use crate::{
    modules::{self, Module},
    resolve::Resolver,
};

/// Which file imports which, and what. Its text has one line for each.
#[derive(Clone, Debug, Default)]
pub struct Graph(BTreeMap<String, BTreeMap<String, BTreeSet<String>>>);

impl Graph {
    /// Reads a crate from its root, `lib.rs` or `main.rs`. Files are called by their paths below its folder.
    ///
    /// A file imports another one if it names what that one defines, whichever way it takes: a `use`
    /// declaration, a path in the code, in an attribute or among the arguments of a macro, and through
    /// any re-exports. A module may use what its parents define, of which it is a part: that is no
    /// import, and neither is anything in a test module.
    ///
    /// # Errors
    /// A file that is missing, or that is not Rust.
    pub fn of_crate(root: &Path) -> Result<Self, Box<dyn Error>> {
        let modules = modules::read(root)?;
        let mut resolver = Resolver::new(&modules);
        let mut graph = Self::default();
        for (number, module) in modules.iter().enumerate() {
            let imported = graph.0.entry(module.file.clone()).or_default();
            let own = lineage(&modules, module);
            for path in &module.paths {
                let (definers, name) = resolver.resolve(number, path);
                for definer in definers {
                    let file = &modules[definer].file;
                    if !own.contains(file.as_str()) {
                        let names = imported.entry(file.clone()).or_default();
                        names.insert(name.to_owned());
                    }
                }
            }
        }
        Ok(graph)
    }

    /// The files that were read.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// How many pairs of files there are of which one imports the other.
    #[must_use]
    pub fn imports(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }

    /// The same for the modules that the crate's root declares, each with its folder.
    #[must_use]
    pub fn of_folders(&self) -> Self {
        let folder = |file: &str| {
            let first = file.split('/').next().unwrap_or(file);
            first.trim_end_matches(".rs").to_owned()
        };
        let mut folders = Self::default();
        for (file, imported) in &self.0 {
            let from = folders.0.entry(folder(file)).or_default();
            for (other, names) in imported {
                if folder(other) != folder(file) {
                    let all = from.entry(folder(other)).or_default();
                    all.extend(names.iter().map(|name| format!("{name} in {file}")));
                }
            }
        }
        folders
    }

    /// The parts in which every file leads back to every other one.
    #[must_use]
    pub fn cycles(&self) -> Vec<Self> {
        let reached: BTreeMap<&str, BTreeSet<&str>> = self
            .files()
            .map(|file| (file, self.reached_from(file)))
            .collect();
        let mut seen = BTreeSet::new();
        let mut cycles = Vec::new();
        for file in self.files() {
            if !reached[file].contains(file) || seen.contains(file) {
                continue;
            }
            let members = reached[file].iter().copied();
            let members: BTreeSet<&str> = members
                .filter(|other| reached[other].contains(file))
                .collect();
            cycles.push(self.part(&members));
            seen.extend(members);
        }
        cycles
    }

    fn reached_from(&self, file: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut next = vec![file];
        while let Some(file) = next.pop() {
            for other in self.0.get(file).into_iter().flat_map(BTreeMap::keys) {
                if reached.insert(other.as_str()) {
                    next.push(other);
                }
            }
        }
        reached
    }

    fn part(&self, members: &BTreeSet<&str>) -> Self {
        let mut part = self.clone();
        part.0.retain(|file, _| members.contains(file.as_str()));
        for imported in part.0.values_mut() {
            imported.retain(|file, _| members.contains(file.as_str()));
        }
        part
    }
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (file, imported) in &self.0 {
            for (other, names) in imported {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                writeln!(f, "{file} -> {other}: {}", names.join(", "))?;
            }
        }
        Ok(())
    }
}

/// The files of a module and of those that it is a part of.
fn lineage<'a>(modules: &'a [Module], module: &'a Module) -> BTreeSet<&'a str> {
    let mut files = BTreeSet::new();
    let mut next = Some(module);
    while let Some(module) = next {
        files.insert(module.file.as_str());
        next = module.parent.map(|parent| &modules[parent]);
    }
    files
}
