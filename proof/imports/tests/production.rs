//! No production crate has files, and the core no folders, that import each other in a circle.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use dlock_imports::Graph;

/// The roots of the production crates.
const ROOTS: &[&str] = &[
    "src/lib.rs",
    "dlock-blocking/src/lib.rs",
    "dlock-cas/src/lib.rs",
    "dlock-cli/src/lib.rs",
    "dlock-core/src/lib.rs",
    "dlock-dynamodb/src/lib.rs",
    "dlock-election/src/lib.rs",
    "dlock-etcd/src/lib.rs",
    "dlock-http/src/lib.rs",
    "dlock-kubernetes/src/lib.rs",
    "dlock-memory/src/lib.rs",
    "dlock-mysql/src/lib.rs",
    "dlock-nats/src/lib.rs",
    "dlock-object-store/src/lib.rs",
    "dlock-postgres/src/lib.rs",
    "dlock-redis/src/lib.rs",
    "dlock-server/src/lib.rs",
    "dlock-sqlite/src/lib.rs",
    "dlock-stores/src/lib.rs",
    "dlock-tasks/src/lib.rs",
];

fn read(root: &str) -> Graph {
    let root = workspace().join(root);
    Graph::of_crate(&root).unwrap_or_else(|why| panic!("{why}"))
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every cycle, with the files of it and what each imports from the next.
fn cycles(of: &str, graph: &Graph) -> String {
    let cycles = graph.cycles().into_iter();
    cycles
        .map(|cycle| format!("{of}, a cycle:\n{cycle}"))
        .collect()
}

#[test]
fn no_production_crate_has_an_import_cycle() {
    let found: String = ROOTS.iter().map(|root| cycles(root, &read(root))).collect();
    assert!(found.is_empty(), "\n{found}");
}

#[test]
fn folders_of_the_core_import_in_one_direction() {
    let folders = read("dlock-core/src/lib.rs").of_folders();
    assert!(
        folders.files().any(|folder| folder == "waiting"),
        "{folders}"
    );
    let found = cycles("the folders of dlock-core", &folders);
    assert!(found.is_empty(), "\n{found}");
}

/// A file that is not read could be part of any cycle.
#[test]
fn every_source_file_but_those_of_tests_is_read() {
    for root in ROOTS {
        let (graph, path) = (read(root), workspace().join(root));
        let folder = path.parent().unwrap();
        let mut files = Vec::new();
        list(folder, &mut files).unwrap();
        assert!(!files.is_empty(), "{root}");
        for file in files {
            let name = file.strip_prefix(folder).unwrap().to_str().unwrap();
            let is_read = graph.files().any(|read| read == name);
            let of_tests = name.split(['/', '.']).any(|part| part == "tests");
            let program = name == "main.rs";
            assert_ne!(is_read, of_tests || program, "{root}: {name}");
        }
        // The smallest crates have hardly any.
        assert!(
            graph.files().count() < 7 || graph.imports() > 10,
            "{root}:\n{graph}"
        );
    }
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
