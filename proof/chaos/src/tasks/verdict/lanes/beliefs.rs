//! What the workers believed of tasks that have a lane or a queue with a limit.

use std::collections::BTreeMap;

use crate::tasks::{
    LIMIT, LIMITED,
    evidence::Evidence,
    ledger::Entry,
    note::{Note, What},
};

/// In what too many believed at the same time.
pub(super) fn broken(evidence: &Evidence, tasks: &BTreeMap<i64, &Entry>) -> Vec<String> {
    let mut lanes: BTreeMap<(&str, &str), Vec<Span>> = BTreeMap::new();
    let mut limited = Vec::new();
    for span in spans(&evidence.notes) {
        // Of tasks with neither there are no entries. One that is cancelled by force frees its lane at once, and its worker
        // learns that from its next heartbeat.
        let Some(entry) = tasks.get(&span.task) else {
            continue;
        };
        if evidence.cancelled.contains(&span.task) {
            continue;
        }
        if let Some(lane) = &entry.lane {
            lanes.entry((&entry.queue, lane)).or_default().push(span);
        }
        if entry.queue == LIMITED {
            limited.push(span);
        }
    }
    let lanes = lanes.into_iter().filter_map(|((queue, lane), spans)| {
        let crowd = crowd(spans, 1)?;
        Some(format!(
            "lane {lane} of {queue}: workers believe at the same time in {crowd}"
        ))
    });
    let limited = crowd(limited, LIMIT as usize).map(|crowd| {
        format!("the limit is {LIMIT}, and workers believe at the same time in {crowd}")
    });
    lanes.chain(limited).collect()
}

/// A claim, and between which instants of the host's clock its handler certainly believed in it.
#[derive(Clone, Copy)]
struct Span {
    task: i64,
    token: u64,
    from: u64,
    to: u64,
}

/// Those of all claims. A look lies between two instants: the later one of the first look, and the earlier one of the
/// last, so that no slack is needed.
fn spans(notes: &[Note]) -> Vec<Span> {
    let mut spans: BTreeMap<(i64, u64), Span> = BTreeMap::new();
    for note in notes {
        let What::Look { valid: true, to } = note.what else {
            continue;
        };
        let (task, token) = (note.task, note.token);
        let (from, to) = (to, note.t);
        let span = spans.entry((task, token));
        let span = span.or_insert(Span {
            task,
            token,
            from,
            to,
        });
        span.from = from.min(span.from);
        span.to = to.max(span.to);
    }
    spans
        .into_values()
        .filter(|span| span.from < span.to)
        .collect()
}

/// The claims that were believed in when more than so many were, if that was ever so.
fn crowd(mut spans: Vec<Span>, most: usize) -> Option<String> {
    spans.sort_by_key(|span| span.from);
    let mut open: Vec<Span> = Vec::new();
    for span in spans {
        open.retain(|other| other.to > span.from);
        open.push(span);
        if open.len() > most {
            let claims = open
                .iter()
                .map(|Span { task, token, .. }| format!("task {task} with token {token}"));
            return Some(claims.collect::<Vec<_>>().join(", "));
        }
    }
    None
}
