//! What the packages of this workspace bring along, and what each published one says of itself.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use spdx::{Expression, Licensee, ParseMode};

/// The crates of AWS want a newer Rust than all others, and so does what cannot be built without them.
const AWS: [&str; 2] = ["aws-", "dlock-dynamodb"];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What cargo says of this workspace and of everything in its lock file.
fn metadata(options: &[&str]) -> Value {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "metadata",
        "--locked",
        "--all-features",
        "--format-version=1",
    ]);
    let said = cargo.args(options).current_dir(workspace()).output();
    let said = said.unwrap_or_else(|error| panic!("cargo does not start: {error}"));
    assert!(
        said.status.success(),
        "{}",
        String::from_utf8_lossy(&said.stderr)
    );
    serde_json::from_slice(&said.stdout).unwrap()
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().unwrap().iter()
}

fn text<'a>(package: &'a Value, field: &str) -> &'a str {
    package[field].as_str().unwrap_or_default()
}

/// The crates of this workspace that are for others.
fn published(metadata: &Value) -> Vec<&Value> {
    let published: Vec<_> = packages(metadata)
        .filter(|package| package["source"].is_null() && package["publish"].is_null())
        .collect();
    assert!(published.len() > 15, "{}", published.len());
    published
}

fn allowed() -> Vec<Licensee> {
    let text = fs::read_to_string(workspace().join("deny.toml")).unwrap();
    let list: toml::Table = text.parse().unwrap();
    let allowed = list["licenses"]["allow"].as_array().unwrap();
    let allowed = allowed.iter().map(|name| name.as_str().unwrap());
    allowed.map(|name| Licensee::parse(name).unwrap()).collect()
}

#[test]
fn licences_and_sources_are_those_of_deny_toml() {
    let metadata = metadata(&[]);
    let allowed = allowed();
    let mut used = BTreeSet::new();
    for package in packages(&metadata) {
        let name = text(package, "name");
        if package["source"].is_null() {
            continue;
        }
        assert!(
            text(package, "source").starts_with("registry+"),
            "{name} is not from a registry"
        );
        let licence = text(package, "license");
        let licence = Expression::parse_mode(licence, ParseMode::LAX)
            .unwrap_or_else(|error| panic!("the licence of {name}: {error}"));
        let is_allowed = licence.evaluate(|required| {
            let mut found = allowed.iter().filter(|known| known.satisfies(required));
            found
                .next()
                .inspect(|known| {
                    used.insert(known.to_string());
                })
                .is_some()
        });
        assert!(is_allowed, "{name}: {licence} is not in deny.toml");
    }
    for licence in allowed {
        assert!(
            used.contains(&licence.to_string()),
            "nothing needs {licence} any more: take it out of deny.toml"
        );
    }
}

/// A version of Rust, padded to three numbers.
fn rust(version: &str) -> Vec<u64> {
    let numbers = version.split('.').map(|number| number.parse().unwrap());
    let mut numbers: Vec<u64> = numbers.collect();
    numbers.resize(3, 0);
    numbers
}

/// Everything that a package is built of here, all its features on.
fn built_of<'a>(
    metadata: &'a Value,
    package: &'a Value,
    leaves_out: impl Fn(&str) -> bool,
) -> Vec<&'a Value> {
    let by_id: BTreeMap<_, _> = packages(metadata)
        .map(|package| (text(package, "id"), package))
        .collect();
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let nodes: BTreeMap<_, _> = nodes.iter().map(|node| (text(node, "id"), node)).collect();
    let mut found = BTreeSet::new();
    let mut open = vec![text(package, "id")];
    while let Some(id) = open.pop() {
        if leaves_out(text(by_id[id], "name")) || !found.insert(id) {
            continue;
        }
        let dependencies = nodes[id]["deps"].as_array().unwrap().iter();
        let built = dependencies.filter(|dependency| {
            let kinds = dependency["dep_kinds"].as_array().unwrap();
            kinds.iter().any(|kind| kind["kind"] != "dev")
        });
        open.extend(built.map(|dependency| text(dependency, "pkg")));
    }
    found.into_iter().map(|id| by_id[id]).collect()
}

/// Those that cargo refuses to build with the version of Rust that a crate declares.
#[test]
fn nothing_needs_a_newer_rust_than_what_it_is_built_into() {
    let metadata = metadata(&["--filter-platform=x86_64-unknown-linux-gnu"]);
    for package in published(&metadata) {
        let (name, declared) = (text(package, "name"), text(package, "rust_version"));
        let is_aws = |name: &str| AWS.iter().any(|begin| name.starts_with(begin));
        for part in built_of(&metadata, package, |part| is_aws(part) && !is_aws(name)) {
            let (part, needs) = (text(part, "name"), text(part, "rust_version"));
            assert!(
                needs.is_empty() || rust(needs) <= rust(declared),
                "{name} declares Rust {declared}, and {part} needs {needs}"
            );
        }
    }
}

#[test]
fn published_crates_say_what_they_are() {
    let metadata = metadata(&[]);
    for package in published(&metadata) {
        let name = text(package, "name");
        assert_eq!(text(package, "license"), "MIT OR Apache-2.0", "{name}");
        for field in ["description", "rust_version", "readme"] {
            assert!(!text(package, field).is_empty(), "{name} has no {field}");
        }
        for field in ["keywords", "categories"] {
            let count = package[field].as_array().unwrap().len();
            assert!((1..=5).contains(&count), "{name}: {count} {field}");
        }
        let folder = Path::new(text(package, "manifest_path")).parent().unwrap();
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let here = fs::read(folder.join(licence)).unwrap_or_default();
            let ours = fs::read(workspace().join(licence)).unwrap();
            assert!(here == ours, "{name} lacks {licence}");
        }
    }
}

/// The Rust sources of a target, by its first one.
fn sources(root: &Path) -> Vec<PathBuf> {
    let folder = root.parent().unwrap();
    let beside_a_library = root.ends_with("main.rs") && folder.join("lib.rs").exists();
    if beside_a_library || folder.ends_with("bin") {
        return vec![root.to_owned()];
    }
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// `test = false` spares the build of a program that runs nothing.
#[test]
fn targets_left_out_of_the_tests_have_none() {
    let metadata = metadata(&["--no-deps"]);
    let mut left_out = 0;
    for package in packages(&metadata) {
        for target in package["targets"].as_array().unwrap() {
            let is_bench = target["kind"][0] == "bench" || target["kind"][0] == "example";
            if is_bench || target["test"] == true {
                continue;
            }
            left_out += 1;
            for source in sources(Path::new(text(target, "src_path"))) {
                let code = fs::read_to_string(&source).unwrap();
                assert!(
                    !code.contains("cfg(test)"),
                    "{} has tests, and the target is not tested",
                    source.display()
                );
            }
        }
    }
    assert!(left_out > 10, "{left_out}");
}
