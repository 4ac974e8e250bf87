//! The tables of a run in a document, in the place of those that stand there.

#[cfg(test)]
mod tests;

use anyhow::{Context as _, Result};

use super::{head, render_locks};
use crate::{
    check, foreign, http,
    medians::Medians,
    results::{Parts, Results},
    summary, tasks,
};

/// Between these lines of a document stand the tables of a run: what readers look for first, those of locks, those of the
/// queue, those of servers, and those of locks of other languages.
const SUMMARY: [&str; 2] = [
    "<!-- what to expect: begin -->\n",
    "<!-- what to expect: end -->\n",
];
const LOCKS: [&str; 2] = ["<!-- figures: begin -->\n", "<!-- figures: end -->\n"];
const QUEUE: [&str; 2] = [
    "<!-- figures of the queue: begin -->\n",
    "<!-- figures of the queue: end -->\n",
];
const SERVERS: [&str; 2] = [
    "<!-- figures over HTTP: begin -->\n",
    "<!-- figures over HTTP: end -->\n",
];

const FOREIGN: [&str; 2] = [
    "<!-- figures beside other languages: begin -->\n",
    "<!-- figures beside other languages: end -->\n",
];

/// The document with the tables of this run in place of those that it has; what was not measured stays.
pub(crate) fn insert(results: &Results, document: &str) -> Result<String> {
    let Parts {
        locks,
        queues,
        servers,
    } = results.parts();
    let mut document = document.to_owned();
    if locks {
        let summary = summary::render(&Medians::of(results));
        document = between(SUMMARY, &document, &format!("{}\n{summary}", head(results)))?;
        let (tables, check) = (render_locks(results), check::render_locks(results));
        document = between(LOCKS, &document, &format!("{tables}{check}"))?;
    }
    if queues {
        let head = head(results);
        let (tables, check) = (
            tasks::report::render(results),
            check::render_queues(results),
        );
        document = between(QUEUE, &document, &format!("{head}{tables}{check}"))?;
    }
    if servers {
        let head = head(results);
        let (tables, check) = (
            http::report::render(results),
            check::render_servers(results),
        );
        document = between(SERVERS, &document, &format!("{head}{tables}{check}"))?;
    }
    if results.has_foreign() {
        let (head, tables) = (head(results), foreign::report::render(results));
        document = between(FOREIGN, &document, &format!("{head}{tables}"))?;
    }
    Ok(document)
}

fn between([begin, end]: [&str; 2], document: &str, text: &str) -> Result<String> {
    let place = || {
        format!(
            "the document has no place for figures: {}",
            begin.trim_end()
        )
    };
    let (before, rest) = document.split_once(begin).with_context(place)?;
    let (_, after) = rest.split_once(end).with_context(place)?;
    Ok(format!("{before}{begin}\n{text}\n{end}{after}"))
}
