//! A third, small model: whether a waiter of another process gets in while one client's own line never ends (S3, W8).
//!
//! The first model sets no upper bound: any step may be put off. Here time passes, and every due step happens. Client A
//! always has waiters: its term continues from lease to lease until its turn has ended and the lease held then ends.
//! Client B has one waiter, which hears nothing of releases: each of its tries is refused and marks the term (N1), or
//! gets the name. While the term that it sees is new it tries four times in a poll interval, later once (N8). A leaves
//! the name at the end of a marked term, once it has had it to itself for as long as a turn may take (N7).
//!
//! Left out is the subject of the first model: the store grants the name to one client at a time, and answers at once.

use stateright::{Model, Property};

/// One configuration. All times in ticks.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "tests build it")]
pub struct Turns {
    /// How long a term may continue before it is given back (S3), and how long A may have the name to itself (N7).
    pub turn: u8,
    /// The longest time for which a caller holds a lease.
    pub work: u8,
    /// A quarter of the longest time between two tries of B's waiter.
    pub quarter: u8,
    /// For how many quarters A leaves the name after a short term, and after a long one (N7).
    pub leaves: [u8; 2],
    /// The trap, if any.
    pub trap: Option<Trap>,
}

/// A deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "tests go through all of them")]
pub enum Trap {
    /// After its turn A lets its own line try at once, although another process waits.
    OwnLineAsksAtOnce,
    /// A's next try claims the term that ended (ground (b)), so the name is never free.
    EndedTermClaimed,
    /// A's turn has no end: the term continues as long as there is a waiter.
    TurnWithoutEnd,
    /// A refused try leaves no mark.
    NeverMarks,
}

/// One instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "a model's state hides nothing")]
pub struct State {
    /// The holder of the name.
    pub holder: Holder,
    /// For how long the name has been held.
    pub held: u8,
    /// For how long A has had the name to itself, if it has had it since B or since it left it.
    pub alone: Option<u8>,
    /// B has marked A's term.
    pub marked: bool,
    /// For how long A still leaves the name alone.
    pub away: u8,
    /// The time until the next try of B's waiter.
    pub next_try: u8,
    /// For how long it has seen this term, if it has.
    pub seen: Option<u8>,
    /// For how long it has waited, up to one tick more than it ever should.
    pub waited: u8,
}

/// The holder of the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "there are two clients")]
pub enum Holder {
    /// It is free.
    Nobody,
    /// A, the client with the endless line.
    A,
    /// B, the other client.
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
    /// A's term ends: its turn has ended, or its block is used up.
    TurnEnds,
    /// The head of A's line tries.
    Ask,
    /// B's waiter tries.
    Try,
    /// B releases the name, and its next waiter comes.
    GivenBack,
}

impl Turns {
    /// The longest that B's waiter should wait: until A has had the name to itself for a turn; the term that begins
    /// just before that; and the time until its next try, while A leaves the name alone.
    #[must_use]
    pub fn bound(&self) -> u8 {
        self.turn + self.turn + self.work + self.poll()
    }

    fn poll(&self) -> u8 {
        4 * self.quarter
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

    /// A releases its term: sets for how long it leaves the name alone.
    fn release(&self, state: &mut State) {
        state.holder = Holder::Nobody;
        state.away = 0;
        let long = state.held > 2 * self.poll();
        if state.marked && state.alone.is_some_and(|alone| alone >= self.turn) {
            state.alone = None;
            if !self.is(Trap::OwnLineAsksAtOnce) {
                state.away = self.leaves[usize::from(long)] * self.quarter;
            }
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
            alone: None,
            marked: false,
            away: 0,
            next_try: 0,
            seen: None,
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
            actions.push(Action::Try);
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = *state;
        match action {
            Action::Tick => {
                let longest = (self.turn + self.work).max(2 * self.poll() + 1);
                next.held = (state.held + 1).min(longest);
                next.alone = state.alone.map(|alone| (alone + 1).min(self.turn));
                next.seen = state.seen.map(|seen| (seen + 1).min(2 * self.poll() + 1));
                next.away = state.away.saturating_sub(1);
                if state.holder != Holder::B {
                    next.next_try = state.next_try.saturating_sub(1);
                    next.waited = (state.waited + 1).min(self.bound() + 1);
                }
            }
            Action::TurnEnds if self.is(Trap::EndedTermClaimed) => next.held = 0,
            Action::TurnEnds => self.release(&mut next),
            Action::Ask => {
                next.holder = Holder::A;
                next.held = 0;
                next.marked = false;
                next.seen = None;
                next.alone = state.alone.or(Some(0));
            }
            Action::Try if state.holder == Holder::Nobody => {
                next.holder = Holder::B;
                next.held = 0;
                next.waited = 0;
                // A sees a term of another client.
                next.alone = None;
                next.away = 0;
            }
            Action::Try => {
                next.marked = !self.is(Trap::NeverMarks);
                let seen = state.seen.unwrap_or(0);
                next.seen = Some(seen);
                next.next_try = if seen <= 2 * self.poll() {
                    self.quarter
                } else {
                    self.poll()
                };
            }
            Action::GivenBack => {
                next.holder = Holder::Nobody;
                next.next_try = 0;
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(
            "no waiter waits for longer",
            |turns: &Self, state: &State| state.waited <= turns.bound(),
        )]
    }
}
