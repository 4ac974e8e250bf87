//! Processes of several tasks each on one name: who gets the lock, and who is kept waiting (W8).

use std::{fmt, str::FromStr, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::{
    clock::Moment,
    contend::{Plan, Turn, Waiter},
    medians::Medians,
    results::{Figures, Results, figures},
    statistics::millis,
    systems::{Store, ours::Waiting},
    table::{Table, number},
};

pub(crate) const EXPERIMENT: &str = "mix";

/// The most processes, and the most tasks of each.
const MOST: usize = 8;

/// The tasks of each process, and how long each task holds the lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mix {
    pub(crate) tasks: Vec<usize>,
    pub(crate) section: Duration,
}

/// `2+1@20`: two tasks in one process and one in another, 20 ms each. `4x2@5`: four processes of two
/// tasks, 5 ms each.
impl FromStr for Mix {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (shape, section) = text.split_once('@').context("it has no `@`: 2+1@20")?;
        let number = |text: &str| -> Result<usize> {
            let number = text.parse()?;
            ensure!(
                (1..=MOST).contains(&number),
                "{number} is not in 1..={MOST}"
            );
            Ok(number)
        };
        let tasks = match shape.split_once('x') {
            Some((processes, tasks)) => vec![number(tasks)?; number(processes)?],
            None => shape.split('+').map(number).collect::<Result<_>>()?,
        };
        ensure!(tasks.len() <= MOST, "more than {MOST} processes");
        let section = Duration::from_millis(section.parse()?);
        if section > Duration::from_secs(1) {
            bail!("a section is at most 1000 ms");
        }
        Ok(Self { tasks, section })
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks: Vec<String> = self.tasks.iter().map(usize::to_string).collect();
        write!(
            f,
            "{} tasks, {} ms",
            tasks.join(" + "),
            self.section.as_millis()
        )
    }
}

impl Mix {
    /// What the samples call it.
    pub(crate) fn case(&self, waiting: Waiting) -> String {
        match waiting {
            Waiting::Called => format!("{self}, with wake-ups"),
            Waiting::Polled => format!("{self}, polling"),
        }
    }

    /// How long a process may wait for the lock (W8), all others having their turn before it.
    pub(crate) fn bound(&self, store: Store, waiting: Waiting, lease: Duration) -> Duration {
        let seconds = Duration::from_secs;
        let poll = match waiting {
            Waiting::Called if store != Store::DynamoDb => {
                (lease / 3).clamp(seconds(1), seconds(5))
            }
            _ => (lease / 10).clamp(Duration::from_millis(100), seconds(1)),
        };
        let others = u32::try_from(self.tasks.len().saturating_sub(1)).unwrap_or(u32::MAX);
        others * 2 * (lease / 10 + self.section) + 2 * poll
    }
}

/// What the processes amount to; the waiters of each.
pub(crate) fn amount(processes: &[Vec<Waiter>], plan: Plan, bound: Duration) -> Figures {
    let inside = |turn: &&Turn| turn.granted < plan.end;
    let turns = |process: &[Waiter]| {
        process
            .iter()
            .flat_map(|waiter| waiter.turns.clone())
            .collect()
    };
    let grants: Vec<f64> = processes
        .iter()
        .map(|process| {
            let turns: Vec<Turn> = turns(process);
            turns.iter().filter(inside).count() as f64
        })
        .collect();
    let waits = processes.iter().flatten().flat_map(waits);
    let task = waits.map(|(asked, served)| served.since(asked)).max();
    let process = processes
        .iter()
        .map(|process| longest_without(process))
        .max();
    let mut figures = figures([
        ("bound_ms", millis(bound)),
        (
            "grants_per_second",
            grants.iter().sum::<f64>() / plan.end.since(plan.begin).as_secs_f64(),
        ),
        (
            "least_grants",
            grants.iter().copied().fold(f64::INFINITY, f64::min),
        ),
        ("most_grants", grants.iter().copied().fold(0.0, f64::max)),
        ("wait_worst_ms", millis(task.unwrap_or_default())),
        ("process_worst_ms", millis(process.unwrap_or_default())),
    ]);
    for (index, grants) in grants.into_iter().enumerate() {
        figures.insert(format!("grants_{}", index + 1), grants);
    }
    figures
}

/// Each wait of a waiter: from the call to the grant, or to when it gave up.
fn waits(waiter: &Waiter) -> impl Iterator<Item = (Moment, Moment)> {
    let served = waiter.turns.iter().map(|turn| (turn.asked, turn.granted));
    served.chain(waiter.unserved)
}

