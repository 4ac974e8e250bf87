//! A third, small model: whether a waiter of another process gets in while one client's own line never ends (S3, W8).
//!
//! The first model bounds nothing from above: any step may be put off. Here time passes, and what is due happens. Client A
//! has waiters without end: its term goes on from lease to lease until its turn is over and the lease that is held then
//! ends. Client B has one waiter, which hears nothing of releases and asks at least once in each poll interval. When it has waited
//! for its patience it says so (in the protocol by a reservation), and A sees that at the end of its turns.
//!
//! Left out is what the first model is about: the store grants the name to one at a time, and answers at once.

use stateright::{Model, Property};

/// One configuration. All times in ticks.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "tests build it")]
pub struct Turns {
    /// How long a term may go on before it is given back (S3).
    pub turn: u8,
    /// The longest time for which a caller holds a lease.
    pub work: u8,
    /// The longest time between two tries of B's waiter. It may be a tick less.
    pub poll: u8,
    /// How long B's waiter waits before it says so.
    pub patience: u8,
    /// For how long A leaves the name to somebody who waits (W8).
    pub leave: u8,
    /// What is wrong on purpose.
    pub trap: Option<Trap>,
}

/// Something wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "tests go through all of them")]
pub enum Trap {
    /// After its turn A lets its own line ask at once, although another process waits.
    OwnLineAsksAtOnce,
    /// A's next try claims the term that ended (ground (b)), so the name is never free.
    EndedTermClaimed,
    /// A's turn has no end: the term goes on as long as there is a waiter.
    TurnWithoutEnd,
}

/// One instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "a model's state hides nothing")]
pub struct State {
    /// Who holds the name.
    pub holder: Holder,
    /// For how long.
    pub held: u8,
    /// For how long A still leaves the name alone.
    pub away: u8,
    /// When B's waiter asks next.
    pub next_try: u8,
    /// For how long it has waited, up to one tick more than it ever should.
    pub waited: u8,
}

/// Who holds the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "there are two clients")]
pub enum Holder {
    /// It is free.
    Nobody,
    /// The client with the endless line.
    A,
    /// The other one.
    B,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the model and its tests are one crate"
)]
pub enum Action {
    /// Time passes.
    Tick,
    /// A's term ends: its turn is over, or its block is used up.
    TurnEnds,
    /// The head of A's line asks.
    Ask,
    /// B's waiter asks, and if it is refused it asks again after so long.
    Try(u8),
    /// B gives the name back, and its next waiter comes.
    GivenBack,
}

impl Turns {
    /// The longest that B's waiter should wait: until it says so; until its next try, before which the free name is
    /// taken by the head of A's line; that turn; and until its next try, while A leaves the name alone.
    #[must_use]
    pub fn bound(&self) -> u8 {
        self.patience + self.poll + self.turn + self.work + self.poll
    }

    fn is(&self, trap: Trap) -> bool {
        self.trap == Some(trap)
    }

    /// Something that must happen before time passes.
    fn is_due(&self, state: &State) -> bool {
        match state.holder {
            Holder::A if state.held >= self.turn + self.work => !self.is(Trap::TurnWithoutEnd),
            Holder::B => state.held >= self.work,
            Holder::A | Holder::Nobody => state.next_try == 0,
        }
    }
}

impl Model for Turns {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            holder: Holder::Nobody,
            held: 0,
            away: 0,
            next_try: 0,
            waited: 0,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if !self.is_due(state) {
            actions.push(Action::Tick);
        }
        match state.holder {
            Holder::Nobody if state.away == 0 => actions.push(Action::Ask),
            Holder::Nobody => {}
            Holder::A if self.is(Trap::TurnWithoutEnd) => {}
            Holder::A => actions.push(Action::TurnEnds),
            Holder::B => actions.push(Action::GivenBack),
        }
        if state.holder != Holder::B && state.next_try == 0 {
            actions.extend([self.poll - 1, self.poll].map(Action::Try));
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = *state;
        match action {
            Action::Tick => {
                next.held = (state.held + 1).min(self.turn + self.work);
                next.away = state.away.saturating_sub(1);
                if state.holder != Holder::B {
                    next.next_try = state.next_try.saturating_sub(1);
                    next.waited = (state.waited + 1).min(self.bound() + 1);
                }
            }
            Action::TurnEnds if self.is(Trap::EndedTermClaimed) => next.held = 0,
            Action::TurnEnds => {
                next.holder = Holder::Nobody;
                let heeds = state.waited >= self.patience && !self.is(Trap::OwnLineAsksAtOnce);
                next.away = if heeds { self.leave } else { 0 };
            }
            Action::Ask => {
                next.holder = Holder::A;
                next.held = 0;
            }
            Action::Try(_) if state.holder == Holder::Nobody => {
                next.holder = Holder::B;
                next.held = 0;
                next.waited = 0;
                // A sees a term of another client.
                next.away = 0;
            }
            Action::Try(pause) => next.next_try = pause,
            Action::GivenBack => {
                next.holder = Holder::Nobody;
                next.next_try = 0;
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(
            "nobody waits for longer",
            |turns: &Self, state: &State| state.waited <= turns.bound(),
        )]
    }
}
