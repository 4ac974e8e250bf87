//! The graphs of small source trees.

use std::fs;

use crate::Graph;

/// Reads a crate of these files; `lib.rs` is one of them.
fn read(files: &[(&str, &str)]) -> Graph {
    let folder = tempfile::tempdir().unwrap();
    for (file, source) in files {
        let file = folder.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, source).unwrap();
    }
    Graph::of_crate(&folder.path().join("lib.rs")).unwrap()
}

/// The imports of a crate with the files `a.rs` and `b.rs`, and this root and `a.rs`.
fn imports(root: &str, a: &str) -> String {
    let b = "pub(crate) struct B; impl B { pub(crate) fn new() {} } pub(crate) mod inner { pub struct C; }";
    read(&[
        ("lib.rs", &format!("mod a; mod b; {root}")),
        ("a.rs", a),
        ("b.rs", b),
    ])
    .to_string()
    .lines()
    .filter(|line| line.starts_with("a.rs"))
    .collect::<Vec<_>>()
    .join("\n")
}

/// The cycle of two files of which the first imports the second like this.
fn cycle(root: &str, a: &str) -> String {
    let files = [
        ("lib.rs", format!("mod a; mod b; {root}")),
        ("a.rs", format!("pub struct A; {a}")),
        ("b.rs", "use crate::a::A; pub struct B(A);".to_owned()),
    ];
    let files = files
        .each_ref()
        .map(|(file, source)| (*file, source.as_str()));
    let cycles = read(&files).cycles();
    assert!(cycles.len() < 2, "{cycles:?}");
    cycles.iter().map(Graph::to_string).collect()
}

#[test]
fn cycles_are_found_whichever_way_they_take() {
    let found = "a.rs -> b.rs: B\nb.rs -> a.rs: A\n";
    for (way, root, a) in [
        ("a use", "", "use crate::b::B;"),
        ("another name", "", "use crate::{b::B as Other};"),
        ("a path", "", "fn f() { let _ = crate::b::B; }"),
        ("a type", "", "struct S(Vec<super::b::B>);"),
        ("a trait's path", "", "type T = <u8 as super::b::B>::Out;"),
        ("a use within a function", "", "fn f() { use crate::b::B; }"),
        ("a re-export", "pub use self::b::B;", "use crate::B;"),
        (
            "a re-export of a glob",
            "pub use b::*;",
            "fn f() -> crate::B {}",
        ),
        (
            "a re-export by another name",
            "pub use b::B as C; mod c { pub(crate) use super::C as B; }",
            "use crate::c::B;",
        ),
        (
            "arguments of a macro",
            "",
            "fn f() { tokio::select! { x = crate::b::B::new() => {} } }",
        ),
        (
            "a macro of ours",
            "",
            "macro_rules! m { () => { $crate::b::B } }",
        ),
        ("an attribute", "", "#[derive(crate::b::B)] struct S;"),
    ] {
        assert_eq!(cycle(root, a), found, "{way}");
    }
    let found = "a.rs -> b.rs: B, b\nb.rs -> a.rs: A\n";
    for (way, a) in [
        ("a module and a path", "use crate::b; fn f() { b::B; }"),
        ("a glob", "use super::b::*; struct S(B);"),
        (
            "a module for a macro",
            "use crate::b; fn f() { println!(\"{}\", b::B::new()) }",
        ),
        ("a use in a macro", "use super::b; m! { use b::{B}; }"),
    ] {
        assert_eq!(cycle("", a), found, "{way}");
    }
}

#[test]
fn imports_count_for_the_file_that_defines_the_item() {
    assert_eq!(imports("", "use crate::b::inner::C;"), "a.rs -> b.rs: C");
    assert_eq!(
        imports("use b::B;", "use super::*; fn f() { B::new() }"),
        "a.rs -> b.rs: B"
    );
    let files = [
        ("lib.rs", "mod a; mod f; pub use f::D;"),
        ("a.rs", "fn f() { crate::D::new() }"),
        ("f/mod.rs", "mod d; pub use self::d::D;"),
        ("f/d.rs", "pub struct D;"),
    ];
    let graph = read(&files).to_string();
    assert!(graph.contains("a.rs -> f/d.rs: D\n"), "{graph}");
}

