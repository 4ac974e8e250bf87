//! The configurations that are searched to their end, and the events that each must have seen.

mod successors;

use crate::{
    config::{Config, Discipline},
    event::Event,
    property::Property,
    state::CLIENTS,
    store::Rule,
};

/// One configuration of the suite.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "read by tests and the binary")]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// The configuration.
    pub config: Config,
    /// Events that must happen somewhere in it, so that its properties do not hold merely for lack of events.
    pub sees: Vec<Event>,
    /// Whether it takes minutes and is run only on request.
    pub long: bool,
}

/// The events of every configuration with renewals.
const ALWAYS: [Event; 10] = [
    Event::Store(Rule::A1),
    Event::Store(Rule::A4),
    Event::Store(Rule::A7),
    Event::Store(Rule::R1),
    Event::Store(Rule::L1),
    Event::Orphan,
    Event::Granted,
    Event::Extended,
    Event::NotExtended,
    Event::DeadlinePassed,
];

/// The events where all steps are taken, and requests arrive twice.
const EVERY_STEP: [Event; 10] = [
    Event::Store(Rule::A2),
    Event::Store(Rule::A3),
    Event::Store(Rule::A6),
    Event::Store(Rule::R2),
    Event::Store(Rule::R3),
    Event::Store(Rule::L3),
    Event::ReplayAnswered,
    Event::GrantTooLate,
    Event::Refused,
    Event::SeenAgain,
];

/// All configurations.
#[must_use]
pub fn suite() -> Vec<Entry> {
    [Discipline::StoreClock, Discipline::Observer]
        .into_iter()
        .flat_map(|discipline| {
            let mut entries = common(discipline);
            entries.extend(successors::rows(discipline));
            if discipline == Discipline::StoreClock {
                entries.extend(clock_steps());
            }
            let label = match discipline {
                Discipline::StoreClock => "store clock",
                Discipline::Observer => "observer",
            };
            entries.into_iter().map(move |(name, config, more, long)| {
                let mut sees = more;
                if config.renewals > 0 {
                    sees.extend(ALWAYS);
                }
                if discipline == Discipline::StoreClock {
                    sees.push(Event::Store(Rule::A5));
                }
                // With exact clocks an observation ends no sooner than the expiry does.
                let back = config.steps.iter().any(|step| *step < 0);
                if discipline == Discipline::Observer || config.drifts > 0 || back {
                    sees.push(Event::TakenByObservation);
                }
                Entry {
                    name: format!("{label}: {name}"),
                    config,
                    sees,
                    long,
                }
            })
        })
        .collect()
}

