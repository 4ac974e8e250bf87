//! Waiters on one name: the waits of each, and their statistics.

use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::{
    clock::Moment,
    results::{Figures, figures},
    statistics::{mean, micros, millis, percentile},
    systems::Lock,
};

/// How long waiters may wait after the end, so that the queue empties in order.
const GRACE: Duration = Duration::from_millis(300);

/// The time span, and how long each waiter holds the lock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) begin: Moment,
    pub(crate) end: Moment,
    pub(crate) section: Duration,
}

/// One wait for the lock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Turn {
    pub(crate) asked: Moment,
    pub(crate) granted: Moment,
    /// When release was called.
    pub(crate) releasing: Moment,
    /// When release returned.
    pub(crate) released: Moment,
}

/// The waits of one waiter.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Waiter {
    pub(crate) turns: Vec<Turn>,
    /// When it asked without success, and when it gave up.
    pub(crate) unserved: Option<(Moment, Moment)>,
}

impl Plan {
    /// A plan for `span`, which begins `lead` after now.
    pub(crate) fn soon(lead: Duration, span: Duration, section: Duration) -> Self {
        let begin = Moment::now().after(lead);
        Self {
            begin,
            end: begin.after(span),
            section,
        }
    }
}

/// Acquires the lock again and again, as long as the plan says.
pub(crate) async fn wait_in_turns(lock: &dyn Lock, plan: Plan) -> Result<Waiter> {
    let mut waiter = Waiter {
        turns: Vec::new(),
        unserved: None,
    };
    plan.begin.reached().await;
    loop {
        let asked = Moment::now();
        if asked >= plan.end {
            return Ok(waiter);
        }
        let patience = plan.end.after(GRACE).since(asked);
        let Ok(held) = timeout(patience, lock.acquire()).await else {
            waiter.unserved = Some((asked, Moment::now()));
            return Ok(waiter);
        };
        let held = held?;
        let granted = Moment::now();
        if plan.section.is_zero() || granted >= plan.end {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(plan.section).await;
        }
        let releasing = Moment::now();
        held.release().await?;
        waiter.turns.push(Turn {
            asked,
            granted,
            releasing,
            released: Moment::now(),
        });
    }
}

/// The statistics of the waiters of all processes, and of the commands that the store received. Shares are those of
/// processes, or those of waiters where there is one process.
pub(crate) fn amount(processes: &[Vec<Waiter>], plan: Plan, commands: u64) -> Figures {
    let waiters = || processes.iter().flatten();
    let inside = |turn: &&Turn| turn.granted < plan.end;
    let grants_of = |waiter: &Waiter| waiter.turns.iter().filter(inside).count() as f64;
    let shares: Vec<f64> = match processes {
        [waiters] => waiters.iter().map(grants_of).collect(),
        _ => processes
            .iter()
            .map(|process| process.iter().map(grants_of).sum())
            .collect(),
    };
    let turns: Vec<&Turn> = waiters().flat_map(|waiter| &waiter.turns).collect();
    let sections: Vec<f64> = turns
        .iter()
        .filter(|turn| inside(turn))
        .map(|turn| micros(turn.releasing.since(turn.granted)))
        .collect();
    // A waiter without a grant at the end waited at least that long.
    let mut waited: Vec<f64> = waiters()
        .flat_map(waits)
        .map(|(asked, until)| millis(until.since(asked)))
        .collect();
    let without = processes.iter().map(|process| longest_without(process));
    let total: f64 = shares.iter().sum();
    figures([
        ("waiters", waiters().count() as f64),
        (
            "grants_per_second",
            total / plan.end.since(plan.begin).as_secs_f64(),
        ),
        ("section_us", mean(&sections)),
        ("wait_p50_ms", percentile(&mut waited, 0.5)),
        ("wait_p99_ms", percentile(&mut waited, 0.99)),
        ("wait_worst_ms", percentile(&mut waited, 1.0)),
        ("without_ms", millis(without.max().unwrap_or_default())),
        (
            "least_grants",
            shares.iter().copied().fold(f64::INFINITY, f64::min),
        ),
        ("most_grants", shares.iter().copied().fold(0.0, f64::max)),
        ("commands_per_grant", commands as f64 / turns.len() as f64),
    ])
}

/// Each wait of a waiter: from the call to the grant, or to when it gave up.
fn waits(waiter: &Waiter) -> impl Iterator<Item = (Moment, Moment)> {
    let served = waiter.turns.iter().map(|turn| (turn.asked, turn.granted));
    served.chain(waiter.unserved)
}

/// The longest time that a process had a waiter and neither had nor got the lock.
fn longest_without(process: &[Waiter]) -> Duration {
    let mut waits: Vec<(Moment, Moment)> = process.iter().flat_map(waits).collect();
    waits.sort_unstable_by_key(|(_, served)| *served);
    let turns = process.iter().flat_map(|waiter| &waiter.turns);
    let mut released: Vec<Moment> = turns.map(|turn| turn.released).collect();
    released.sort_unstable();
    // The earliest call of the waiters that were still waiting at the end of each wait.
    let mut first = None::<Moment>;
    let mut longest = Duration::ZERO;
    for (asked, served) in waits.iter().rev() {
        let since = first.map_or(*asked, |first| first.min(*asked));
        first = Some(since);
        let before = released.partition_point(|released| released <= served);
        let had = before.checked_sub(1).map(|last| released[last]);
        longest = longest.max(served.since(had.map_or(since, |had| had.max(since))));
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_waits_are_those_of_processes() {
        let begin = Moment::now();
        let at = |millis| begin.after(Duration::from_millis(millis));
        let turn = |asked, granted, released| Turn {
            asked: at(asked),
            granted: at(granted),
            releasing: at(released - 1),
            released: at(released),
        };
        let waiter = |turns: &[Turn], unserved| Waiter {
            turns: turns.to_vec(),
            unserved,
        };
        // Two tasks that pass the lock to each other are never without it; the one outside is, for as long as it waits.
        let pair = vec![
            waiter(&[turn(0, 1, 20), turn(20, 41, 60)], None),
            waiter(&[turn(0, 21, 40)], None),
        ];
        let alone = vec![waiter(&[turn(5, 80, 90), turn(90, 100, 110)], None)];
        assert_eq!(longest_without(&pair), Duration::from_millis(1));
        assert_eq!(longest_without(&alone), Duration::from_millis(75));
        let starved = vec![waiter(&[], Some((at(0), at(1300))))];
        let plan = Plan {
            begin,
            end: at(100),
            section: Duration::ZERO,
        };
        let figures = amount(&[pair, alone, starved], plan, 10);
        assert_eq!(figures["without_ms"], 1300.0);
        assert_eq!(figures["wait_worst_ms"], 1300.0);
        // One grant came after the end: it counts for the cost, not for the rate.
        assert_eq!(figures["grants_per_second"], 40.0);
        assert_eq!(figures["commands_per_grant"], 2.0);
        assert_eq!(
            (figures["least_grants"], figures["most_grants"]),
            (0.0, 3.0)
        );
        assert_eq!(figures["waiters"], 4.0);
    }
}
