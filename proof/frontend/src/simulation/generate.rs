//! Drawing a plan from a seed. Each seed switches a random part of the faults on, so that some runs have many of one
//! kind and others none: the *absence* of faults also leads to rare states.

mod crews;
mod crowds;
mod faults;
mod mixes;
mod periods;

use std::time::Duration;

use dlock_core::provider::Discipline;
use fastrand::Rng;

use super::plan::{
    Away, Cancel, ClientPlan, Copies, Ending, HandlePlan, Plan, Settings, Step, Usage, Way,
    WorkEnd, WritePlan,
};

/// Roughly how long a run lasts: faults are drawn within it.
const SPAN: u64 = 12_000;

/// Draws looks separately from the rest of a plan, and hand-overs separately from both.
const LOOKS: u64 = 0x6c6f_6f6b;
const HAND_OVERS: u64 = 0x6865_6972;

/// Draws crews separately, too.
const CREWS: u64 = 0x6372_6577;

/// One seed in this many has a mix, drawn separately: the plans of the other seeds stay as they were.
const MIXED: u64 = 8;
const MIXES: u64 = 0x6d69_7865;

/// A seed with this remainder, divided by `MIXED`, has periods.
const WITH_PERIODS: u64 = 1;
const PERIODS: u64 = 0x7065_7269;

/// A seed with this remainder, divided by `CROWDED_EVERY`, has a crowd.
const CROWDED: u64 = 2;
const CROWDED_EVERY: u64 = 4;
const CROWDS: u64 = 0x6372_6f77;

impl Plan {
    /// The plan of a seed.
    #[must_use]
    pub fn from_seed(seed: u64, discipline: Discipline) -> Self {
        let mut draw = Draw {
            rng: Rng::with_seed(seed),
            names: 1,
            unit: 100,
        };
        draw.names = draw.rng.usize(1..=3);
        draw.unit = *draw.of(&[100, 200, 400]);
        let mut clients = draw.clients();
        let mut faults = draw.faults(&clients, discipline);
        let store_rate = *draw.of(&[0.9, 1.0, 1.0, 1.1]);
        // Drawn separately: the rest of a seed's plan is the same as before looks existed.
        draw.rng = Rng::with_seed(seed ^ LOOKS);
        let cheap_reads = discipline == Discipline::Observer && draw.chance(40);
        if cheap_reads {
            draw.looks(clients.len(), &mut faults);
        }
        draw.rng = Rng::with_seed(seed ^ HAND_OVERS);
        draw.hand_overs(&mut clients);
        // So are crews.
        draw.rng = Rng::with_seed(seed ^ CREWS);
        draw.crews(&mut clients, &mut faults);
        if seed % MIXED == MIXED - 1 {
            draw.rng = Rng::with_seed(seed ^ MIXES);
            draw.mixes(&mut clients, &mut faults);
        }
        if seed % MIXED == WITH_PERIODS {
            draw.rng = Rng::with_seed(seed ^ PERIODS);
            draw.periods(&mut clients, &mut faults);
        }
        if seed % CROWDED_EVERY == CROWDED {
            draw.rng = Rng::with_seed(seed ^ CROWDS);
            draw.crowds(&mut clients);
        }
        Self {
            seed,
            discipline,
            store_rate,
            cheap_reads,
            clients,
            faults,
        }
    }
}

struct Draw {
    rng: Rng,
    names: usize,
    /// A third of a short lease of this run, in milliseconds.
    unit: u64,
}

impl Draw {
    fn clients(&mut self) -> Vec<ClientPlan> {
        let count = self.rng.usize(3..=8);
        let most_handles = if count > 5 { 1 } else { 3 };
        let wakeups = self.rng.u8(0..3);
        let slow = self.chance(15);
        (0..count)
            .map(|_| {
                let least = self.rng.u64(1..=2);
                let most = if slow {
                    self.unit / 2
                } else {
                    least + self.rng.u64(0..=self.unit / 25)
                };
                ClientPlan {
                    rate: *self.of(&[0.9, 0.95, 1.0, 1.0, 1.05, 1.1]),
                    wakeups: match wakeups {
                        0 => false,
                        1 => true,
                        _ => self.rng.bool(),
                    },
                    latency: (least, most),
                    closes: self.chance(12).then(|| self.at()),
                    handles: (0..self.rng.usize(1..=most_handles))
                        .map(|_| self.handle())
                        .collect(),
                }
            })
            .collect()
    }

    /// S1, H7: crowds that hand a name on within one client, and tickets.
    fn hand_overs(&mut self, clients: &mut [ClientPlan]) {
        if self.chance(50) {
            let crowded = self.rng.usize(..clients.len());
            for _ in 0..self.rng.usize(2..=5) {
                let mut handle = self.handle();
                "n0".clone_into(&mut handle.name);
                for step in &mut handle.steps {
                    step.pause = step.pause.min(handle.settings.duration / 5);
                    step.usage.hold = step.usage.hold.min(handle.settings.duration / 4);
                }
                clients[crowded].handles.push(handle);
            }
        }
        if self.chance(60) {
            let handles = clients.iter_mut().flat_map(|client| &mut client.handles);
            for step in handles.flat_map(|handle| &mut handle.steps) {
                if self.chance(20) {
                    step.usage.ending = Ending::HandOver;
                }
                let copies = *self.of(&[Copies::One, Copies::One, Copies::More]);
                step.redeems = self.chance(50).then_some(copies);
            }
        }
    }

