//! Leases that follow one another on a term.

use super::Row;
use crate::{
    config::{Config, Discipline},
    event::Event,
    property::Property,
    state::CLIENTS,
    store::Rule,
};

/// The properties that hold even where leases overlap: writes to the resource are in order, and no two leases have one
/// token.
const FENCE: &[Property] = &[
    Property::TokensDiffer,
    Property::AboveFloor,
    Property::FencedOrder,
];

pub(super) fn rows(discipline: Discipline) -> Vec<Row> {
    let base = Config {
        blocks: [3; CLIENTS],
        crashes: 0,
        drifts: 0,
        renewals: 1,
        ..Config::new(discipline)
    };
    let fenced = Config {
        resource: true,
        copies: 0,
        ..base.clone()
    };
    let succeeds = vec![Event::Succeeded];
    let mut rows = beliefs(&base, &succeeds);
    rows.extend(tokens(&fenced, &succeeds));
    rows
}

/// The beliefs of the clients. The values of tokens do not matter.
fn beliefs(base: &Config, succeeds: &[Event]) -> Vec<Row> {
    let with = |more: &[Event]| [succeeds, more].concat();
    vec![
        (
            "successors, 2 tries, 1 renewal, 1 copy",
            Config {
                drifts: 1,
                ..base.clone()
            },
            with(&[Event::TakenFromOneself, Event::ReplayAnswered]),
            false,
        ),
        (
            "successors, 2 tries, 2 renewals, 1 copy",
            Config {
                renewals: 2,
                drifts: 1,
                ..base.clone()
            },
            with(&[Event::TakenFromOneself]),
            true,
        ),
        (
            "successors, every step, 1 try, 1 renewal, 1 copy, crash",
            Config {
                tries: 1,
                drifts: 1,
                crashes: 1,
                dominant: false,
                ..base.clone()
            },
            with(&super::EVERY_STEP),
            false,
        ),
        (
            "successors, hand-over",
            Config {
                hand_over: true,
                ..base.clone()
            },
            with(&[Event::TicketRedeemed, Event::TicketRedeemedAtOtherNumber]),
            false,
        ),
        (
            "successors, 2 leases, revoke, delivered twice",
            Config {
                blocks: [2; CLIENTS],
                revokes: 1,
                ..base.clone()
            },
            with(&[Event::Store(Rule::B1)]),
            false,
        ),
        (
            "successors, two tries of one client at a time",
            Config {
                concurrent: true,
                ..base.clone()
            },
            with(&[Event::TakenFromOneself]),
            false,
        ),
    ]
}

/// The tokens that the resource sees.
fn tokens(fenced: &Config, succeeds: &[Event]) -> Vec<Row> {
    let written = [
        succeeds,
        &[Event::WriteAccepted, Event::WriteRefused, Event::Told],
    ]
    .concat();
    let with = |more: &[Event]| [&*written, more].concat();
    vec![
        (
            "successors, fenced resource, floors, purge",
            Config {
                tries: 1,
                purges: 1,
                floors: true,
                ..fenced.clone()
            },
            with(&[Event::Purged]),
            false,
        ),
        (
            "successors, fenced resource, 2 leases, floors, purge, 1 copy, drift",
            Config {
                tries: 1,
                blocks: [2; CLIENTS],
                copies: 1,
                drifts: 1,
                purges: 1,
                floors: true,
                ..fenced.clone()
            },
            with(&[Event::Purged]),
            true,
        ),
        (
            "successors, fenced resource, 2 leases, 2 tries",
            Config {
                blocks: [2; CLIENTS],
                ..fenced.clone()
            },
            [succeeds, &[Event::WriteRefused]].concat(),
            false,
        ),
        (
            "successors, fenced resource, a contender of an older release",
            Config {
                tries: 1,
                blocks: [3, 1, 1],
                purges: 1,
                floors: true,
                ..fenced.clone()
            },
            with(&[Event::Purged]),
            false,
        ),
        (
            "successors, fenced resource, 2 leases, forced release, drift beyond the margin",
            Config {
                tries: 1,
                blocks: [2; CLIENTS],
                forces: 1,
                drifts: 2,
                floors: true,
                properties: FENCE,
                ..fenced.clone()
            },
            written.clone(),
            false,
        ),
        (
            "successors, fenced resource, a store that loses the record",
            Config {
                tries: 1,
                failovers: 1,
                floors: true,
                properties: FENCE,
                ..fenced.clone()
            },
            with(&[Event::FailedOver]),
            false,
        ),
    ]
}
