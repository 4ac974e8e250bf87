//! Mixes: some tasks of each of some clients, which all want one name again and again (W8).

use std::time::Duration;

use super::{Draw, ms};
use crate::simulation::plan::{ClientPlan, Ending, Fault, HandlePlan, Settings, Step, Usage, Way};

/// What they want. Nothing else wants it.
const NAME: &str = "mix";

/// Roughly how long they are at it, in milliseconds.
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
        for (client, tasks) in clients.iter_mut().zip(tasks) {
            for _ in 0..tasks {
                client.handles.push(HandlePlan {
                    name: NAME.to_owned(),
                    label: Some(NAME.to_owned()),
                    settings: settings.clone(),
                    steps: (0..steps).map(|_| turn(hold)).collect(),
                });
            }
        }
        // In half of the runs nothing else is the reason for a wait.
        if self.chance(50) {
            faults.clear();
        }
    }
}

/// Waits for the lock, holds it, gives it back.
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
