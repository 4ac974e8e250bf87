//! Drawing the faults: of calls, the network, machines, hints, operators and stores.

use dlock_core::{ErrorKind, provider::Discipline};
use dlock_testkit::{faults::Op, machine::Standstill};

use super::Draw;
use crate::simulation::plan::{ClientPlan, Effect, Fault, StoreEvent};

impl Draw {
    pub(super) fn faults(&mut self, clients: &[ClientPlan], discipline: Discipline) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.chance(8) {
            return faults;
        }
        let effects = self.effects();
        let count = clients.len();
        for client in 0..count {
            if !effects.is_empty() {
                for _ in 0..self.rng.usize(0..14) {
                    let effect = *self.of(&effects);
                    faults.push(self.call(client, effect));
                }
            }
            // Orphans of refused tries, and leases that end while no caller looks: rare otherwise.
            if self.chance(25) {
                for _ in 0..self.rng.usize(1..=4) {
                    let effect = Effect::Duplicate(self.span(10));
                    faults.push(self.strike(client, Op::Acquire, 20, effect));
                }
            }
            if self.chance(15) {
                for _ in 0..self.rng.usize(1..=3) {
                    let effect = Effect::SleepAnswered(self.span(30));
                    faults.push(self.strike(client, Op::Acquire, 12, effect));
                }
            }
            if self.chance(6) {
                faults.push(self.standstill(client, Standstill::Stopped, true));
            }
        }
        if self.chance(40) {
            for _ in 0..self.rng.usize(1..=5) {
                let client = self.rng.usize(0..count);
                let how = *self.of(&[Standstill::Stopped, Standstill::Suspended]);
                faults.push(self.standstill(client, how, false));
            }
        }
        if self.chance(40) {
            for _ in 0..self.rng.usize(1..=4) {
                let client = self.chance(50).then(|| self.rng.usize(0..count));
                faults.push(self.network(client));
            }
        }
        if self.chance(30) {
            for _ in 0..self.rng.usize(1..=3) {
                faults.push(Fault::Mute {
                    client: self.rng.usize(0..count),
                    from: self.at(),
                    lasting: self.span(10),
                });
            }
        }
        if self.chance(60) {
            self.operators(&mut faults);
        }
        if self.chance(35) {
            self.stores(&mut faults, discipline);
        }
        if self.chance(8) {
            self.breakers(&mut faults, count);
        }
        faults
    }

    /// The effects that can strike a call in this run.
    fn effects(&mut self) -> Vec<Effect> {
        let late = |draw: &mut Self| draw.span(30);
        let all = [
            Effect::LoseRequest,
            Effect::LoseReply,
            Effect::Refuse(ErrorKind::NotApplied),
            Effect::Refuse(ErrorKind::Unknown),
            Effect::Refuse(ErrorKind::Fatal),
            Effect::Doubt(ErrorKind::Unknown),
            Effect::Doubt(ErrorKind::NotApplied),
            Effect::DelayRequest(late(self)),
            Effect::DelayRequest(self.span(4)),
            Effect::DelayReply(self.span(2)),
            Effect::DelayReply(late(self)),
            Effect::Duplicate(self.span(2)),
            Effect::Duplicate(late(self)),
            Effect::Duplicate(late(self)),
            Effect::Stale(self.rng.usize(1..6)),
            Effect::Spend,
            Effect::SleepSent(late(self)),
            Effect::SleepAnswered(late(self)),
            Effect::SleepAnswered(late(self)),
        ];
        let part = self.rng.u8(10..=70);
        all.into_iter().filter(|_| self.chance(part)).collect()
    }

    fn call(&mut self, client: usize, effect: Effect) -> Fault {
        let (op, most) = match effect {
            Effect::Stale(_) => (Op::Read, 3),
            Effect::Spend => (Op::Acquire, 20),
            Effect::SleepSent(_) | Effect::SleepAnswered(_) => {
                *self.of(&[(Op::Acquire, 20), (Op::Acquire, 20), (Op::Renew, 20)])
            }
            _ => *self.of(&[
                (Op::Acquire, 30),
                (Op::Acquire, 30),
                (Op::Renew, 24),
                (Op::Renew, 24),
                (Op::Release, 12),
                (Op::Watch, 3),
            ]),
        };
        self.strike(client, op, most, effect)
    }

    /// Strikes one of a client's first calls of this operation.
    pub(super) fn strike(&mut self, client: usize, op: Op, most: u64, effect: Effect) -> Fault {
        Fault::Call {
            client,
            op,
            nth: self.rng.u64(0..most),
            effect,
        }
    }

    /// Draws faults of waiters' looks.
    pub(super) fn looks(&mut self, clients: usize, faults: &mut Vec<Fault>) {
        if self.chance(20) {
            return;
        }
        for client in 0..clients {
            for _ in 0..self.rng.usize(0..5) {
                let effect = match self.rng.u8(0..16) {
                    0 => Effect::Refuse(ErrorKind::Fatal),
                    1..=3 => Effect::Refuse(ErrorKind::NotApplied),
                    4 | 5 => Effect::Refuse(ErrorKind::Unknown),
                    6 | 7 => Effect::LoseRequest,
                    8 | 9 => Effect::LoseReply,
                    10 | 11 => Effect::DelayReply(self.span(4)),
                    12 | 13 => Effect::SleepAnswered(self.span(30)),
                    _ => Effect::Stale(self.rng.usize(1..4)),
                };
                faults.push(self.strike(client, Op::Read, 24, effect));
            }
        }
    }

    fn network(&mut self, client: Option<usize>) -> Fault {
        let effect = *self.of(&[
            Effect::LoseRequest,
            Effect::LoseReply,
            Effect::LoseReply,
            Effect::Refuse(ErrorKind::NotApplied),
            Effect::Refuse(ErrorKind::Unknown),
            Effect::Doubt(ErrorKind::Unknown),
        ]);
        let most = *self.of(&[3, 8, 30]);
        Fault::Network {
            client,
            from: self.at(),
            lasting: self.span(most),
            effect,
        }
    }

    fn standstill(&mut self, client: usize, how: Standstill, for_ever: bool) -> Fault {
        Fault::Standstill {
            client,
            from: self.at(),
            lasting: (!for_ever).then(|| self.span(20)),
            how,
        }
    }

    fn operators(&mut self, faults: &mut Vec<Fault>) {
        for _ in 0..self.rng.usize(1..=5) {
            let name = format!("n{}", self.rng.usize(0..self.names));
            let event = match self.rng.u8(0..5) {
                0 | 1 => StoreEvent::Revoke(name),
                2 | 3 => StoreEvent::Ask(name),
                _ => StoreEvent::Purge(name),
            };
            let at = self.at();
            faults.push(Fault::Store { at, event });
        }
    }

    fn stores(&mut self, faults: &mut Vec<Fault>, discipline: Discipline) {
        for _ in 0..self.rng.usize(1..=3) {
            let event = match self.rng.u8(0..6) {
                0 | 1 => StoreEvent::ReadOnly(self.span(6)),
                2 => StoreEvent::BreakWatches,
                3 | 4 => StoreEvent::Backward(self.span(60)),
                _ if discipline == Discipline::Observer => StoreEvent::Forward(self.span(60)),
                _ => StoreEvent::BreakWatches,
            };
            let at = self.at();
            faults.push(Fault::Store { at, event });
        }
    }

    /// Draws faults that take guarantees away.
    fn breakers(&mut self, faults: &mut Vec<Fault>, clients: usize) {
        for _ in 0..self.rng.usize(1..=3) {
            let name = format!("n{}", self.rng.usize(0..self.names));
            let client = self.rng.usize(0..clients);
            let at = self.at();
            faults.push(match self.rng.u8(0..6) {
                0 => Fault::Store {
                    at,
                    event: StoreEvent::Forward(self.span(30)),
                },
                1 => Fault::Store {
                    at,
                    event: StoreEvent::Rollback(self.rng.usize(1..6)),
                },
                2 => Fault::Store {
                    at,
                    event: StoreEvent::Force(name),
                },
                3 => self.standstill(client, Standstill::Frozen, false),
                _ => Fault::Store {
                    at,
                    event: StoreEvent::Rollback(1),
                },
            });
        }
    }
}
