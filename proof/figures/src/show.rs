//! Figures as text for people.

use std::{collections::BTreeMap, error::Error, fmt::Write as _};

use serde::Deserialize;

use crate::{Kept, PARTS};

type Shown = Result<String, Box<dyn Error>>;

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The commands, and of what code and when.
fn source(kept: &Kept, part: &str) -> String {
    let commands = PARTS.iter().find(|known| known.name == part);
    let commands = commands.map_or(&[][..], |part| part.commands);
    let commands: Vec<String> = commands
        .iter()
        .map(|command| format!("`{command}`"))
        .collect();
    let minutes = match kept.minutes {
        1 => "1 minute".to_owned(),
        minutes => format!("{minutes} minutes"),
    };
    format!(
        "{} ({}, commit {}, {minutes})",
        commands.join(", "),
        kept.date,
        kept.commit
    )
}

#[derive(Deserialize)]
struct Suite {
    passed: u64,
    left_out: u64,
}

pub(crate) fn suite(kept: &Kept) -> Shown {
    let Suite { passed, left_out } = kept.line()?;
    Ok(format!(
        "**Tests**, {}: {} passed. {} are long, or of a store that lacks what they test, and were left out.\n",
        source(kept, "suite"),
        grouped(passed),
        grouped(left_out)
    ))
}

#[derive(Deserialize)]
struct Simulation {
    runs: u64,
    virtual_time: VirtualTime,
    calls: u64,
    unknown: u64,
    grants: u64,
    takeovers: u64,
    renewals: u64,
    losses: u64,
    cancellations: u64,
    handed_over: u64,
    tickets: u64,
    own_orphans: u64,
    stale_writes: u64,
    lost_updates: u64,
    faults: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct VirtualTime {
    secs: u64,
}

pub(crate) fn simulation(kept: &Kept) -> Shown {
    let figures: Simulation = kept.line()?;
    let faults: u64 = figures.faults.values().sum();
    Ok(format!(
        "**Simulation**, {}: {} seeds in both disciplines, {} runs, {} hours of virtual time, {} calls ({} of \
         unknown outcome), {} faults of {} kinds; {} grants, {} takeovers, {} renewals, {} losses, {} cancelled \
         futures, {} hand-overs, {} tickets, {} refusals by own orphans; {} stale writes refused by the fence, {} \
         updates lost where there was none. No promise was broken.\n",
        source(kept, "simulation"),
        grouped(figures.runs / 2),
        grouped(figures.runs),
        grouped(figures.virtual_time.secs / 3600),
        grouped(figures.calls),
        grouped(figures.unknown),
        grouped(faults),
        figures.faults.len(),
        grouped(figures.grants),
        grouped(figures.takeovers),
        grouped(figures.renewals),
        grouped(figures.losses),
        grouped(figures.cancellations),
        grouped(figures.handed_over),
        grouped(figures.tickets),
        grouped(figures.own_orphans),
        grouped(figures.stale_writes),
        grouped(figures.lost_updates),
    ))
}

#[derive(Deserialize)]
struct Chaos {
    store: String,
    operations: u64,
    grants: u64,
    takeovers: u64,
    killed: u64,
    paused: u64,
    bitten: u64,
    store_killed: u64,
    store_locked: u64,
    struck: u64,
    unknown: u64,
    refused: u64,
    lost_unfenced: u64,
    lost_fenced: u64,
    judged: u64,
    excused: u64,
}

pub(crate) fn chaos(kept: &Kept) -> Shown {
    let mut text = format!(
        "**Chaos**, all four stores at once, leases of 0.3, 1 and 2 s, 8 tasks in 4 processes on 3 locks, {}:\n\n",
        source(kept, "chaos")
    );
    text += "| store | operations | grants | takeovers | kills, pauses, scripted pauses | store killed or locked | \
             exchanges struck | unknown outcomes | stale writes refused | lost updates without a fence | with one | \
             bounds of time judged, excused |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    for store in kept.lines::<Chaos>()? {
        let blows = [store.killed, store.paused, store.bitten]
            .map(grouped)
            .join(", ");
        let whole = [store.store_killed, store.store_locked].iter().sum();
        let numbers = [store.operations, store.grants, store.takeovers]
            .map(grouped)
            .join(" | ");
        let last = [
            whole,
            store.struck,
            store.unknown,
            store.refused,
            store.lost_unfenced,
        ];
        writeln!(
            text,
            "| {} | {numbers} | {blows} | {} | **{}** | {}, {} |",
            store.store,
            last.map(grouped).join(" | "),
            grouped(store.lost_fenced),
            grouped(store.judged),
            grouped(store.excused),
        )?;
    }
    Ok(text + "\nNo invariant was violated. Every unfenced resource lost updates, as it must.\n")
}

#[derive(Deserialize)]
struct Configuration {
    configuration: String,
    states: u64,
    seconds: f64,
}

