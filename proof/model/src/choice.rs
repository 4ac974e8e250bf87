//! The possible actions.

use crate::{
    action::{Action, Drift},
    client::claims,
    config::Config,
    state::{ATTEMPTS, Claim, Phase, REVOKED, Reply, Row, State, Term},
    store::expired,
    succession::{token, told},
    trap::Trap,
};

/// Every step that is possible now.
pub(crate) fn choices(config: &Config, state: &State, actions: &mut Vec<Action>) {
    for client in 0..config.clients {
        clients(config, state, client, actions);
    }
    for (index, term) in (0..).zip(&state.terms[..config.terms()]) {
        if term.phase != Phase::Unused {
            let copies = state.clients[config.client(usize::from(index))].copies > 0;
            terms(config, state, index, term, copies, actions);
        }
    }
    for lease in 0..16 {
        if state.resource.writers >> lease & 1 == 1 {
            actions.push(Action::Write(lease));
        }
    }
    people(config, state, actions);
    store(config, state, actions);
    time(config, state, actions);
}

fn clients(config: &Config, state: &State, client: u8, actions: &mut Vec<Action>) {
    let known = &state.clients[usize::from(client)];
    let first = usize::from(client * config.tries);
    let own = &state.terms[first..first + usize::from(config.tries)];
    if known.tried < config.tries {
        let busy = own
            .iter()
            .any(|term| matches!(term.phase, Phase::Pending | Phase::Leased));
        if !busy || config.concurrent {
            let before = actions.len();
            for claim in claims(config, state, client.into()) {
                actions.push(Action::Start { client, claim });
            }
            if !config.dominant || actions.len() == before {
                let claim = Claim::default();
                actions.push(Action::Start { client, claim });
            }
        }
        let new = state.record.row == Row::Held && known.seen != state.record.version;
        if new && !config.looks_at_once() {
            actions.push(Action::Look(client));
        }
    }
    if config.floors && known.floor < told(config, state) {
        actions.push(Action::Told(client));
    }
    let alive = |term: &Term| !matches!(term.phase, Phase::Unused | Phase::Gone);
    if known.crashes > 0 && (known.seen.uuid != 0 || own.iter().any(alive)) {
        actions.push(Action::Crash(client));
    }
}

fn terms(
    config: &Config,
    state: &State,
    index: u8,
    term: &Term,
    copies: bool,
    actions: &mut Vec<Action>,
) {
    for again in arrivals(term.acquires, copies) {
        actions.push(Action::Acquire { term: index, again });
    }
    for again in arrivals(term.releases, copies) {
        actions.push(Action::Released { term: index, again });
    }
    for (attempt, renewal) in (0..).zip(&term.attempts) {
        for again in arrivals(renewal.copies, copies) {
            actions.push(Action::Renewal {
                term: index,
                attempt,
                again,
            });
        }
        let listens = term.phase == Phase::Leased
            || (term.phase == Phase::Ended && config.is(Trap::LateRenewedCounts));
        if renewal.renewed && listens {
            actions.push(Action::Renewed {
                term: index,
                attempt,
            });
        }
        if renewal.lost && term.phase == Phase::Leased {
            actions.push(Action::Lost {
                term: index,
                attempt,
            });
        }
    }
    match term.phase {
        Phase::Pending => pending(index, term, copies && !config.dominant, actions),
        Phase::Leased => leased(config, state, index, term, actions),
        Phase::Ended => {
            actions.push(Action::Release(index));
            let lost = config.is(Trap::SuccessorAfterLoss) && term.clock > 0;
            let late = config.is(Trap::SuccessorPastDeadline) && term.clock == 0;
            if term.between && (lost || late) {
                actions.push(Action::Succeed(index));
            }
        }
        Phase::Over if config.is(Trap::SuccessorWhileReleasing) && term.between => {
            actions.push(Action::Succeed(index));
        }
        Phase::Handed if term.clock == 0 => actions.push(Action::Release(index)),
        Phase::Refused if config.is(Trap::UuidReused) && term.acquires < 2 => {
            actions.push(Action::Reuse(index));
        }
        _ => {}
    }
}

