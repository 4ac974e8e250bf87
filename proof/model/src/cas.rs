//! A second, small model: how a request of the protocol becomes reads and conditional writes.
//!
//! The first model assumes that a request meets the record once, in one atomic step. A store that can only
//! read, and write a record if it is unchanged, takes several: a write based on an earlier read, a new read
//! after a refusal, another write. This model shows that no client can tell the difference: every write
//! is the result of the rules for the record that it replaces, so it is an arrival of the request or of a copy of it,
//! and every answer without a write was true of the record at an instant within the call. So everything that the first
//! model shows holds for such stores too, and need not be shown again.
//!
//! The model has one name; clients that make any request that the protocol allows them, in any order, based on the
//! last record that each has seen; writes that are lost, late, or silently repeated by the client's library; calls
//! that are given up. A read is one step: it is linearizable, and the decision based on it is immediate.
//! The model leaves out what decides nothing here: time, durations, data, and the grounds of claims.

mod rules;
mod step;

use stateright::{Model, Property as Condition};

pub use self::{
    rules::{Decision, Record, Request, Verdict},
    step::{Action, Call, Client, Late, State},
};

/// The number of clients.
pub const CLIENTS: usize = 2;

/// One configuration.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "tests build it")]
pub struct Cas {
    /// The calls of each client.
    pub calls: u8,
    /// Writes that arrive once more, at once or later, of all clients together.
    pub copies: u8,
    /// The writes that a call tries.
    pub rounds: u8,
    /// The trap, if any.
    pub trap: Option<Trap>,
}

/// A deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "tests go through all of them")]
pub enum Trap {
    /// The last record that a client has seen decides an answer.
    VerdictFromCache,
    /// The store writes unconditionally.
    PutWithoutCondition,
    /// The contents do not contain the number of renewals, so they repeat.
    ContentsRepeat,
    /// A read shows the record before the last write.
    StaleLook,
    /// After a refused write a read fails, and the call reports that nothing happened.
    FailedLookDenies,
    /// After a refused write a release finds another's record, and reports that the lock was not held.
    NotHeldAfterRefusal,
    /// A renewal whose write was refused counts as lost, although the write that came first may have been a mark.
    RefusedRenewalIsLost,
}

/// A property of every reachable state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "tests go through all of them")]
pub enum Property {
    /// Every write is the result of its request's rules for the record that it replaces.
    EffectsFit,
    /// Every answer without a write was true at an instant within the call.
    VerdictsFit,
    /// A request that is reported as not applied was not.
    NothingDenied,
    /// No release that freed the lock is answered "not held".
    NoFalseNotHeld,
    /// Every grant has a larger token than all earlier ones.
    TokensGrow,
}

impl Trap {
    /// All traps, each with the property that it violates.
    pub const ALL: &'static [(Self, Property)] = &[
        (Self::VerdictFromCache, Property::VerdictsFit),
        (Self::PutWithoutCondition, Property::EffectsFit),
        (Self::ContentsRepeat, Property::EffectsFit),
        (Self::StaleLook, Property::VerdictsFit),
        (Self::FailedLookDenies, Property::NothingDenied),
        (Self::NotHeldAfterRefusal, Property::NoFalseNotHeld),
        (Self::RefusedRenewalIsLost, Property::VerdictsFit),
    ];
}

impl Property {
    /// Its place in `State::violated`.
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl Cas {
    pub(crate) fn is(&self, trap: Trap) -> bool {
        self.trap == Some(trap)
    }
}

impl Model for Cas {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::new(self)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        state.choices(self, actions);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        // A violation stays recorded.
        (state.violated == 0).then(|| state.after(self, action))
    }

    fn properties(&self) -> Vec<Condition<Self>> {
        macro_rules! conditions {
            ($($property:ident),*) => {
                vec![$(Condition::always(stringify!($property), |_, state: &State| {
                    state.violated & Property::$property.bit() == 0
                })),*]
            };
        }
        conditions![
            EffectsFit,
            VerdictsFit,
            NothingDenied,
            NoFalseNotHeld,
            TokensGrow
        ]
    }
}