pub(crate) fn model(kept: &Kept) -> Shown {
    let all: Vec<Configuration> = kept.lines()?;
    let most = (all.iter().max_by_key(|one| one.states)).ok_or("no configurations")?;
    Ok(format!(
        "**Model**, {}: {} configurations, {} states in all, {} in the largest ({}); no reachable state violates a \
         property. The whole table is in [`proof/model/README.md`](proof/model/README.md).\n",
        source(kept, "model"),
        all.len(),
        grouped(all.iter().map(|one| one.states).sum()),
        grouped(most.states),
        most.configuration
    ))
}

/// One row for each configuration, one column for each discipline.
pub(crate) fn configurations(kept: &Kept) -> Shown {
    let mut rows: Vec<(String, [String; 2])> = Vec::new();
    for one in kept.lines::<Configuration>()? {
        let (discipline, name) = (one.configuration.split_once(": "))
            .ok_or_else(|| format!("{}: of no discipline", one.configuration))?;
        let cell = format!("{} ({:.0} s)", grouped(one.states), one.seconds);
        let at = rows.iter().position(|(known, _)| known == name);
        let at = at.unwrap_or_else(|| {
            rows.push((name.to_owned(), ["-".to_owned(), "-".to_owned()]));
            rows.len() - 1
        });
        rows[at].1[usize::from(discipline == "observer")] = cell;
    }
    let mut text = format!(
        "{}\n\n| configuration | StoreClock: states (time) | Observer: states (time) |\n|---|---|---|\n",
        source(kept, "model")
    );
    for (name, [store_clock, observer]) in rows {
        writeln!(text, "| {name} | {store_clock} | {observer} |")?;
    }
    Ok(text)
}

#[derive(Deserialize)]
struct Cancelling {
    futures: u64,
    scenes: u64,
    dropped: u64,
}

pub(crate) fn cancelling(kept: &Kept) -> Shown {
    let stores: Vec<Cancelling> = kept.lines()?;
    let futures = stores
        .iter()
        .map(|one| one.futures)
        .max()
        .unwrap_or_default();
    Ok(format!(
        "**Cancellation**, {}: each of {futures} operations, among them every public future, dropped after every one \
         of its polls, on {} kinds of store, alone and in a queue, over good and bad weather: {} scenes, in {} of \
         which the future had not ended. On each real store 240 sampled ones.\n",
        source(kept, "cancelling"),
        stores.len(),
        grouped(stores.iter().map(|one| one.scenes).sum()),
        grouped(stores.iter().map(|one| one.dropped).sum()),
    ))
}

#[derive(Deserialize)]
struct Planted {
    planted: String,
    bugs: u64,
}

pub(crate) fn planted(kept: &Kept) -> Shown {
    let all: Vec<Planted> = kept.lines()?;
    let counts = all
        .iter()
        .map(|one| format!("{} {}", grouped(one.bugs), one.planted));
    Ok(format!(
        "**Planted bugs**, {}: {}; all caught, by the checks that say so.\n",
        source(kept, "planted"),
        counts.collect::<Vec<_>>().join(", ")
    ))
}

#[derive(Deserialize)]
struct Operators {
    listed: u64,
    refused: u64,
    noticed: u64,
    hung: u64,
    alive: u64,
}

pub(crate) fn operators(kept: &Kept) -> Shown {
    let Operators {
        listed,
        refused,
        noticed,
        hung,
        alive,
    } = kept.line()?;
    Ok(format!(
        "**Mutants**, {}: `cargo mutants` lists {} changes of one operator, condition or result in all of `dlock-core` \
         but its events; {} do not compile. Of the other {} the tests notice {} ({hung} of them by never ending). \
         {alive} are left, each with its reason in [`proof/mutants/alive.toml`](proof/mutants/alive.toml).\n",
        source(kept, "operators"),
        grouped(listed),
        grouped(refused),
        grouped(listed - refused),
        grouped(noticed),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        let numbers = [0, 12, 123, 1_234, 12_345, 1_234_567];
        let expected = ["0", "12", "123", "1,234", "12,345", "1,234,567"];
        assert_eq!(numbers.map(grouped), expected);
    }

    #[test]
    fn configuration_has_a_row_and_each_discipline_a_column() {
        let line = |configuration, states| serde_json::json!({"configuration": configuration, "states": states, "seconds": 1.2});
        let kept = Kept {
            commit: "c".to_owned(),
            date: "2000-01-01".to_owned(),
            minutes: 1,
            figures: vec![
                line("store clock: a", 1_000),
                line("store clock: b", 5),
                line("observer: a", 7),
            ],
        };
        let shown = configurations(&kept).unwrap();
        assert!(
            shown.ends_with("| a | 1,000 (1 s) | 7 (1 s) |\n| b | 5 (1 s) | - |\n"),
            "{shown}"
        );
    }
}
