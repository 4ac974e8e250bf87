//! Periods: some tasks of each of some clients, which all want one name with `at_least` (B4).

use dlock_core::ErrorKind;
use dlock_testkit::faults::Op;

use super::{Draw, millis, ms};
use crate::simulation::plan::{
    Away, ClientPlan, Copies, Effect, Ending, Fault, HandlePlan, Settings, Step, StoreEvent, Usage,
    Way, WorkEnd,
};

/// The name that they want. No other task wants it.
const NAME: &str = "period";

impl Draw {
    pub(super) fn periods(&mut self, clients: &mut [ClientPlan], faults: &mut Vec<Fault>) {
        let settings = self.settings();
        let settings = Settings {
            poll_every: None,
            max_hold: None,
            data: None,
            at_least: Some(settings.duration * self.rng.u32(4..=24) / 10),
            ..settings
        };
        let lease = millis(settings.duration);
        let processes = self.rng.usize(1..=clients.len());
        for (index, client) in clients.iter_mut().enumerate().take(processes) {
            for _ in 0..self.rng.usize(1..=3) {
                let steps = self.rng.usize(3..=8);
                client.handles.push(HandlePlan {
                    name: NAME.to_owned(),
                    label: None,
                    settings: settings.clone(),
                    steps: (0..steps).map(|_| self.period(lease)).collect(),
                });
            }
            for _ in 0..self.rng.usize(0..=4) {
                let effect = self.release_effect();
                faults.push(self.strike(index, Op::Release, 12, effect));
            }
            if self.chance(50) {
                self.intruders(index, faults);
            }
        }
    }

    /// While a client's calls fail, an operator takes the name from it: its release then does not close the name.
    fn intruders(&mut self, client: usize, faults: &mut Vec<Fault>) {
        for _ in 0..self.rng.usize(1..=4) {
            let (from, lasting) = (self.at(), self.span(3));
            faults.push(Fault::Network {
                client: Some(client),
                from,
                lasting,
                effect: Effect::Refuse(ErrorKind::Unknown),
            });
            faults.push(Fault::Store {
                at: from + lasting * 3 / 4,
                event: StoreEvent::Revoke(NAME.to_owned()),
            });
        }
    }

    /// Waits for the lock or does not, works for a while, and releases it before its time or after.
    fn period(&mut self, lease: u64) -> Step {
        let way = match self.rng.u8(0..10) {
            0..=3 => Way::Try,
            4 | 5 => Way::Wait,
            6 => Way::Within(ms(self.rng.u64(lease / 2..4 * lease))),
            7 => Way::Hold,
            _ => Way::With(WorkEnd::Returns),
        };
        Step {
            pause: ms(self.rng.u64(0..=lease)),
            way,
            cancel: self.chance(15).then(|| self.cancel(2 * lease)),
            redeems: self.chance(50).then_some(Copies::One),
            away: self.chance(15).then(|| Away {
                at_poll: 1,
                lasting: ms(self.rng.u64(1..lease)),
            }),
            usage: Usage {
                keep: self.chance(40),
                renewals: Vec::new(),
                hold: ms(match self.rng.u8(0..6) {
                    0 => self.rng.u64(lease..3 * lease),
                    _ => self.rng.u64(0..lease / 2),
                }),
                write: None,
                ending: match self.rng.u8(0..8) {
                    0 | 1 => Ending::Drop,
                    2 => Ending::ReleaseOpen,
                    3 => Ending::HandOver,
                    _ => Ending::Release,
                },
            },
        }
    }

    fn release_effect(&mut self) -> Effect {
        match self.rng.u8(0..6) {
            0 => Effect::LoseRequest,
            1 => Effect::LoseReply,
            2 => Effect::Refuse(ErrorKind::NotApplied),
            3 => Effect::Doubt(ErrorKind::Unknown),
            4 => Effect::DelayRequest(self.span(10)),
            _ => Effect::Duplicate(self.span(10)),
        }
    }
}
