//! I5: the writes that guarded resources accepted.

use std::collections::HashMap;

use super::{
    Findings,
    facts::{At, Facts},
    report::Writes,
};
use crate::history::{Invariant, What};

#[derive(Default)]
struct Seen {
    highest: Option<(At, u64)>,
    value: Option<u64>,
}

pub(super) fn check(facts: &Facts<'_>, findings: &mut Findings<'_>) {
    let mut resources: HashMap<&str, Seen> = HashMap::new();
    for (at, write) in &facts.writes {
        let What::Write {
            resource,
            fenced,
            token,
            accepted,
            read,
            written,
        } = write
        else {
            continue;
        };
        let seen = resources.entry(resource).or_default();
        if *fenced && *accepted {
            findings.judge(Invariant::I5);
        }
        let counts = &mut findings.report.counts;
        let writes = if *fenced {
            &mut counts.fenced
        } else {
            &mut counts.unfenced
        };
        if !*accepted {
            writes.refused += 1;
            continue;
        }
        let stale = seen.highest.filter(|(_, highest)| token < highest);
        count(writes, seen, stale.is_some(), *read);
        if let Some((before, highest)) = stale
            && *fenced
        {
            let says = format!("{resource:?} accepted token {token} after token {highest}");
            findings.broken(Invariant::I5, "", &[before, *at], says);
        }
        if written.is_some() {
            seen.value = *written;
        }
        if seen.highest.is_none_or(|(_, highest)| *token > highest) {
            seen.highest = Some((*at, *token));
        }
    }
}

fn count(writes: &mut Writes, seen: &Seen, stale: bool, read: Option<u64>) {
    writes.accepted += 1;
    writes.stale += u64::from(stale);
    if let (Some(read), Some(value)) = (read, seen.value)
        && read != value
    {
        writes.lost_updates += 1;
    }
}
