//! The modules of a crate, read from its files.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use syn::{Expr, ExprLit, Item, ItemMod, Lit, Meta, Token, punctuated::Punctuated};

use crate::collect::Collector;

/// A path as the code has it, one name each.
pub(crate) type Names = Vec<String>;

/// What one module contains. It is a file, or a part of one that stands in braces.
#[derive(Default)]
pub(crate) struct Module {
    /// Below the folder of the crate's root.
    pub(crate) file: String,
    pub(crate) parent: Option<usize>,
    /// A name has several if the configuration chooses between files.
    pub(crate) children: BTreeMap<String, Vec<usize>>,
    /// The names that it defines.
    pub(crate) items: BTreeSet<String>,
    /// The names that its `use` declarations bring in, and for what.
    pub(crate) uses: BTreeMap<String, Vec<Names>>,
    /// `use` declarations that end in `*`.
    pub(crate) globs: Vec<Names>,
    /// Every path in its code, those of `use` declarations included.
    pub(crate) paths: BTreeSet<Names>,
}

/// Reads the modules of a crate from its root, `lib.rs` or `main.rs`, which is the first of them.
pub(crate) fn read(root: &Path) -> Result<Vec<Module>, Box<dyn Error>> {
    let folder = root.parent().unwrap_or(Path::new(""));
    let mut reader = Reader {
        folder,
        modules: Vec::new(),
    };
    reader.file(root, None, folder)?;
    Ok(reader.modules)
}

struct Reader<'a> {
    folder: &'a Path,
    modules: Vec<Module>,
}

impl Reader<'_> {
    /// A file, and the modules that it declares: their files are in the folder `below`.
    fn file(
        &mut self,
        file: &Path,
        parent: Option<usize>,
        below: &Path,
    ) -> Result<usize, Box<dyn Error>> {
        let wrong = |why: &dyn Error| format!("{}: {why}", file.display());
        let text = fs::read_to_string(file).map_err(|error| wrong(&error))?;
        let source = syn::parse_file(&text).map_err(|error| wrong(&error))?;
        self.module(file, parent, &source.items, below)
    }

    fn module(
        &mut self,
        file: &Path,
        parent: Option<usize>,
        items: &[Item],
        below: &Path,
    ) -> Result<usize, Box<dyn Error>> {
        let (module, declared) = Collector::collect(items);
        let name = file.strip_prefix(self.folder)?.display().to_string();
        let number = self.modules.len();
        self.modules.push(Module {
            file: name.replace('\\', "/"),
            parent,
            ..module
        });
        for child in declared {
            let name = child.ident.to_string();
            let mut children = Vec::new();
            if let Some((_, items)) = &child.content {
                children.push(self.module(file, Some(number), items, &below.join(&name))?);
            }
            for (file, below) in files_of(child, file, below) {
                children.push(self.file(&file, Some(number), &below)?);
            }
            let same_name = self.modules[number].children.entry(name).or_default();
            same_name.extend(children);
        }
        Ok(number)
    }
}

/// The files that `mod x;` may mean, each with the folder of its own modules.
fn files_of(module: &ItemMod, declared_in: &Path, below: &Path) -> Vec<(PathBuf, PathBuf)> {
    if module.content.is_some() {
        return Vec::new();
    }
    let beside = declared_in.parent().unwrap_or(below);
    let mut files = Vec::new();
    let mut always = false;
    for attribute in &module.attrs {
        always |= attribute.path().is_ident("path");
        let chosen = path_of(&attribute.meta).map(|path| beside.join(path));
        files.extend(chosen.map(|file| (file.clone(), file.with_file_name(""))));
    }
    if !always {
        let folder = below.join(module.ident.to_string());
        let file = folder.with_extension("rs");
        let file = if file.exists() {
            file
        } else {
            folder.join("mod.rs")
        };
        files.push((file, folder));
    }
    files
}

/// What `#[path = ".."]` says, alone or within `cfg_attr`.
fn path_of(meta: &Meta) -> Option<String> {
    match meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(path),
                ..
            }) => Some(path.value()),
            _ => None,
        },
        Meta::List(list) if list.path.is_ident("cfg_attr") => list
            .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
            .ok()?
            .iter()
            .find_map(path_of),
        _ => None,
    }
}