/// The longest time that a process had a waiter, did not have the lock, and did not get it.
fn longest_without(process: &[Waiter]) -> Duration {
    let waits: Vec<(Moment, Moment)> = process.iter().flat_map(waits).collect();
    let mut released: Vec<Moment> = process
        .iter()
        .flat_map(|waiter| waiter.turns.iter().map(|turn| turn.released))
        .collect();
    released.sort_unstable();
    let before = |served: Moment| released.partition_point(|released| *released <= served);
    let without = waits.iter().map(|(_, served)| {
        // Another process that waited while this one was served or given up on.
        let waiting = waits
            .iter()
            .filter(|(asked, until)| asked <= served && until >= served);
        let since = waiting.map(|(asked, _)| *asked).min().unwrap_or(*served);
        let had = before(*served).checked_sub(1).map(|last| released[last]);
        served.since(had.map_or(since, |had| had.max(since)))
    });
    without.max().unwrap_or_default()
}

/// The mixes of a run as a table.
pub(crate) fn render(results: &Results) -> String {
    let medians = Medians::of(results);
    let mut table = Table::new([
        "store",
        "processes",
        "grants of each",
        "most/least",
        "worst wait of a task, ms",
        "of a process",
        "bound",
    ]);
    let samples = results.samples.iter();
    for sample in samples.filter(|sample| sample.experiment == EXPERIMENT) {
        let get = |figure: &str| {
            let case = &sample.case;
            medians.get(EXPERIMENT, sample.store, &sample.system, case, figure)
        };
        let grants: Vec<String> = (1..=MOST)
            .map_while(|process| get(&format!("grants_{process}")))
            .map(|grants| format!("{grants}"))
            .collect();
        table.row([
            sample.store.to_string(),
            sample.case.clone(),
            grants.join(", "),
            number(get("most_by_least")),
            number(get("wait_worst_ms")),
            number(get("process_worst_ms")),
            number(get("bound_ms")),
        ]);
    }
    if table.is_empty() {
        return String::new();
    }
    let lease = results.sizes.mix_lease.as_secs_f64();
    format!(
        "\n### Processes of several tasks on one name, lease of {lease} s\n\n{}",
        table.render(3)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_is_read_as_it_is_written() -> Result<()> {
        let mix: Mix = "2+1@20".parse()?;
        assert_eq!(mix.tasks, [2, 1]);
        assert_eq!(mix.to_string(), "2 + 1 tasks, 20 ms");
        assert_eq!("4x2@0".parse::<Mix>()?.tasks, [2; 4]);
        for wrong in ["2+1", "9x1@5", "0+1@5", "@5", "1x9@5", "1@2000"] {
            assert!(wrong.parse::<Mix>().is_err(), "{wrong}");
        }
        Ok(())
    }

    #[test]
    fn a_process_is_without_while_it_waits_and_does_not_hold() {
        let begin = Moment::now();
        let at = |millis| begin.after(Duration::from_millis(millis));
        let turn = |asked, granted, released| Turn {
            asked: at(asked),
            granted: at(granted),
            releasing: at(released),
            released: at(released),
        };
        let waiter = |turns: &[Turn], unserved| Waiter {
            turns: turns.to_vec(),
            unserved,
        };
        // Two tasks that hand the lock to one another are never without; the one outside is, for as
        // long as it waits.
        let pair = [
            waiter(&[turn(0, 1, 20), turn(20, 41, 60)], None),
            waiter(&[turn(0, 21, 40)], None),
        ];
        let alone = [waiter(&[turn(5, 80, 90), turn(90, 100, 110)], None)];
        assert_eq!(longest_without(&pair), Duration::from_millis(1));
        assert_eq!(longest_without(&alone), Duration::from_millis(75));
        let starved = [waiter(&[], Some((at(0), at(1300))))];
        let plan = Plan {
            begin,
            end: at(1000),
            section: Duration::ZERO,
        };
        let processes = [pair.to_vec(), alone.to_vec(), starved.to_vec()];
        let figures = amount(&processes, plan, Duration::ZERO);
        assert_eq!(figures["process_worst_ms"], 1300.0);
        assert_eq!(figures["wait_worst_ms"], 1300.0);
        assert_eq!(
            (
                figures["grants_1"],
                figures["grants_2"],
                figures["grants_3"]
            ),
            (3.0, 2.0, 0.0)
        );
    }
}