#[test]
fn nothing_else_is_an_import() {
    for (what, root, a) in [
        (
            "of the parent",
            "pub struct Root;",
            "use crate::Root; fn f() { super::Root }",
        ),
        (
            "a test module",
            "",
            "#[cfg(test)] mod tests { use crate::b::B; }",
        ),
        (
            "a test's use",
            "",
            "#[cfg(all(unix, test))] use crate::b::B;",
        ),
        (
            "a test's function",
            "",
            "struct S; impl S { #[cfg(test)] fn f() { crate::b::B } }",
        ),
        (
            "another crate",
            "",
            "use b::B; use ::b::C; fn f() { ::b::g!() }",
        ),
        (
            "a variable",
            "",
            "fn f() { let b = 1; println!(\"{}\", b) }",
        ),
        (
            "a comment",
            "",
            "/// crate::b::B\n// crate::b::B\nfn f() { \"crate::b::B\" }",
        ),
        (
            "itself",
            "",
            "mod x { pub struct X; } use self::x::X; fn f() { x::X; crate::a::X }",
        ),
        (
            "a re-export of itself",
            "",
            "pub(crate) use self::b::b; mod b { pub(crate) fn b() {} }",
        ),
    ] {
        assert_eq!(imports(root, a), "", "{what}");
    }
}

#[test]
fn children_may_use_what_their_parents_define() {
    let graph = read(&[
        ("lib.rs", "mod a;"),
        ("a.rs", "mod c; use self::c::C; struct A;"),
        (
            "a/c.rs",
            "use super::A; pub(crate) struct C(A, crate::a::A);",
        ),
    ]);
    assert_eq!(graph.to_string(), "a.rs -> a/c.rs: C\n");
}

#[test]
fn files_are_found_where_the_compiler_finds_them() {
    let graph = read(&[
        (
            "lib.rs",
            "mod a; mod e { mod f; } #[cfg_attr(unix, path = \"other/x.rs\")] mod x; #[cfg(test)] mod tests;",
        ),
        ("a/mod.rs", "mod b;"),
        ("a/b.rs", "mod c;"),
        ("a/b/c.rs", "use crate::x::X;"),
        ("e/f.rs", ""),
        ("other/x.rs", "pub struct X;"),
        ("x.rs", "pub struct X;"),
    ]);
    let files: Vec<&str> = graph.files().collect();
    let all = [
        "a/b.rs",
        "a/b/c.rs",
        "a/mod.rs",
        "e/f.rs",
        "lib.rs",
        "other/x.rs",
        "x.rs",
    ];
    assert_eq!(files, all);
    // Whichever of the two is built.
    let imports = "a/b/c.rs -> other/x.rs: X\na/b/c.rs -> x.rs: X\n";
    assert!(graph.to_string().starts_with(imports), "{graph}");
}

#[test]
fn cycles_of_folders_name_the_files() {
    let graph = read(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "mod one; mod two;"),
        ("a/one.rs", "use crate::b::B;"),
        ("a/two.rs", "pub struct Two;"),
        ("b.rs", "pub struct B(crate::a::two::Two);"),
    ]);
    assert!(graph.cycles().is_empty(), "{graph}");
    let cycles: Vec<String> = graph
        .of_folders()
        .cycles()
        .iter()
        .map(Graph::to_string)
        .collect();
    assert_eq!(cycles, ["a -> b: B in a/one.rs\nb -> a: Two in b.rs\n"]);
}

#[test]
fn missing_and_broken_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("lib.rs");
    for (source, why) in [("mod gone;", "gone"), ("fn fn", "lib.rs: expected")] {
        fs::write(&root, source).unwrap();
        let error = Graph::of_crate(&root).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}