/// One copy arrives, and possibly another one later.
fn arrivals(on_way: u8, copies: bool) -> impl Iterator<Item = bool> {
    let most = if on_way == 0 {
        0
    } else if copies {
        2
    } else {
        1
    };
    [false, true].into_iter().take(most)
}

fn pending(index: u8, term: &Term, copies: bool, actions: &mut Vec<Action>) {
    for (slot, reply) in (0..).zip(term.replies) {
        if reply != Reply::None {
            actions.push(Action::Answer { term: index, slot });
        }
    }
    actions.push(Action::GiveUp(index));
    if copies {
        actions.push(Action::Repeat(index));
    }
}

fn leased(config: &Config, state: &State, index: u8, term: &Term, actions: &mut Vec<Action>) {
    actions.push(Action::Release(index));
    if config.hand_over && !term.between {
        actions.push(Action::HandOver(index));
    }
    successors(config, state, index, term, actions);
    if state.clients[config.client(usize::from(index))].renewals == 0 {
        return;
    }
    let drawn = |attempt: &usize| term.drawn >> attempt & 1 == 1;
    let free = (0..ATTEMPTS).filter(|attempt| !drawn(attempt));
    let any_order = config.is(Trap::LargerNumberEarlierSent);
    for attempt in free.take(if any_order { ATTEMPTS } else { 1 }) {
        let attempt = if attempt == 0 { 0 } else { 1 };
        actions.push(Action::Renew {
            term: index,
            attempt,
        });
    }
}

/// S1, and S3 where it forbids a successor: the block is used up, the release closes the name, or the token is below
/// the floor.
fn successors(config: &Config, state: &State, index: u8, term: &Term, actions: &mut Vec<Action>) {
    let place = usize::from(index);
    if term.giver {
        actions.push(Action::GiverEnds(index));
    }
    let more = term.leases + 1 < config.block(place) && config.closes == 0;
    if !term.between && !term.giver && more {
        actions.push(Action::Give(index));
    }
    let floor = state.clients[config.client(place)].floor;
    let above = !config.resource || token(config, place, term, term.leases + 1) >= floor;
    if term.between && (above || config.is(Trap::SuccessorBelowFloor)) {
        actions.push(Action::Succeed(index));
    }
}

/// T5, and the failures of the store.
fn store(config: &Config, state: &State, actions: &mut Vec<Action>) {
    let kept = state.record.row != Row::Absent;
    let acts = |term: &Term| matches!(term.phase, Phase::Pending | Phase::Leased);
    let dead = !state.record.held() || !config.store_clock() || expired(config, &state.record);
    if state.purges > 0 && kept && dead && !state.terms.iter().any(acts) {
        actions.push(Action::Purge);
    }
    if state.failovers > 0 && kept {
        actions.push(Action::Failover);
    }
}

/// B1 and B2: a person reads the record and acts on it.
fn people(config: &Config, state: &State, actions: &mut Vec<Action>) {
    let held = state.record.row == Row::Held && state.record.version.uuid < REVOKED;
    if held && state.revoke.left > 0 {
        let by = if config.is(Trap::RevokerClaims) {
            config.clients
        } else {
            1
        };
        for by in 0..by {
            actions.push(Action::Revoke(by));
        }
    }
    if state.revoke.copies > 0 {
        actions.push(Action::Revoked { again: false });
        if state.revoke.duplicates > 0 {
            actions.push(Action::Revoked { again: true });
        }
    }
    if held && state.forces > 0 {
        actions.push(Action::Force);
    }
}

fn time(config: &Config, state: &State, actions: &mut Vec<Action>) {
    actions.push(Action::Tick(Drift::None));
    if state.drifts > 0 {
        for client in 0..config.clients {
            actions.push(Action::Tick(Drift::Slow(client)));
            actions.push(Action::Tick(Drift::Fast(client)));
        }
    }
    if state.steps > 0 && state.record.row == Row::Held {
        for step in config.steps {
            actions.push(Action::ClockStep(*step));
        }
    }
}
