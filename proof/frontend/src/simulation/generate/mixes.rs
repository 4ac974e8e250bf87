//! Mixes: some tasks of each of some clients, which all want one name again and again (W8).

use std::time::Duration;

use super::{Draw, ms};
use crate::simulation::plan::{
    ClientPlan, Ending, Fault, HandlePlan, Plan, Settings, Step, Usage, Way,
};

/// The name that they want. No other task wants it.
const NAME: &str = "mix";

/// Roughly how long they contend for it, in milliseconds.
const LASTS: u64 = 4_000;

impl Draw {
    pub(super) fn mixes(&mut self, clients: &mut [ClientPlan], faults: &mut Vec<Fault>) {
        let settings = Settings {
            margin: 0.2,
            poll_every: None,
            max_hold: None,
            data: None,
            ..self.settings()
        };
        let hold = *self.of(&[0, 5, 20]);
        let processes = self.rng.usize(2..=clients.len());
        let tasks: Vec<usize> = (0..processes).map(|_| self.rng.usize(1..=8)).collect();
        let all = tasks.iter().sum::<usize>() as u64;
        let steps = (LASTS / (hold + 10) / all).max(3);
        for (number, (client, tasks)) in clients.iter_mut().zip(tasks).enumerate() {
            for _ in 0..tasks {
                client.handles.push(HandlePlan {
                    name: NAME.to_owned(),
                    label: Some(format!("{NAME} {number}")),
                    settings: settings.clone(),
                    steps: (0..steps).map(|_| turn(hold)).collect(),
                });
            }
        }
        // In half of the runs no fault can be the reason for a wait.
        if self.chance(50) {
            faults.clear();
        }
    }
}

impl Plan {
    /// The name of a mix of two processes that nothing disturbs, and for how long one of them goes without it at most:
    /// the other keeps it for a poll and a piece of work (W8), and this one tries a poll later. It may miss one chance, a
    /// quarter of a poll: a try of the other that is in flight next to the release takes the name all the same. Jitter and
    /// differing clocks make each poll a fifth longer. `None` where a call may take longer than the quarter of a poll after which
    /// the waiter tries again: it may miss the half of a poll for which the other leaves the name free.
    pub(in crate::simulation) fn turns(&self) -> Option<(&'static str, Duration)> {
        let mixed = |client: &&ClientPlan| client.handles.iter().any(|handle| handle.name == NAME);
        let mixed: Vec<_> = self.clients.iter().filter(mixed).collect();
        let [one, other] = &mixed[..] else {
            return None;
        };
        if !self.faults.is_empty() {
            return None;
        }
        let handle = one.handles.iter().find(|handle| handle.name == NAME)?;
        let poll = handle
            .settings
            .poll(one.wakeups)
            .max(handle.settings.poll(other.wakeups));
        let hold = handle.steps.first()?.usage.hold;
        let trip = ms(2 * one.latency.1.max(other.latency.1));
        (4 * trip <= poll).then(|| (NAME, poll * 27 / 10 + hold + 4 * trip))
    }
}

/// Waits for the lock, holds it, releases it.
fn turn(hold: u64) -> Step {
    Step {
        pause: Duration::ZERO,
        way: Way::Wait,
        cancel: None,
        away: None,
        redeems: None,
        usage: Usage {
            keep: false,
            renewals: Vec::new(),
            hold: ms(hold),
            write: None,
            ending: Ending::Release,
        },
    }
}
