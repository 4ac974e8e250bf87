//! Reservations (W8): a waiter that is passed over takes a lease beside the lock it waits for, and a client
//! that has kept the lock leaves it to others for a while. The leases themselves are the store's and the
//! history's to judge; here is what they change in the times at which callers ask.

use std::time::Duration;

use dlock_core::{AcquireOutcome, Record};

use super::{
    Call, SLACK, State,
    model::{CallerId, Known},
};
use crate::faults::{Outcome, Request};

/// What is left to the waiter that has the reservation.
const LEFT_TO_RESERVED: Duration = Duration::from_millis(8);

/// The name of the lock whose reservation a request is about.
pub(super) fn reservation_of(request: &Request) -> Option<&str> {
    let name = match request {
        Request::Acquire(request) => &request.name,
        Request::Renew(request) => &request.name,
        Request::Release(request) => &request.name,
        Request::Read(name) => name,
        _ => return None,
    };
    name.reservation_of()
}

impl State {
    /// A call about a reservation leaves a client.
    pub(super) fn reservation_called(&mut self, client: usize, request: &Request, lock: &str) {
        if matches!(request, Request::Acquire(_)) {
            self.known(client, lock).reserves = true;
        }
    }

    /// Such a call was answered.
    pub(super) fn reservation_answered(&mut self, call: &Call, answer: &Outcome, lock: &str) {
        let now = self.stamp(call.client).contender;
        match (&call.request, answer) {
            (Request::Acquire(request), Outcome::Acquire(AcquireOutcome::Acquired(_))) => {
                self.reservations.insert(request.new, call.client);
            }
            (Request::Read(_), Outcome::Read(Some(record))) if is_held(record) => {
                if self.reservations.get(&record.uuid) == Some(&call.client) {
                    return;
                }
                let own = self
                    .known(call.client, lock)
                    .head
                    .map_or(Duration::ZERO, |head| {
                        self.callers[head].settings.poll(false)
                    });
                let poll = (record.duration / 10)
                    .clamp(Duration::from_millis(100), Duration::from_secs(1))
                    .max(own);
                self.known(call.client, lock).away_until = now + 2 * poll;
            }
            _ => {}
        }
    }

    /// A look for a reservation has ended: the caller that looked asks as much later.
    pub(super) fn reservation_ended(&mut self, call: &Call, lock: &str) {
        if !matches!(call.request, Request::Read(_)) {
            return;
        }
        let took = self.stamp(call.client).contender - call.stamp.contender;
        let Some(head) = self.known(call.client, lock).head else {
            return;
        };
        if let Some(pause) = &mut self.callers[head].pause {
            pause.latest += took;
        }
    }

    /// The client may be leaving the lock to others: whoever contends for it reads, and asks later.
    pub(super) fn is_away(&mut self, client: usize, lock: &str) -> bool {
        let now = self.stamp(client).contender;
        // The last look may leave at the end.
        let until = self.known(client, lock).away_until;
        !until.is_zero() && until + SLACK > now
    }

    /// A waiter asks: its client leaves the lock to nobody any more.
    pub(super) fn has_come_back(&mut self, id: CallerId) {
        let (client, name) = (self.callers[id].client, self.callers[id].name.clone());
        self.known(client, &name).away_until = Duration::ZERO;
    }

    /// The same, until just now; or it looks whether to.
    pub(super) fn was_away(&self, id: CallerId, slack: Duration) -> bool {
        let caller = &self.callers[id];
        let client = &self.clients[caller.client];
        let now = client.machine.contender();
        let known = client.names.get(&caller.name);
        let away = known
            .is_some_and(|known| known.away_until + slack > now && !known.away_until.is_zero());
        let looks = self.open.iter().map(|id| &self.calls[*id]).any(|call| {
            call.client == caller.client
                && matches!(&call.request, Request::Read(name) if name.reservation_of() == Some(&caller.name))
        });
        away || looks
    }
}

impl Known {
    /// The most that a woken try leaves to others.
    pub(super) fn left_to_others(&self, at_most: Duration) -> Duration {
        if self.reserves {
            at_most + LEFT_TO_RESERVED
        } else {
            at_most
        }
    }

    /// The least that a caller sleeps between two polls.
    pub(super) fn least_poll(&self, poll: Duration, unwatched: Duration) -> Duration {
        if self.reserves {
            poll.min(unwatched / 4)
        } else {
            poll
        }
    }
}

fn is_held(record: &Record) -> bool {
    !record.released && record.remaining != Some(Duration::ZERO)
}