type Row = (&'static str, Config, Vec<Event>, bool);

#[expect(clippy::too_many_lines, reason = "a table")]
fn common(discipline: Discipline) -> Vec<Row> {
    let base = Config::new(discipline);
    let dominant = Config {
        crashes: 0,
        ..base.clone()
    };
    let every_step = Config {
        dominant: false,
        ..base.clone()
    };
    let own = vec![Event::TakenFromOneself, Event::ReplayAnswered];
    let fence: &'static [Property] = &[Property::TokensGrow, Property::FencedOrder];
    vec![
        (
            "2 clients, 2 tries, 2 renewals, 1 copy",
            dominant.clone(),
            own.clone(),
            false,
        ),
        (
            "2 clients, 2 tries, 2 renewals, 1 copy, crash as a step of its own",
            base.clone(),
            own.clone(),
            true,
        ),
        (
            "2 tries, 1 renewal, 1 copy, looks at any time",
            Config {
                looks_at_once: false,
                renewals: 1,
                drifts: 0,
                ..dominant.clone()
            },
            own.clone(),
            false,
        ),
        (
            "2 tries, 2 renewals, 1 copy, looks at any time",
            Config {
                looks_at_once: false,
                ..dominant.clone()
            },
            own.clone(),
            true,
        ),
        (
            "every step, 1 try, 1 renewal, 1 copy, crash",
            Config {
                tries: 1,
                renewals: 1,
                ..every_step.clone()
            },
            EVERY_STEP.to_vec(),
            false,
        ),
        (
            "every step, 2 tries, 1 renewal, crash, no copy",
            Config {
                renewals: 1,
                copies: 0,
                drifts: 0,
                ..every_step.clone()
            },
            vec![Event::TakenFromOneself, Event::Refused, Event::GrantTooLate],
            false,
        ),
        (
            "every step, 2 tries, 1 renewal, 1 copy",
            Config {
                renewals: 1,
                crashes: 0,
                ..every_step.clone()
            },
            EVERY_STEP.to_vec(),
            true,
        ),
        (
            "hand-over",
            Config {
                hand_over: true,
                renewals: 1,
                drifts: 0,
                ..dominant.clone()
            },
            vec![Event::TicketRedeemed, Event::TicketRedeemedAtOtherNumber],
            false,
        ),
        (
            "a release closes the name for longer than D",
            Config {
                closes: 4,
                renewals: 1,
                drifts: 0,
                ..dominant.clone()
            },
            vec![Event::Store(Rule::B4), Event::Store(Rule::B4Again)],
            false,
        ),
        (
            "a release closes the name, every step",
            Config {
                closes: 4,
                tries: 1,
                renewals: 1,
                drifts: 0,
                ..every_step.clone()
            },
            vec![Event::Store(Rule::B4), Event::Store(Rule::B4Again)],
            false,
        ),
        (
            "revoke, delivered twice",
            Config {
                revokes: 1,
                renewals: 1,
                drifts: 0,
                ..dominant.clone()
            },
            vec![Event::Store(Rule::B1)],
            false,
        ),
        (
            "revoke, every step",
            Config {
                revokes: 1,
                tries: 1,
                renewals: 1,
                crashes: 0,
                ..every_step.clone()
            },
            vec![
                Event::Store(Rule::B1),
                Event::Store(Rule::B1Again),
                Event::Store(Rule::B1Changed),
                Event::LossHeard,
            ],
            false,
        ),
        (
            "two tries of one client at a time",
            Config {
                concurrent: true,
                renewals: 1,
                ..dominant.clone()
            },
            own.clone(),
            false,
        ),
        (
            "durations that differ",
            Config {
                durations: [4, 2, 2],
                renewals: 1,
                ..dominant.clone()
            },
            own.clone(),
            false,
        ),
        (
            "D 5, margin 2, two ticks of drift",
            Config {
                durations: [5; CLIENTS],
                margin: 2,
                drifts: 2,
                tries: 1,
                ..dominant.clone()
            },
            vec![],
            false,
        ),
        (
            "3 clients, 1 try, 1 renewal, 1 copy",
            Config {
                clients: 3,
                tries: 1,
                renewals: 1,
                ..dominant.clone()
            },
            vec![],
            false,
        ),
        (
            "3 clients, 1 try, 2 renewals, hand-over",
            Config {
                clients: 3,
                tries: 1,
                hand_over: true,
                ..dominant.clone()
            },
            vec![Event::TicketRedeemed],
            true,
        ),
        (
            "3 clients, 2 tries, 1 renewal, no copy",
            Config {
                clients: 3,
                renewals: 1,
                copies: 0,
                ..dominant.clone()
            },
            vec![Event::TakenFromOneself],
            true,
        ),
        (
            "2 clients, 3 tries, 1 renewal, 1 copy",
            Config {
                tries: 3,
                renewals: 1,
                ..dominant.clone()
            },
            own,
            true,
        ),
        (
            "fenced resource, forced release, drift beyond the margin",
            Config {
                resource: true,
                forces: 1,
                drifts: 2,
                tries: 1,
                renewals: 1,
                properties: fence,
                ..dominant
            },
            vec![Event::WriteAccepted, Event::WriteRefused],
            false,
        ),
    ]
}

/// Configurations with steps of the store's clock.
fn clock_steps() -> Vec<Row> {
    let base = Config {
        renewals: 1,
        crashes: 0,
        drifts: 0,
        step_count: 1,
        ..Config::new(Discipline::StoreClock)
    };
    vec![
        (
            "its clock steps forward within the unused margin",
            Config {
                steps: &[1],
                ..base.clone()
            },
            vec![],
            false,
        ),
        (
            "its clock steps back by 1 to 3",
            Config {
                steps: &[-1, -2, -3],
                ..base
            },
            vec![],
            false,
        ),
    ]
}
