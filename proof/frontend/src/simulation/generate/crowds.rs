//! Crowds: tasks of one client that want one name with the same settings, so that a term continues from one to the next
//! (S1), and do everything that a task can do with a lock.

use super::{Draw, millis};
use crate::simulation::plan::{ClientPlan, Copies, Ending, HandlePlan, Settings};

/// The name that they want. Only another client wants it too.
const NAME: &str = "crowd";

/// The label of their locks.
const LABEL: &str = "crowd";

impl Draw {
    pub(super) fn crowds(&mut self, clients: &mut [ClientPlan]) {
        let settings = Settings {
            max_hold: None,
            at_least: None,
            ..self.settings()
        };
        let lease = millis(settings.duration);
        let crowded = self.rng.usize(..clients.len());
        let another = self.rng.usize(..clients.len());
        let tickets = self.chance(30);
        for client in [crowded, crowded, crowded, another] {
            for _ in 0..self.rng.usize(1..=3) {
                let mut steps: Vec<_> = (0..self.rng.usize(4..=10))
                    .map(|_| self.step(lease))
                    .collect();
                for step in &mut steps {
                    step.pause = step.pause.min(settings.duration / 5);
                    if self.chance(80) {
                        step.usage.hold = step.usage.hold.min(settings.duration / 40);
                        step.usage.renewals.clear();
                        step.usage.write = step.usage.write.filter(|_| self.chance(30));
                    }
                    if tickets && self.chance(15) {
                        step.usage.ending = Ending::HandOver;
                    }
                    step.redeems = (tickets && self.chance(30)).then_some(Copies::One);
                }
                clients[client].handles.push(HandlePlan {
                    name: NAME.to_owned(),
                    label: Some(LABEL.to_owned()),
                    settings: settings.clone(),
                    steps,
                });
            }
        }
    }
}
