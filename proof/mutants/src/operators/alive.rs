//! `alive.toml`: the changes that no test notices, and why that is right.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Operator;

/// What the file says.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Alive {
    #[serde(default)]
    alive: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The titles of the changes.
    changes: Vec<String>,
    /// Why no test could notice them, or need to.
    #[expect(dead_code, reason = "for people")]
    why: String,
}

impl Alive {
    pub(super) fn listed() -> Self {
        let text = include_str!("../../alive.toml");
        toml::from_str(text).unwrap_or_else(|error| panic!("alive.toml: {error}"))
    }

    /// What lives and is not listed, and what is listed and does not live, of the titles that contain `only`. A
    /// function may contain several changes of one title.
    pub(super) fn complaints(&self, living: &[&Operator], only: &str) -> Vec<String> {
        let mut lives: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for operator in living {
            lives
                .entry(operator.title())
                .or_default()
                .push(&operator.name);
        }
        let mut complaints = Vec::new();
        let listed = self.alive.iter().flat_map(|entry| &entry.changes);
        for title in listed.filter(|title| title.contains(only)) {
            match lives.get_mut(title.as_str()).and_then(Vec::pop) {
                Some(_) => {}
                None => complaints.push(format!("listed in alive.toml, and noticed: {title}")),
            }
        }
        let unlisted = lives.values().flatten();
        complaints.extend(unlisted.map(|name| format!("noticed by no test: {name}")));
        complaints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operator(name: &str) -> Operator {
        let place = r#"{"line": 1, "column": 1}"#;
        serde_json::from_str(&format!(
            r#"{{"name": "{name}", "file": "a.rs", "replacement": "",
                "span": {{"start": {place}, "end": {place}}}}}"#
        ))
        .unwrap()
    }

    #[test]
    fn what_lives_must_be_listed_as_often_and_nothing_else() {
        let [first, second, other] = [
            "a.rs:3:9: replace + in f",
            "a.rs:4:9: replace + in f",
            "a.rs:5:1: other",
        ]
        .map(operator);
        let listed: Alive = toml::from_str(
            r#"[[alive]]
            changes = ["a.rs: replace + in f", "a.rs: gone", "b.rs: gone"]
            why = "x""#,
        )
        .unwrap();
        assert_eq!(
            listed.complaints(&[&first, &second, &other], "a.rs"),
            [
                "listed in alive.toml, and noticed: a.rs: gone",
                "noticed by no test: a.rs:5:1: other",
                "noticed by no test: a.rs:3:9: replace + in f",
            ]
        );
    }
}
