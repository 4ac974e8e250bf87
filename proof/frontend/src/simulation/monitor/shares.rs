//! W8: no client keeps a name to itself while another waits for it. Counted is the time that passes
//! from grant to grant of one client, while a waiter of another, whom nothing hinders, gets none.

use std::{collections::BTreeMap, time::Duration};

use dlock_testkit::faults::Request;

use super::{
    SLACK, State,
    model::{CallerId, Status},
};
use crate::simulation::generate::{MIX, MIX_WORK};

/// Who has a name, and whom it has passed over.
#[derive(Default)]
pub(super) struct Share {
    client: usize,
    /// Its last grant.
    last: Duration,
    /// For how long each other client has waited for it since, while this one had grant after grant.
    passed: BTreeMap<usize, Duration>,
    /// When a call of a client for the name, or for a reservation of it, last came to nothing, or took too
    /// long; and when a look for a reservation did.
    hindered: BTreeMap<usize, Duration>,
    blind: BTreeMap<usize, Duration>,
}

impl State {
    /// The store grants a mix's name to a caller's try.
    pub(super) fn shared_out(&mut self, name: &str, to: CallerId) {
        if name != MIX {
            return;
        }
        let (now, client) = (self.now(), self.callers[to].client);
        let share = self.shares.entry(name.to_owned()).or_default();
        let before = (share.client, share.last);
        let waited = share.passed.values().max().copied().unwrap_or_default();
        (share.client, share.last) = (client, now);
        if before.0 != client {
            share.passed.clear();
            self.figures.let_in += u64::from(!waited.is_zero());
            return;
        }
        // What takes longer than a piece of work and its calls is no turn of this client's: a dead
        // holder, a store that does not answer.
        let since = before.1;
        let turn = (now - since).min(MIX_WORK + 4 * self.clients[client].latency + 2 * SLACK);
        let blind = self
            .shares
            .get(name)
            .and_then(|share| share.blind.get(&client));
        let blind = blind.is_some_and(|blind| *blind >= since);
        for other in (0..self.clients.len()).filter(|other| *other != client) {
            let waits = self.waits_unhindered(other, name, since).filter(|_| !blind);
            let bound = waits.map(|waiter| self.longest_wait(waiter, client));
            let share = self.shares.entry(name.to_owned()).or_default();
            let Some(bound) = bound else {
                share.passed.remove(&other);
                continue;
            };
            let passed = share.passed.entry(other).or_default();
            *passed += turn;
            if *passed > bound {
                let passed = std::mem::take(passed);
                self.complain("W8", || {
                    format!(
                        "c{client} has had {name} for {passed:?} while c{other} waited, and has it \
                         again; {bound:?} is the most"
                    )
                });
            }
        }
    }

    /// Whether a client has had somebody in line since then, whom nothing has kept from asking, nor from making a
    /// reservation.
    fn waits_unhindered(&self, client: usize, name: &str, since: Duration) -> Option<CallerId> {
        let state = &self.clients[client];
        let hindered = self.shares.get(name)?.hindered.get(&client);
        if !self.undisturbed_since(client, since)
            || state.closing.is_some()
            || hindered.is_some_and(|hindered| *hindered >= since)
        {
            return None;
        }
        let slow = self.open.iter().map(|id| &self.calls[*id]).any(|call| {
            call.client == client && asks_for(&call.request) == Some(name) && self.is_slow(call)
        });
        let queue = &state.names.get(name)?.queue;
        let waiter = queue.iter().find(|id| {
            let caller = &self.callers[**id];
            caller.status == Status::Waiting && caller.away.is_none() && caller.began.at <= since
        });
        waiter
            .copied()
            .filter(|id| !slow && !self.callers[*id].without_reservation)
    }

    /// 2 (D/10 + one piece of work) + 3 P with their jitter, on the slowest clock, and the calls of both. The
    /// waiter's: two refusals, its two places with a look at one, a look and a try. The holder's: a look, a
    /// release and a try.
    fn longest_wait(&self, waiter: CallerId, holder: usize) -> Duration {
        let caller = &self.callers[waiter];
        let client = &self.clients[caller.client];
        let poll = caller.settings.poll(client.watching);
        let spans = 2 * (caller.settings.duration / 10 + MIX_WORK) + 3 * poll * 6 / 5;
        let calls = 14 * client.latency + 6 * self.clients[holder].latency;
        spans * 10 / 9 + calls + 4 * SLACK
    }

    /// A call came to its end; whether it had an answer.
    pub(super) fn call_ended(&mut self, call: &super::Call, answered: bool) {
        let Some(name) = asks_for(&call.request).filter(|name| *name == MIX) else {
            return;
        };
        if !answered || self.is_slow(call) {
            let now = self.now();
            let share = self.shares.entry(name.to_owned()).or_default();
            share.hindered.insert(call.client, now);
            if matches!(call.request, Request::Read(_)) {
                share.blind.insert(call.client, now);
            }
        }
    }

    /// A client cannot find out that others wait for a name.
    pub(super) fn nobody_shows(&mut self, client: usize, name: &str) {
        let now = self.now();
        let share = self.shares.entry(name.to_owned()).or_default();
        share.blind.insert(client, now);
    }

    /// It takes longer than the way there and back.
    fn is_slow(&self, call: &super::Call) -> bool {
        let longest = 2 * self.clients[call.client].latency + SLACK;
        self.now().saturating_sub(call.stamp.at) > longest
    }
}

/// Which lock a waiter's call is for, or the reservation of which.
fn asks_for(request: &Request) -> Option<&str> {
    let name = match request {
        Request::Acquire(request) => &request.name,
        Request::Renew(request) if request.name.reservation_of().is_some() => &request.name,
        Request::Read(name) => name,
        _ => return None,
    };
    Some(name.reservation_of().unwrap_or(name.as_str()))
}
