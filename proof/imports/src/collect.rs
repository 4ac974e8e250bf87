//! What the code of one module names and defines.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{
    Attribute, Ident, ImplItemFn, Item, ItemMod, ItemUse, Macro, Meta, MetaList, Path, Token,
    UseTree,
    punctuated::Punctuated,
    visit::{self, Visit},
};

use crate::modules::{Module, Names};

/// Walks over the code of one module. Modules within are left to the caller.
#[derive(Default)]
pub(crate) struct Collector<'a> {
    module: Module,
    declared: Vec<&'a ItemMod>,
}

impl<'a> Collector<'a> {
    /// The module, and the modules that it declares. What is built for tests only is left out.
    pub(crate) fn collect(items: &'a [Item]) -> (Module, Vec<&'a ItemMod>) {
        let mut collector = Self::default();
        for item in items {
            let (attributes, name) = head(item);
            let counts = !is_for_tests(attributes);
            let name = name.filter(|_| counts).map(Ident::to_string);
            collector.module.items.extend(name);
            collector.visit_item(item);
        }
        (collector.module, collector.declared)
    }

    fn import(&mut self, tree: &UseTree, mut path: Names) {
        let name = match tree {
            UseTree::Path(part) => {
                path.push(part.ident.to_string());
                return self.import(&part.tree, path);
            }
            UseTree::Group(group) => {
                let each = group.items.iter();
                return each.for_each(|tree| self.import(tree, path.clone()));
            }
            UseTree::Glob(_) => {
                self.module.globs.push(path.clone());
                self.module.paths.insert(path);
                return;
            }
            UseTree::Name(last) => {
                extend(&mut path, &last.ident);
                path.last().cloned()
            }
            UseTree::Rename(last) => {
                extend(&mut path, &last.ident);
                Some(last.rename.to_string())
            }
        };
        let name = name.unwrap_or_default();
        self.module.uses.entry(name).or_default().push(path.clone());
        self.module.paths.insert(path);
    }

    /// The arguments of a macro are its own language. What looks like a path in them is taken for one.
    fn tokens(&mut self, tokens: TokenStream, prefix: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.tokens(group.stream(), &[]),
                // The end of `<T as Trait>::Name`, or of a path into another crate.
                TokenTree::Ident(_)
                    if at > 1 && is_colon(&tokens[at - 1]) && is_colon(&tokens[at - 2]) => {}
                TokenTree::Ident(first) => {
                    let mut path = prefix.to_vec();
                    path.push(first.to_string());
                    while let [one, two, TokenTree::Ident(next), ..] = &tokens[at + 1..]
                        && is_colon(one)
                        && is_colon(two)
                    {
                        path.push(next.to_string());
                        at += 3;
                    }
                    match &tokens[at + 1..] {
                        [one, two, TokenTree::Group(group), ..]
                            if is_colon(one)
                                && is_colon(two)
                                && group.delimiter() == Delimiter::Brace =>
                        {
                            self.tokens(group.stream(), &path);
                            at += 3;
                        }
                        _ => drop(self.module.paths.insert(path)),
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }
}

impl<'a> Visit<'a> for Collector<'a> {
    fn visit_item(&mut self, item: &'a Item) {
        if !is_for_tests(head(item).0) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'a ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_mod(&mut self, module: &'a ItemMod) {
        self.declared.push(module);
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        if item.leading_colon.is_none() {
            self.import(&item.tree, Names::new());
        }
    }

    fn visit_path(&mut self, path: &'a Path) {
        if path.leading_colon.is_none() {
            let names = path.segments.iter().map(|part| part.ident.to_string());
            self.module.paths.insert(names.collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invoked: &'a Macro) {
        visit::visit_macro(self, invoked);
        self.tokens(invoked.tokens.clone(), &[]);
    }

    fn visit_meta_list(&mut self, list: &'a MetaList) {
        visit::visit_meta_list(self, list);
        self.tokens(list.tokens.clone(), &[]);
    }
}

/// Adds the last name of a `use`; `self` is what the path before it means.
fn extend(path: &mut Names, last: &Ident) {
    if last != "self" || path.is_empty() {
        path.push(last.to_string());
    }
}

fn is_colon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(mark) if mark.as_char() == ':')
}

/// The attributes of an item, and the name that it defines.
fn head(item: &Item) -> (&[Attribute], Option<&Ident>) {
    match item {
        Item::Const(item) => (&item.attrs, Some(&item.ident)),
        Item::Enum(item) => (&item.attrs, Some(&item.ident)),
        Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
        Item::Impl(item) => (&item.attrs, None),
        Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
        Item::Mod(item) => (&item.attrs, None),
        Item::Static(item) => (&item.attrs, Some(&item.ident)),
        Item::Struct(item) => (&item.attrs, Some(&item.ident)),
        Item::Trait(item) => (&item.attrs, Some(&item.ident)),
        Item::Type(item) => (&item.attrs, Some(&item.ident)),
        Item::Union(item) => (&item.attrs, Some(&item.ident)),
        Item::Use(item) => (&item.attrs, None),
        _ => (&[], None),
    }
}

/// Whether it is in no build but those of tests: `cfg(test)`, or `cfg(all(.., test))`.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    let needs_test =
        |attribute: &Attribute| attribute.path().is_ident("cfg") && asks_for_test(&attribute.meta);
    attributes.iter().any(needs_test)
}

fn asks_for_test(meta: &Meta) -> bool {
    match meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") || list.path.is_ident("all") => list
            .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
            .is_ok_and(|all| all.iter().any(asks_for_test)),
        _ => false,
    }
}
