//! The differences between states that do not matter: messages that can no longer change anything,
//! knowledge that no party will use, names of clients that are alike.
//!
//! Each rule here drops something only where no later step of any party could depend on it, so a
//! search over the remaining states reaches a violation exactly if the full one does. The test
//! `reduction` compares the two, state by state, on configurations small enough for both. A trap may
//! depend on knowledge that a right protocol may forget; in such a case it is kept.

use crate::{
    config::Config,
    encoded::Encoded,
    state::{
        ATTEMPTS, Attempt, CLOSED, Claim, Ground, Id, NOBODY, Phase, REVOKED, Record, Reply,
        Resource, Revoke, Row, State, Term, Version,
    },
    trap::Trap,
};

/// Replaces a state by the representative of all states that differ from it only in what does not matter.
pub(crate) fn normalise(config: &Config, state: &mut State) {
    if !config.reduced {
        return;
    }
    let alive = Alive::of(config, state);
    if !config.resource {
        // T1 depends only on the last token, and every grant is compared with it when it is
        // made.
        state.record.token = u8::from(state.record.row != Row::Absent);
        state.record.grant = 0;
        state.now = 0;
    }
    record(&mut state.record, &alive);
    for index in 0..config.terms() {
        term(config, state, index, &alive);
    }
    for client in 0..usize::from(config.clients) {
        self::client(config, state, client, &alive);
    }
    if !alive.has(state.ticket.uuid) {
        state.ticket = Version::default();
    }
    if state.revoke.copies == 0 {
        // A revoke may be sent again, but not with this version.
        state.revoke = Revoke {
            left: state.revoke.left,
            duplicates: if state.revoke.left > 0 {
                state.revoke.duplicates
            } else {
                0
            },
            ..Revoke::default()
        };
    }
    resource(&mut state.resource);
    if config.symmetric() {
        *state = first_of_all_orders(config, state);
    }
}

/// The uuids that the record can still show: the one that it shows, and those with an acquire or a
/// revoke in flight, or with one that may still be sent. A uuid that is not alive stays so.
struct Alive(u16);

impl Alive {
    fn of(config: &Config, state: &State) -> Self {
        let mut alive = Self(0);
        if state.record.row == Row::Held {
            alive.add(state.record.version.uuid);
        }
        for (id, (index, term)) in (1..).zip(state.terms[..config.terms()].iter().enumerate()) {
            let again = match term.phase {
                Phase::Pending => state.clients[config.client(index)].copies > 0,
                Phase::Refused => config.is(Trap::UuidReused),
                _ => false,
            };
            if term.acquires > 0 || again {
                alive.add(id);
            }
        }
        if state.revoke.copies > 0 {
            alive.add(REVOKED);
        }
        for (id, term) in (1..).zip(&state.terms[..config.terms()]) {
            if term.closing && term.releases > 0 && alive.has(id) {
                alive.add(CLOSED + id - 1);
            }
        }
        alive
    }

    fn add(&mut self, uuid: Id) {
        self.0 |= 1 << uuid;
    }

    fn has(&self, uuid: Id) -> bool {
        uuid != NOBODY && self.0 >> uuid & 1 == 1
    }
}

fn record(record: &mut Record, alive: &Alive) {
    if record.row != Row::Held {
        record.expiry = 0;
        record.duration = 0;
        record.version.renewals = 0;
        // Only acquires and releases in flight are compared with it (A3, L2).
        if !alive.has(record.version.uuid) {
            record.version = Version::default();
        }
    }
}

fn term(config: &Config, state: &mut State, index: usize, alive: &Alive) {
    let record = state.record;
    let copies = state.clients[config.client(index)].copies > 0;
    let belief = config.belief(index);
    let term = &mut state.terms[index];
    let Ok(id) = Id::try_from(index + 1) else {
        return;
    };
    match term.phase {
        Phase::Unused => return,
        // The reason why it has ended makes no difference to a right client.
        Phase::Refused
            if !config.is(Trap::UuidReused) && !config.is(Trap::OnlyGivenUpRemembered) =>
        {
            term.phase = Phase::Over;
        }
        _ => {}
    }
    let open = term.phase == Phase::Pending;
    let leased = term.phase == Phase::Leased;
    if open {
        // Past the belief every grant comes too late (V9).
        term.clock = term.clock.min(belief);
    } else if !leased && term.phase != Phase::Handed && !term.closes() {
        term.clock = 0;
    }
    let asked_again = term.acquires > 0 || (open && copies);
    if !asked_again {
        term.floor = 0;
    }
    if !leased {
        term.between = false;
        term.leases = 0;
        term.giver = false;
        term.token = 0;
        term.grant = 0;
    }
    if !asked_again || !alive.has(term.claim.version.uuid) {
        term.claim = Claim {
            ground: Ground::None,
            version: Version::default(),
        };
    }
    let by_number = config.is(Trap::ReleaseByConfirmedState);
    if !leased {
        term.drawn = 0;
    }
    let on_ticket = leased && config.hand_over;
    if !on_ticket && !by_number {
        term.confirmed = 0;
    }
    // A release changes nothing where the record does not have this uuid, and cannot come to have it. The repeat of
    // a closing release must not change anything either, and is kept to check that.
    let closed = term.closing && record.held_by(CLOSED + id - 1);
    if !alive.has(id) && !closed {
        term.releases = 0;
    }
    replies(config, term, alive);
    for number in 0..ATTEMPTS {
        if !config.is(Trap::LateRenewedCounts) {
            attempt(&record, term, number, id, belief, alive);
        }
    }
    let reused = term.phase == Phase::Refused && config.is(Trap::UuidReused);
    let quiet = !reused && term.releases == 0 && term.acquires == 0;
    let sent = term.attempts.iter().any(|attempt| attempt.copies > 0);
    if !open && !leased && quiet && !sent && !alive.has(id) {
        term.phase = Phase::Gone;
        term.clock = 0;
        term.closing = false;
    }
}

