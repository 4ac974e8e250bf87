//! Terms that linger (S7): tasks of some clients that want one name again and again, for a moment each time, and leave
//! it alone for about as long as it lingers.

use super::{Draw, millis, ms};
use crate::simulation::plan::{ClientPlan, Ending, Fault, HandlePlan, Settings, StoreEvent};

/// What they want. It is nobody else's.
const NAME: &str = "lingering";

/// The labels of their locks: of most, and of one now and then.
const LABELS: [&str; 5] = ["we", "we", "we", "we", "they"];

impl Draw {
    pub(super) fn lingering(&mut self, clients: &mut [ClientPlan], faults: &mut Vec<Fault>) {
        let settings = self.settings();
        let linger = settings.duration / *self.of(&[10, 10, 20, 50]);
        let settings = Settings {
            max_hold: None,
            at_least: self.chance(10).then_some(settings.duration / 2),
            linger: Some(linger),
            ..settings
        };
        let (lease, linger) = (millis(settings.duration), millis(linger));
        let processes = self.rng.usize(1..=clients.len());
        for client in clients.iter_mut().take(processes) {
            for _ in 0..self.rng.usize(1..=3) {
                let mut steps: Vec<_> = (0..self.rng.usize(6..=16))
                    .map(|_| self.step(lease))
                    .collect();
                for step in &mut steps {
                    if self.chance(85) {
                        step.pause = ms(self.rng.u64(0..=linger * 5 / 4));
                        step.usage.hold = step.usage.hold.min(settings.duration / 50);
                    }
                    if self.chance(70) {
                        step.usage.renewals.clear();
                        step.usage.write = step.usage.write.filter(|_| self.chance(30));
                    }
                    if self.chance(5) {
                        step.usage.ending = Ending::HandOver;
                    }
                }
                client.handles.push(HandlePlan {
                    name: NAME.to_owned(),
                    label: Some((*self.of(&LABELS)).to_owned()),
                    settings: settings.clone(),
                    steps,
                });
            }
        }
        for _ in 0..self.rng.usize(0..=6) {
            let at = self.at();
            let event = StoreEvent::Ask(NAME.to_owned());
            faults.push(Fault::Store { at, event });
        }
    }
}
