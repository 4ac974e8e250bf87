//! The workers' beliefs about tasks that have a lane or a queue with a limit.

use std::collections::BTreeMap;

use crate::tasks::{
    LIMIT, LIMITED,
    evidence::Evidence,
    ledger::Entry,
    note::{Note, What},
};

/// The lanes and queues in which too many claims were believed in at the same time.
pub(super) fn broken(evidence: &Evidence, tasks: &BTreeMap<i64, &Entry>) -> Vec<String> {
    let mut lanes: BTreeMap<(&str, &str), Vec<Span>> = BTreeMap::new();
    let mut limited = Vec::new();
    for span in spans(&evidence.notes) {
        // Tasks with neither have no entries. A task that is cancelled by force frees its lane at once, and its worker
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

/// A claim, and the instants of the host's clock between which its handler certainly believed in it.
#[derive(Clone, Copy)]
struct Span {
    task: i64,
    token: u64,
    from: u64,
    to: u64,
}

/// The spans of all claims. A check lies between two instants: the span is from the later one of the first check to the
/// earlier one of the last, so that no slack is needed.
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

/// The claims that were believed in at an instant when more than `most` were, if there was one.
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
