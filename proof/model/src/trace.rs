//! A path through the model as a person reads it: one line for each step.

use stateright::Path;

use crate::{
    action::{Action, Drift},
    client::{number, prev},
    config::Config,
    model::Protocol,
    state::{CLOSED, Ground, Id, NOBODY, Phase, REVOKED, Reply, Row, State, Version},
};

/// A way to a violation, with what is true after each step.
#[must_use]
pub fn trace(protocol: &Protocol, property: &str, path: &Path<State, Action>) -> String {
    let mut text = format!("violated: {property}\n");
    let mut time = 0;
    let steps: Vec<_> = path.clone().into_vec();
    for (state, action) in steps {
        let Some(action) = action else {
            break;
        };
        let (next, events) = protocol.explain(&state, action);
        if let Action::Tick(_) = action {
            time += 1;
        }
        let happened: Vec<_> = events.iter().map(ToString::to_string).collect();
        let line = tell(&protocol.config, &state, action);
        let joined = if happened.is_empty() {
            line
        } else {
            format!("{line} -> {}", happened.join(", "))
        };
        let now = situation(&protocol.config, &next);
        text.push_str(&format!("t={time:<2} {joined:<76} | {now}\n"));
    }
    text
}

/// Who does what.
fn tell(config: &Config, state: &State, action: Action) -> String {
    let id = |term: u8| name(config, term + 1);
    let copy = |again: bool| if again { ", and will once more" } else { "" };
    match action {
        Action::Tick(Drift::None) => "a tick".to_owned(),
        Action::Tick(Drift::Slow(slow)) => format!("a tick, {}'s clock stands still", client(slow)),
        Action::Tick(Drift::Fast(fast)) => format!("a tick, {}'s clock counts two", client(fast)),
        Action::ClockStep(by) => format!("the store's clock jumps by {by}"),
        Action::Start {
            client: who,
            claim: why,
        } => {
            let index = usize::from(who) * usize::from(config.tries)
                + usize::from(state.clients[usize::from(who)].tried);
            let new = name(config, u8::try_from(index + 1).unwrap_or(NOBODY));
            let prev = prev(config, state, why).map_or_else(
                || "none".to_owned(),
                |prev| format!("{}, {}", version(config, prev), ground(why.ground)),
            );
            format!("{} sends acquire({new}, prev = {prev})", client(who))
        }
        Action::Repeat(term) => format!("{} repeats acquire({})", of(config, term), id(term)),
        Action::Acquire { term, again } => {
            format!("acquire({}) arrives{}", id(term), copy(again))
        }
        Action::Answer { term, slot } => {
            let reply = state.terms[usize::from(term)].replies[usize::from(slot)];
            let reply = match reply {
                Reply::None => "nothing".to_owned(),
                Reply::Acquired(0, _) => "Acquired".to_owned(),
                Reply::Acquired(token, _) => format!("Acquired, token {token}"),
                Reply::Spent => "Spent".to_owned(),
                Reply::Held(shown, _) => format!("Held by {}", version(config, shown)),
            };
            format!("{} hears for {}: {reply}", of(config, term), id(term))
        }
        Action::GiveUp(term) => {
            format!(
                "{} gives {} up and sends its release",
                of(config, term),
                id(term)
            )
        }
        Action::Renew { term, attempt } => format!(
            "{} sends renew({}, {})",
            of(config, term),
            id(term),
            number(attempt.into())
        ),
        Action::Renewal {
            term,
            attempt,
            again,
        } => format!(
            "renew({}, {}) arrives{}",
            id(term),
            number(attempt.into()),
            copy(again)
        ),
        Action::Renewed { term, attempt } => format!(
            "{} hears for renewal {}: Renewed",
            of(config, term),
            number(attempt.into())
        ),
        Action::Lost { term, attempt } => format!(
            "{} hears for renewal {}: Lost",
            of(config, term),
            number(attempt.into())
        ),
        Action::Release(term) => format!("{} sends release({})", of(config, term), id(term)),
        Action::Released { term, again } => {
            format!("release({}) arrives{}", id(term), copy(again))
        }
        Action::HandOver(term) => format!("{} hands {} over", of(config, term), id(term)),
        Action::Give(term) => format!(
            "{}'s lease on {} ends, the term goes on",
            of(config, term),
            id(term)
        ),
        Action::Succeed(term) => format!(
            "{}'s next waiter gets a lease on {}",
            of(config, term),
            id(term)
        ),
        Action::GiverEnds(term) => {
            format!("{}'s first lease on {} ends", of(config, term), id(term))
        }
        Action::Told(who) => format!(
            "{} is told of token {}",
            client(who),
            state.resource.highest
        ),
        Action::Purge => "the record is purged".to_owned(),
        Action::Failover => "the store loses the record".to_owned(),
        Action::Look(who) => format!("{} reads the record", client(who)),
        Action::Crash(who) => format!("{} crashes", client(who)),
        Action::Revoke(by) => format!("{} sends revoke of what the record shows", client(by)),
        Action::Revoked { again } => format!(
            "revoke({}) arrives{}",
            version(config, state.revoke.version),
            copy(again)
        ),
        Action::Force => "somebody sends a forced release of what the record shows".to_owned(),
        Action::Write(lease) => format!(
            "a write with token {} arrives at the resource",
            state.resource.tokens[usize::from(lease)]
        ),
        Action::Reuse(term) => format!(
            "{} sends acquire({}) anew, with a new sent",
            of(config, term),
            id(term)
        ),
    }
}

/// What the store keeps and who believes.
fn situation(config: &Config, state: &State) -> String {
    let record = &state.record;
    let row = match record.row {
        Row::Absent => "absent".to_owned(),
        Row::Released => format!("released {}", version(config, record.version)),
        Row::Held if config.store_clock() => format!(
            "held {} for {}",
            version(config, record.version),
            record.expiry
        ),
        Row::Held => format!("held {}", version(config, record.version)),
    };
    let believers: Vec<_> = (1..)
        .zip(&state.terms)
        .filter(|(_, term)| term.phase == Phase::Leased)
        .map(|(id, term)| {
            let leases = "'".repeat(term.leases.into());
            let held = if term.between { "kept" } else { "valid" };
            format!("{}{leases} {held} for {}", name(config, id), term.clock)
        })
        .collect();
    if believers.is_empty() {
        row
    } else {
        format!("{row}; {}", believers.join(", "))
    }
}

fn ground(ground: Ground) -> &'static str {
    match ground {
        Ground::None => "no claim",
        Ground::Observed => "seen for D",
        Ground::Own => "its own, over",
        Ground::Ticket => "by ticket",
    }
}

fn of(config: &Config, term: u8) -> char {
    client(term / config.tries)
}

fn client(client: u8) -> char {
    char::from(b'A' + client)
}

/// A1 is the first try of client A.
fn name(config: &Config, uuid: Id) -> String {
    match uuid {
        NOBODY => "somebody".to_owned(),
        REVOKED => "R".to_owned(),
        CLOSED.. => format!("closed by {}", name(config, uuid - CLOSED + 1)),
        _ => format!("{}{}", of(config, uuid - 1), (uuid - 1) % config.tries + 1),
    }
}

fn version(config: &Config, version: Version) -> String {
    format!("({}, {})", name(config, version.uuid), version.renewals)
}
