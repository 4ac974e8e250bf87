//! The protocol in the form that stateright needs: states, actions, properties.

use std::sync::Arc;

use stateright::{Model, Property as Condition};

use crate::{
    action::Action,
    choice::choices,
    config::Config,
    dominance::in_vain,
    event::{Event, Log, Seen},
    normal::normalise,
    property::Property,
    state::{REVOKED, State, Term},
    step::Step,
    store,
};

/// One configuration of the protocol.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "tests and the binary build it")]
pub struct Protocol {
    /// The configuration of the search.
    pub config: Config,
    /// The events that the search saw.
    pub seen: Arc<Seen>,
}

impl Protocol {
    /// A model of this configuration, with no events counted yet.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            seen: Arc::default(),
        }
    }

    /// The state after a step, and the events of the step.
    #[must_use]
    pub fn explain(&self, state: &State, action: Action) -> (State, Vec<Event>) {
        let mut events = Vec::new();
        (self.after(state, action, &mut events), events)
    }

    /// The representative of a state (`normal`).
    #[must_use]
    pub fn normal_form(&self, state: &State) -> State {
        let mut state = state.clone();
        normalise(&self.config, &mut state);
        state
    }

    /// Whether this property holds in this state.
    #[must_use]
    pub fn holds(&self, property: Property, state: &State) -> bool {
        if state.violated & property.bit() != 0 {
            return false;
        }
        match property {
            Property::Exclusion => {
                let valid = state.terms.iter().map(Term::valid_leases);
                valid.sum::<usize>() <= 1
            }
            Property::Backed => self.backed(state),
            Property::BlockedAtMostD => {
                let longest = state.record.duration.cast_signed()
                    + self.config.longest_step_back(self.config.step_count);
                !state.record.held() || state.record.expiry <= longest
            }
            _ => true,
        }
    }

    /// I2. A revoke changes the uuid and keeps every other client out as before. A forced release and a step
    /// of the store's clock are documented to end a lease early.
    fn backed(&self, state: &State) -> bool {
        let documented =
            self.config.forces > 0 || self.config.failovers > 0 || !self.config.steps.is_empty();
        documented
            || (1..).zip(&state.terms).all(|(id, term)| {
                let record = &state.record;
                let kept = record.held_by(id) || record.held_by(REVOKED);
                !term.goes_on() || (kept && !store::expired(&self.config, record))
            })
    }

    fn after(&self, state: &State, action: Action, log: &mut impl Log) -> State {
        let mut next = state.clone();
        Step {
            config: &self.config,
            state: &mut next,
            log,
        }
        .take(action);
        normalise(&self.config, &mut next);
        next
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let config = &self.config;
        let mut state = State {
            drifts: config.drifts,
            steps: config.step_count,
            forces: config.forces,
            purges: config.purges,
            failovers: config.failovers,
            ..State::default()
        };
        for client in &mut state.clients[..usize::from(config.clients)] {
            client.renewals = config.renewals;
            client.copies = config.copies;
            client.crashes = config.crashes;
        }
        state.revoke.left = config.revokes;
        state.revoke.duplicates = u8::from(config.revokes > 0);
        vec![state]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        choices(&self.config, state, actions);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = state.clone();
        let mut log = &*self.seen;
        Step {
            config: &self.config,
            state: &mut next,
            log: &mut log,
        }
        .take(action);
        if self.config.dominant && in_vain(action, state, &next) {
            return None;
        }
        normalise(&self.config, &mut next);
        Some(next)
    }

    fn properties(&self) -> Vec<Condition<Self>> {
        // A condition is a plain function, so each property needs its own.
        macro_rules! conditions {
            ($($property:ident),* $(,)?) => {
                [$((
                    Property::$property,
                    (|model, state| model.holds(Property::$property, state))
                        as fn(&Self, &State) -> bool,
                )),*]
            };
        }
        let conditions = conditions![
            Exclusion,
            Backed,
            TokensGrow,
            LeaseTokensGrow,
            TokensDiffer,
            AboveFloor,
            FencedOrder,
            DeadlineFromSent,
            NothingRevived,
            StaleChangesNothing,
            GrantsOnce,
            AnswersFit,
            NoFalseLoss,
            NoDeadGrant,
            ReleaseFrees,
            OwnOrphanNeverBlocks,
            TicketNeverBlocks,
            ObservationEnds,
            ClosedKeepsOut,
            BlockedAtMostD,
        ];
        conditions
            .into_iter()
            .filter(|(property, _)| self.config.properties.contains(property))
            .map(|(property, condition)| Condition::always(property.name(), condition))
            .collect()
    }
}
