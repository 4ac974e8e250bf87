//! A second, small model: how a request of the protocol becomes looks and conditional writes.
//!
//! The first model takes it for granted that a request meets the record once, in one atomic step. A store that can only
//! read, and write what is unchanged, takes several: a write on the strength of what was seen before, a look
//! after it was refused, another write. This model shows that nobody can tell the difference: every write
//! is what the rules make of the record that it replaces, so it is an arrival of the request or of a copy of it, and every
//! answer without a write was true of the record at an instant within the call. Then everything that the first
//! model shows holds for such stores too, and it need not be shown again.
//!
//! Modelled are one name, clients that do whatever the protocol may ask of them, in any order, with what
//! each has seen last; writes that are lost, late, or repeated by the client's library in secret; calls
//! that are given up. A look is one step: it is linearizable, and what is decided on it is decided at once.
//! Left out is what decides nothing here: time, durations, data, who may claim what.

mod rules;
mod step;

use stateright::{Model, Property as Condition};

pub use self::{
    rules::{Decision, Record, Request, Verdict},
    step::{Action, Call, Client, Late, State},
};

/// How many clients take part.
pub const CLIENTS: usize = 2;

/// One configuration.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "tests build it")]
pub struct Cas {
    /// Calls of each client.
    pub calls: u8,
    /// Writes that arrive once more, now or later, all clients together.
    pub copies: u8,
    /// Writes that a call tries.
    pub rounds: u8,
    /// What is wrong on purpose.
    pub trap: Option<Trap>,
}

/// Something wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "tests go through all of them")]
pub enum Trap {
    /// What a client has seen last decides an answer.
    VerdictFromCache,
    /// The store writes whatever is there.
    PutWithoutCondition,
    /// Contents do not say how often they were renewed, so they repeat.
    ContentsRepeat,
    /// A look shows what was there before the last write.
    StaleLook,
    /// After a refused write a look fails, and the call says that nothing happened.
    FailedLookDenies,
    /// After a refused write a release finds another's record, and says that it was not held.
    NotHeldAfterRefusal,
    /// A renewal whose write was refused is lost: that may have been a mark.
    RefusedRenewalIsLost,
}

/// What must hold in every reachable state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "tests go through all of them")]
pub enum Property {
    /// A write is what its request makes of the record that it replaces.
    EffectsFit,
    /// An answer without a write was true at an instant within the call.
    VerdictsFit,
    /// What is said not to have happened did not.
    NothingDenied,
    /// "Not held" is not said of a release that freed the lock.
    NoFalseNotHeld,
    /// Every grant has a larger token than all before it.
    TokensGrow,
}

impl Trap {
    /// All of them, each with what notices.
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
        // What was violated stays so.
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
