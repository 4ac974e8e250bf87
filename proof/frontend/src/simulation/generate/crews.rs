//! Crews: handles of one client that hold as many locks at the same time, so that their renewals travel together; and
//! the faults that strike those.

use dlock_core::ErrorKind;
use dlock_testkit::faults::Op;

use super::{Draw, millis, ms};
use crate::simulation::plan::{
    ClientPlan, Effect, Ending, Fault, HandlePlan, Settings, Step, Usage, Way,
};

impl Draw {
    pub(super) fn crews(&mut self, clients: &mut [ClientPlan], faults: &mut Vec<Fault>) {
        if self.chance(40) {
            return;
        }
        let client = self.rng.usize(0..clients.len());
        let crews = self.rng.usize(1..=2);
        for crew in 0..crews {
            let settings = Settings {
                max_hold: None,
                ..self.settings()
            };
            let steps = self.crew_steps(millis(settings.duration));
            for member in 0..self.rng.usize(2..=5) {
                clients[client].handles.push(HandlePlan {
                    name: format!("crew{crew}-{member}"),
                    label: None,
                    settings: self.alike(&settings),
                    steps: steps.clone(),
                });
            }
        }
        if self.chance(25) {
            return;
        }
        for _ in 0..self.rng.usize(1..=6) {
            let effect = self.batch_effect();
            faults.push(self.strike(client, Op::RenewMany, 16, effect));
        }
        for _ in 0..self.rng.usize(0..=6) {
            let kind = self.error_kind();
            let effect = *self.of(&[Effect::Refuse(kind), Effect::Doubt(kind)]);
            faults.push(self.strike(client, Op::Renew, 40, effect));
        }
    }

    /// All members of a crew do the same at the same time.
    fn crew_steps(&mut self, lease: u64) -> Vec<Step> {
        (0..self.rng.usize(1..=3))
            .map(|_| Step {
                pause: ms(self.rng.u64(0..lease)),
                way: Way::Hold,
                redeems: None,
                cancel: None,
                away: None,
                usage: Usage {
                    keep: true,
                    renewals: Vec::new(),
                    hold: ms(self.rng.u64(lease..5 * lease)),
                    write: None,
                    ending: if self.chance(30) {
                        Ending::Drop
                    } else {
                        Ending::Release
                    },
                },
            })
            .collect()
    }

    /// Settings that fall due at the same time, sometimes with another duration.
    fn alike(&mut self, settings: &Settings) -> Settings {
        let lease = millis(settings.duration);
        let longer = *self.of(&[0, 0, 0, lease / 15, lease / 5]);
        Settings {
            duration: ms(lease + longer),
            ..settings.clone()
        }
    }

    fn batch_effect(&mut self) -> Effect {
        let kind = self.error_kind();
        match self.rng.u8(0..8) {
            0 | 1 => Effect::LoseRequest,
            2 => Effect::LoseReply,
            3 => Effect::Refuse(kind),
            4 => Effect::Doubt(kind),
            5 => Effect::DelayRequest(self.span(4)),
            6 => Effect::DelayReply(self.span(4)),
            _ => Effect::Duplicate(self.span(10)),
        }
    }

    fn error_kind(&mut self) -> ErrorKind {
        *self.of(&[
            ErrorKind::NotApplied,
            ErrorKind::Unknown,
            ErrorKind::Unknown,
            ErrorKind::Fatal,
        ])
    }
}
