//! Which changes do not compile.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use serde::Deserialize;

/// A line of `cargo check --message-format json`.
#[derive(Deserialize)]
struct Line {
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    level: String,
    rendered: Option<String>,
    #[serde(default)]
    spans: Vec<Span>,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    byte_start: usize,
    is_primary: bool,
    expansion: Option<Expansion>,
}

/// The macro call that a span stands in.
#[derive(Deserialize)]
struct Expansion {
    span: Box<Span>,
}

/// The numbers of the changes in which the compiler finds errors.
pub(super) fn broken(copy: &Path) -> Result<BTreeSet<usize>, Box<dyn Error>> {
    let checked = Command::new("cargo")
        .args(["check", "--locked", "--quiet", "--package", "dlock-core"])
        .args(["--all-features", "--message-format", "json"])
        .current_dir(copy)
        .env_remove("CARGO_TARGET_DIR")
        .stderr(Stdio::null())
        .output()?;
    let mut sources = BTreeMap::new();
    let mut broken = BTreeSet::new();
    let mut outside = String::new();
    for line in str::from_utf8(&checked.stdout)?.lines() {
        let Some(message) = serde_json::from_str::<Line>(line)?.message else {
            continue;
        };
        // The last one says how many there were, and has no place.
        if message.level != "error" || message.spans.is_empty() {
            continue;
        }
        let mut of_message = None;
        for span in message.spans.iter().filter(|span| span.is_primary) {
            of_message = of_message.or(changed_at(copy, span, &mut sources)?);
        }
        match of_message {
            Some(number) => drop(broken.insert(number)),
            None => outside += &message.rendered.unwrap_or_default(),
        }
    }
    if broken.is_empty() && !outside.is_empty() {
        return Err(format!("errors outside of all changes:\n{outside}").into());
    }
    if broken.is_empty() && !checked.status.success() {
        return Err("the copy does not compile".into());
    }
    Ok(broken)
}

/// The change that this place is in.
fn changed_at(
    copy: &Path,
    span: &Span,
    sources: &mut BTreeMap<String, String>,
) -> Result<Option<usize>, Box<dyn Error>> {
    let path = copy.join(&span.file_name);
    if path.is_file() {
        if !sources.contains_key(&span.file_name) {
            sources.insert(span.file_name.clone(), fs::read_to_string(path)?);
        }
        let found = enclosing(&sources[&span.file_name], span.byte_start);
        if found.is_some() {
            return Ok(found);
        }
    }
    match &span.expansion {
        Some(expansion) => changed_at(copy, &expansion.span, sources),
        None => Ok(None),
    }
}

/// The innermost change whose text has this place in it: the last one that began and has not ended.
fn enclosing(source: &str, at: usize) -> Option<usize> {
    let before = source.get(..at)?;
    let mut began = before.match_indices("<*/").collect::<Vec<_>>();
    while let Some((end, _)) = began.pop() {
        let number = before[..end].rsplit_once("/*")?.1;
        if !before.contains(&format!("/*>{number}*/")) {
            return number.parse().ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_is_in_the_change_that_began_last_and_goes_on() {
        let source = "a /*1<*/ b /*>1*/ c /*2<*/ d /*3<*/ e /*>3*/ f /*>2*/ g";
        let of = |letter| enclosing(source, source.find(letter).unwrap());
        assert_eq!(
            ["a", "b", "c", "d", "e", "f", "g"].map(of),
            [None, Some(1), None, Some(2), Some(3), Some(2), None]
        );
    }
}
