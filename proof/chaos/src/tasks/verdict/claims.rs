//! The rules for the claims of each task, as their workers saw them.

use std::collections::BTreeMap;

use crate::tasks::{
    evidence::Evidence,
    note::{Note, What},
};

/// A handler that is still polled that often after it has seen that its claim is lost was not dropped (J2). Its
/// worker needs one turn for that, so no machine is too slow.
const TURNS: u32 = 10;

/// The violations, in words.
pub(super) fn broken(evidence: &Evidence) -> Vec<String> {
    let mut of_task: BTreeMap<i64, Vec<&Note>> = BTreeMap::new();
    for note in evidence.notes.iter().filter(|note| note.task != 0) {
        of_task.entry(note.task).or_default().push(note);
    }
    let mut wrong = Vec::new();
    for (task, notes) in of_task {
        let rules = [twice, beliefs, attempts, checkpoints, goes_on];
        let broken = rules.iter().filter_map(|rule| rule(&notes));
        wrong.extend(broken.map(|what| format!("task {task}: {what}")));
    }
    wrong
}

/// One claim has one handler.
fn twice(notes: &[&Note]) -> Option<String> {
    let mut begun: BTreeMap<u64, &str> = BTreeMap::new();
    notes.iter().find_map(|note| {
        let What::Began { .. } = note.what else {
            return None;
        };
        let before = begun.insert(note.token, &note.process)?;
        let (token, process) = (note.token, &note.process);
        Some(format!(
            "the claim with token {token} has a handler in {before} and another in {process}"
        ))
    })
}

/// I6: no handler believes in a claim when a later one is believed in. A check lies between two instants: the earliest
/// of the one is compared with the latest of the other, so that no slack is needed.
fn beliefs(notes: &[&Note]) -> Option<String> {
    let valid = || {
        notes.iter().filter_map(|note| match note.what {
            What::Look { valid: true, to } => Some((note, to)),
            _ => None,
        })
    };
    // By token: an instant at which it had certainly been granted.
    let mut granted: BTreeMap<u64, u64> = BTreeMap::new();
    for (note, to) in valid() {
        let first = granted.entry(note.token).or_insert(to);
        *first = to.min(*first);
    }
    valid().find_map(|(note, _)| {
        let mut later = granted.range(note.token + 1..);
        let (token, _) = later.find(|(_, granted)| **granted < note.t)?;
        let (old, process) = (note.token, &note.process);
        Some(format!(
            "{process} believes in token {old} after a handler believed in token {token}"
        ))
    })
}

/// A later claim is not an earlier attempt.
fn attempts(notes: &[&Note]) -> Option<String> {
    let mut by_token: Vec<(u64, u32)> = notes
        .iter()
        .filter_map(|note| match note.what {
            What::Began { attempt, .. } => Some((note.token, attempt)),
            _ => None,
        })
        .collect();
    by_token.sort_unstable();
    by_token.windows(2).find_map(|pair| {
        let [(old, before), (token, attempt)] = [pair[0], pair[1]];
        (attempt < before).then(|| {
            format!("attempt {attempt} with token {token} after attempt {before} with {old}")
        })
    })
}

/// A later claim finds the checkpoint that an earlier one has left.
fn checkpoints(notes: &[&Note]) -> Option<String> {
    notes.iter().find_map(|note| {
        let What::Began { found, .. } = note.what else {
            return None;
        };
        let kept = notes.iter().filter_map(|before| match before.what {
            What::Kept { step } if before.token < note.token => Some(step),
            _ => None,
        });
        let most = kept.max()?;
        let token = note.token;
        (found < most).then(|| format!("step {most} was kept, and token {token} found {found}"))
    })
}

/// J2: the handler of a claim that is lost is dropped at its next await.
fn goes_on(notes: &[&Note]) -> Option<String> {
    let mut invalid: BTreeMap<u64, u32> = BTreeMap::new();
    notes.iter().find_map(|note| {
        let What::Look { valid, .. } = note.what else {
            return None;
        };
        let turns = invalid.entry(note.token).or_default();
        *turns = if valid { 0 } else { *turns + 1 };
        let (process, token) = (&note.process, note.token);
        (*turns >= TURNS).then(|| {
            format!(
                "the handler in {process} continues, though its claim with token {token} is lost"
            )
        })
    })
}
