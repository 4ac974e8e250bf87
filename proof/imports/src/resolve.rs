//! Which module defines what a path names.

use std::collections::BTreeSet;

use crate::modules::Module;

/// What a path may name: it can be a module and an item at once.
#[derive(Default)]
struct Found {
    modules: BTreeSet<usize>,
    /// The modules that define the item.
    definers: BTreeSet<usize>,
}

impl Found {
    fn is_empty(&self) -> bool {
        self.modules.is_empty() && self.definers.is_empty()
    }

    fn add(&mut self, other: Self) {
        self.modules.extend(other.modules);
        self.definers.extend(other.definers);
    }
}

/// Follows paths, through all re-exports.
pub(crate) struct Resolver<'a> {
    modules: &'a [Module],
    /// The names that are being looked up: a re-export may name itself.
    open: Vec<(usize, String)>,
}

impl<'a> Resolver<'a> {
    pub(crate) const fn new(modules: &'a [Module]) -> Self {
        Self {
            modules,
            open: Vec::new(),
        }
    }

    /// The modules that define what a path in this module names, and the name that they define.
    /// What other crates define has none.
    pub(crate) fn resolve(
        &mut self,
        from: usize,
        path: &'a [String],
    ) -> (BTreeSet<usize>, &'a str) {
        let (mut found, used) = self.follow(from, path);
        // A variable may be called like a module; a module by itself says nothing.
        if path.len() > 1 {
            found.definers.append(&mut found.modules);
        }
        let name = path.get(used.saturating_sub(1)).map_or("", String::as_str);
        (found.definers, name)
    }

    /// What it names, and how many of its parts that took: `Name::new` ends at `Name`.
    fn follow(&mut self, from: usize, path: &[String]) -> (Found, usize) {
        let mut here = BTreeSet::from([from]);
        for (at, name) in path.iter().enumerate() {
            match name.as_str() {
                "crate" => here = BTreeSet::from([0]),
                "self" => {}
                "super" => {
                    let parents = here
                        .iter()
                        .filter_map(|&module| self.modules[module].parent);
                    here = parents.collect();
                }
                name => {
                    let mut found = Found::default();
                    for &module in &here {
                        found.add(self.look_up(module, name));
                    }
                    if found.is_empty() && at > 0 {
                        // A macro may have made it there.
                        found.definers = here;
                    }
                    if found.modules.is_empty() || at + 1 == path.len() {
                        return (found, at + 1);
                    }
                    here = found.modules;
                }
            }
        }
        let found = Found {
            modules: here,
            definers: BTreeSet::new(),
        };
        (found, path.len())
    }

    fn look_up(&mut self, module: usize, name: &str) -> Found {
        let modules = self.modules;
        let contents = &modules[module];
        let mut found = Found::default();
        found
            .modules
            .extend(contents.children.get(name).into_iter().flatten());
        if contents.items.contains(name) {
            found.definers.insert(module);
        }
        let entry = (module, name.to_owned());
        if self.open.contains(&entry) {
            return found;
        }
        self.open.push(entry);
        for path in contents.uses.get(name).into_iter().flatten() {
            let (mut meant, _) = self.follow(module, path);
            if meant.is_empty() {
                // Of another crate. Who takes it from here depends on here.
                meant.definers.insert(module);
            }
            found.add(meant);
        }
        if found.is_empty() {
            for path in &contents.globs {
                for all_of in self.follow(module, path).0.modules {
                    found.add(self.look_up(all_of, name));
                }
            }
        }
        self.open.pop();
        found
    }
}
