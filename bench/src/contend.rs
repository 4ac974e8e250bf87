//! Waiters on one name: what each of them went through, and what that amounts to.

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

/// How long waiters may go on waiting after the end, so that the queue empties in good order.
const GRACE: Duration = Duration::from_millis(300);

/// When, and how long each holds the lock.
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
    /// The release was called; answered.
    pub(crate) releasing: Moment,
    pub(crate) released: Moment,
}

/// What one waiter went through.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Waiter {
    pub(crate) turns: Vec<Turn>,
    /// When it asked in vain, and when it gave up.
    pub(crate) unserved: Option<(Moment, Moment)>,
}

impl Plan {
    /// From `lead` after now on, for `span`.
    pub(crate) fn soon(lead: Duration, span: Duration, section: Duration) -> Self {
        let begin = Moment::now().after(lead);
        Self {
            begin,
            end: begin.after(span),
            section,
        }
    }
}

/// Asks for the lock again and again, as long as the plan says.
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

/// What all waiters together amount to, and what they asked of the store if that was counted.
pub(crate) fn amount(waiters: &[Waiter], plan: Plan, commands: Option<u64>) -> Figures {
    let inside = |turn: &&Turn| turn.granted < plan.end;
    let grants: Vec<f64> = waiters
        .iter()
        .map(|waiter| waiter.turns.iter().filter(inside).count() as f64)
        .collect();
    let turns: Vec<Turn> = waiters
        .iter()
        .flat_map(|waiter| waiter.turns.clone())
        .collect();
    let counted: Vec<&Turn> = turns.iter().filter(inside).collect();
    let mut waits: Vec<f64> = turns
        .iter()
        .map(|turn| millis(turn.granted.since(turn.asked)))
        .collect();
    // Who got nothing at the end waited at least so long.
    waits.extend(
        waiters
            .iter()
            .filter_map(|waiter| waiter.unserved)
            .map(|(asked, gave_up)| millis(gave_up.since(asked))),
    );
    let sections: Vec<f64> = counted
        .iter()
        .map(|turn| micros(turn.releasing.since(turn.granted)))
        .collect();
    let total: f64 = grants.iter().sum();
    let commands = commands.map_or(f64::NAN, |commands| commands as f64);
    figures([
        (
            "grants_per_second",
            total / plan.end.since(plan.begin).as_secs_f64(),
        ),
        ("section_us", mean(&sections)),
        ("wait_p50_ms", percentile(&mut waits, 0.5)),
        ("wait_p99_ms", percentile(&mut waits, 0.99)),
        ("wait_worst_ms", percentile(&mut waits, 1.0)),
        (
            "least_grants",
            grants.iter().copied().fold(f64::INFINITY, f64::min),
        ),
        ("most_grants", grants.iter().copied().fold(0.0, f64::max)),
        ("commands_per_grant", commands / turns.len() as f64),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiter_that_got_nothing_is_the_least_and_the_worst() {
        let begin = Moment::now();
        let at = |millis| begin.after(Duration::from_millis(millis));
        let plan = Plan {
            begin,
            end: at(1000),
            section: Duration::ZERO,
        };
        let turn = |from| Turn {
            asked: at(from),
            granted: at(from + 1),
            releasing: at(from + 6),
            released: at(from + 7),
        };
        let lucky = Waiter {
            turns: vec![turn(0), turn(10), turn(20), turn(1010)],
            unserved: None,
        };
        let starved = Waiter {
            turns: Vec::new(),
            unserved: Some((at(0), at(1300))),
        };
        let figures = amount(&[lucky, starved], plan, Some(8));
        // What was granted after the end counts for the cost, not for the rate.
        assert_eq!(figures["grants_per_second"], 3.0);
        assert_eq!(figures["commands_per_grant"], 2.0);
        assert_eq!(figures["least_grants"], 0.0);
        assert_eq!(figures["most_grants"], 3.0);
        assert_eq!(figures["wait_worst_ms"], 1300.0);
        assert_eq!(figures["section_us"], 5000.0);
    }
}