fn replies(config: &Config, term: &mut Term, alive: &Alive) {
    let reused = term.phase == Phase::Refused && config.is(Trap::UuidReused);
    if term.phase != Phase::Pending && !reused {
        term.replies = [Reply::None; _];
        return;
    }
    let mut kept = [Reply::None; _];
    let mut next = 0;
    for reply in term.replies {
        let reply = match reply {
            // The answer will end the try, and have no other effect.
            Reply::Held(version, _) if !alive.has(version.uuid) => {
                Reply::Held(Version::default(), 0)
            }
            Reply::Acquired(..) if !config.resource => Reply::Acquired(0, 0),
            other => other,
        };
        if reply != Reply::None && !kept.contains(&reply) {
            kept[next] = reply;
            next += 1;
        }
    }
    kept.sort_unstable_by_key(|reply| reply.order());
    term.replies = kept;
}

fn attempt(record: &Record, term: &mut Term, number: usize, id: Id, belief: u8, alive: &Alive) {
    let asked_again = term.acquires > 0;
    let leased = term.phase == Phase::Leased;
    let attempt = &mut term.attempts[number];
    if leased {
        // There is nothing left to credit.
        if attempt.age >= belief {
            attempt.age = belief;
            attempt.renewed = false;
        }
        if attempt.copies == 0 && !attempt.renewed {
            attempt.age = 0;
        }
        return;
    }
    attempt.age = 0;
    attempt.renewed = false;
    attempt.lost = false;
    let number = u8::try_from(number + 1).unwrap_or(u8::MAX);
    let overtaken = record.held_by(id) && record.version.renewals >= number;
    if !alive.has(id) || (overtaken && !asked_again) {
        *attempt = Attempt::default();
    }
}

fn client(config: &Config, state: &mut State, client: usize, alive: &Alive) {
    let known = &mut state.clients[client];
    if known.tried == config.tries || !alive.has(known.seen.uuid) {
        // There is nothing to claim, or no try left to claim it with.
        known.seen = Version::default();
        known.seen_duration = 0;
        known.seen_age = 0;
    }
}

fn resource(resource: &mut Resource) {
    if resource.writers == 0 && resource.highest == 0 {
        *resource = Resource::default();
    }
}

/// Counts clients that differ only in their names once: of all orders of the clients,
/// returns the state whose encoding comes first.
fn first_of_all_orders(config: &Config, state: &State) -> State {
    const TWO: &[[u8; 3]] = &[[1, 0, 2]];
    const THREE: &[[u8; 3]] = &[[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let orders = match config.clients {
        2 => TWO,
        3 => THREE,
        _ => &[],
    };
    let mut first = state.clone();
    let mut encoded = Encoded::new(&first);
    for order in orders {
        let other = reorder(config, state, order);
        let other_encoded = Encoded::new(&other);
        if other_encoded.bytes() < encoded.bytes() {
            first = other;
            encoded = other_encoded;
        }
    }
    first
}

/// The state in which client i has become client `order[i]`.
fn reorder(config: &Config, state: &State, order: &[u8; 3]) -> State {
    let tries = usize::from(config.tries);
    let id = |uuid: Id| -> Id {
        if uuid == NOBODY || uuid == REVOKED {
            return uuid;
        }
        let first = if uuid >= CLOSED { CLOSED } else { 1 };
        let index = uuid - first;
        order[usize::from(index / config.tries)] * config.tries + index % config.tries + first
    };
    let version = |version: Version| Version {
        uuid: id(version.uuid),
        renewals: version.renewals,
    };
    let mut other = state.clone();
    other.record.version = version(state.record.version);
    other.ticket = version(state.ticket);
    other.revoke.version = version(state.revoke.version);
    for (from, to) in order.iter().enumerate().take(usize::from(config.clients)) {
        let to = usize::from(*to);
        other.clients[to] = state.clients[from];
        other.clients[to].seen = version(state.clients[from].seen);
        for attempt in 0..tries {
            let mut term = state.terms[from * tries + attempt];
            term.claim.version = version(term.claim.version);
            for reply in &mut term.replies {
                if let Reply::Held(shown, duration) = *reply {
                    *reply = Reply::Held(version(shown), duration);
                }
            }
            term.replies.sort_unstable_by_key(|reply| reply.order());
            other.terms[to * tries + attempt] = term;
        }
    }
    other
}