    fn handle(&mut self) -> HandlePlan {
        let settings = self.settings();
        let lease = millis(settings.duration);
        let steps = self.rng.usize(3..=7);
        HandlePlan {
            name: format!("n{}", self.rng.usize(0..self.names)),
            label: None,
            steps: (0..steps).map(|_| self.step(lease)).collect(),
            settings,
        }
    }

    fn settings(&mut self) -> Settings {
        let lease = self.unit * self.rng.u64(3..=10);
        Settings {
            duration: ms(lease),
            margin: *self.of(&[0.2, 0.2, 0.2, 0.3]),
            renew_every: ms(lease * *self.of(&[33, 33, 10, 40]) / 100),
            poll_every: self.chance(25).then(|| ms(*self.of(&[5, 20, 150, 700]))),
            give_up_after: ms(lease * *self.of(&[1, 2, 4, 8])),
            max_hold: self
                .chance(15)
                .then(|| ms(lease * self.rng.u64(10..=20) / 10)),
            data: self.chance(30).then(|| vec![self.rng.u8(..); 3]),
            at_least: None,
        }
    }

    fn step(&mut self, lease: u64) -> Step {
        let way = match self.rng.u8(0..20) {
            0 => Way::Read,
            1..=5 => Way::Try,
            6..=8 => Way::Wait,
            9..=12 => Way::Within(ms(match self.rng.u8(0..8) {
                0 => 0,
                1..=3 => self.rng.u64(1..lease),
                _ => self.rng.u64(lease..4 * lease),
            })),
            13..=15 => Way::Hold,
            _ => Way::With(match self.rng.u8(0..6) {
                0 => WorkEnd::Panics,
                1 | 2 => WorkEnd::Blocks(ms(self.rng.u64(1..2 * lease))),
                _ => WorkEnd::Returns,
            }),
        };
        Step {
            pause: ms(match self.rng.u8(0..12) {
                0 => self.rng.u64(4 * lease..14 * lease),
                1..=5 => self.rng.u64(0..lease),
                _ => self.rng.u64(0..=lease / 10),
            }),
            way,
            cancel: self.chance(20).then(|| self.cancel(3 * lease)),
            redeems: None,
            away: self.chance(20).then(|| Away {
                at_poll: self.rng.u32(1..=2),
                lasting: ms(if self.rng.bool() {
                    self.rng.u64(1..lease / 6)
                } else {
                    self.rng.u64(1..2 * lease)
                }),
            }),
            usage: self.usage(lease),
        }
    }

    fn usage(&mut self, lease: u64) -> Usage {
        let keep = self.chance(60);
        let renewals = if keep && self.chance(80) {
            0
        } else {
            self.rng.usize(0..=4)
        };
        let burst = self.chance(30);
        Usage {
            keep,
            renewals: (0..renewals)
                .map(|_| {
                    let after = if burst {
                        self.rng.u64(0..=lease / 60)
                    } else {
                        self.rng.u64(0..lease)
                    };
                    let cancel = if burst {
                        Some(Cancel::AtPoll(1))
                    } else {
                        self.chance(50).then(|| self.cancel(lease / 8))
                    };
                    (ms(after), cancel)
                })
                .collect(),
            hold: ms(match self.rng.u8(0..10) {
                0 => self.rng.u64(2 * lease..12 * lease),
                1..=3 => self.rng.u64(lease / 2..2 * lease),
                _ => self.rng.u64(0..lease / 2),
            }),
            write: self.chance(50).then(|| WritePlan {
                gap: ms(self.rng.u64(0..=lease / 4)),
                travel: ms(if self.chance(20) {
                    self.rng.u64(0..2 * lease)
                } else {
                    self.rng.u64(0..=lease / 20)
                }),
            }),
            ending: match self.rng.u8(0..5) {
                0 => Ending::Drop,
                1 => Ending::ReleaseDropped(self.cancel(lease / 10)),
                _ => Ending::Release,
            },
        }
    }

    fn cancel(&mut self, most: u64) -> Cancel {
        if self.rng.bool() {
            Cancel::AtPoll(self.rng.u32(1..=3))
        } else {
            Cancel::After(ms(self.rng.u64(0..=most)))
        }
    }

    fn at(&mut self) -> Duration {
        ms(self.rng.u64(0..SPAN))
    }

    /// Up to this many units.
    fn span(&mut self, most: u64) -> Duration {
        ms(self.rng.u64(1..=most * self.unit))
    }

    fn chance(&mut self, percent: u8) -> bool {
        self.rng.u8(0..100) < percent
    }

    fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.rng.usize(0..choices.len())]
    }
}

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
