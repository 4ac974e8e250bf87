//! Reservations (W8): a waiter that is passed over takes a lease beside the lock it waits for, and a client
//! that has kept the lock leaves it to others for a while. The leases themselves are the store's and the
//! history's to judge; here is what they change in the times at which callers ask.

use std::time::Duration;

use dlock_core::{ErrorKind, Record};
use dlock_testkit::faults::{Outcome, Request};

use super::{
    Call, SLACK, State,
    model::{CallId, CallerId, Known, Stamp, Status},
};

/// What is left to the waiter that has the reservation.
const LEFT_TO_RESERVED: Duration = Duration::from_millis(8);

/// What the name of the place behind it ends with.
const SECOND_PLACE: &str = "/2";

/// How often waiters ask that have no poll interval of their own.
const LEAST_POLL: Duration = Duration::from_millis(100);
const MOST_POLL: Duration = Duration::from_secs(1);

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

/// Whether it is about the place behind the reservation. Who has that one is told to nobody but those who want
/// it, and where a look costs less they look before they ask.
fn is_for_second_place(request: &Request) -> bool {
    matches!(request, Request::Read(name) if name.as_str().ends_with(SECOND_PLACE))
}

impl State {
    /// A client sends a call about a reservation. A contender looks for one before it asks for the lock: which
    /// contender that is.
    pub(super) fn reservation_called(
        &mut self,
        client: usize,
        request: &Request,
        lock: &str,
    ) -> Option<CallerId> {
        let looks = is_for_second_place(request);
        if looks && !self.cheap_reads {
            self.complain("W8", || {
                format!("c{client} looks at a place in line, and a look costs as much as a refusal")
            });
        }
        if looks || matches!(request, Request::Acquire(_)) {
            self.known(client, lock).reserves = true;
            return None;
        }
        if !matches!(request, Request::Read(_)) {
            return None;
        }
        let looker = self.looks(client, lock);
        self.excuse(client, lock, looker, Duration::ZERO);
        if let Some(looker) = looker {
            self.callers[looker].looked = Some(self.stamp(client));
        }
        looker
    }

    /// Such a call has ended. Its client leaves the lock to others if it found a reservation of theirs.
    pub(super) fn reservation_ended(&mut self, call: &Call, answer: Option<&Outcome>, lock: &str) {
        let client = call.client;
        match (&call.request, answer) {
            (request, _) if is_for_second_place(request) => {}
            (Request::Read(_), Some(Outcome::Read(record))) => {
                let now = self.stamp(client).contender;
                let away = record.as_ref().map_or(Duration::ZERO, |record| {
                    self.leaves_to(client, lock, record)
                });
                let known = self.known(client, lock);
                if away.is_zero() {
                    known.away_until = Duration::ZERO;
                } else {
                    (known.absent, known.away_until) = (true, now + away);
                    known.heeds = true;
                }
                self.excuse(client, lock, call.looker, away);
                if let Some(looker) = call.looker {
                    self.callers[looker].heard = Some(now);
                }
                if record
                    .as_ref()
                    .is_some_and(|record| self.is_left_behind(client, lock, record))
                {
                    self.nobody_shows(client, lock);
                }
            }
            (Request::Read(_), _) => self.excuse(client, lock, call.looker, Duration::ZERO),
            _ => {}
        }
    }

    /// Such a call was refused for good: asking again cannot help, so its waiter makes no reservation any more.
    pub(super) fn reservation_failed(&mut self, call: &Call, kind: ErrorKind, lock: &str) {
        if kind != ErrorKind::Fatal {
            return;
        }
        let waiter = match &call.request {
            Request::Acquire(request) => {
                let labelled = request.owner.parse().ok();
                labelled.or_else(|| self.contender(call.client, lock))
            }
            request if is_for_second_place(request) => self.contender(call.client, lock),
            _ => None,
        };
        if let Some(waiter) = waiter.and_then(|id: CallerId| self.callers.get_mut(id)) {
            waiter.without_reservation = true;
        }
    }

    /// The owner of this reservation does not renew it: other waiters cannot tell until it has expired, which
    /// on some stores they have to observe first.
    fn is_left_behind(&mut self, client: usize, lock: &str, record: &Record) -> bool {
        let now = self.stamp(client).contender;
        let known = self.known(client, lock);
        let before = known
            .reserved
            .filter(|(version, _)| *version == record.version());
        let (_, first) = *known
            .reserved
            .insert(before.unwrap_or((record.version(), now)));
        is_held(record) && now.saturating_sub(first) >= record.duration / 2
    }

    /// For how long a client leaves a lock to this reservation, at most: two polls of its own waiters or
    /// of those that have it.
    fn leaves_to(&mut self, client: usize, lock: &str, record: &Record) -> Duration {
        if !is_held(record) {
            return Duration::ZERO;
        }
        let known = self.known(client, lock);
        let waiters = known.queue.iter().chain(known.head.as_ref()).copied();
        let waiters: Vec<CallerId> = waiters.collect();
        let own = waiters
            .into_iter()
            .map(|id| self.callers[id].settings.poll(false));
        let theirs = (record.duration / 10).clamp(LEAST_POLL, MOST_POLL);
        2 * own.fold(theirs, Duration::max)
    }

    /// The contender for the lock has a good reason to ask so much later, or as late as its client comes
    /// back, and at any time until then: also without a look, and with one though it was woken before. It is up for
    /// a try, if it is the one that looked; the next in line, which may have asked before a look of a caller that
    /// had gone was answered, sleeps on, and leaves the lock to others when it wakes.
    fn excuse(&mut self, client: usize, lock: &str, looker: Option<CallerId>, lasts: Duration) {
        let now = self.stamp(client).contender;
        let back = self.known(client, lock).away_until;
        let lasts = lasts.max(back.saturating_sub(now));
        let waits = |id: &CallerId| self.callers[*id].status == Status::Waiting;
        let looker = looker.filter(waits);
        let looked = looker.is_some();
        let Some(contender) = looker.or_else(|| self.contender(client, lock)) else {
            return;
        };
        if !looked && lasts.is_zero() {
            return;
        }
        let caller = &mut self.callers[contender];
        if let Some(pause) = &mut caller.pause {
            // A read may be under way at its end.
            let lasts = lasts + caller.settings.duration / 6;
            let latest = now.saturating_sub(pause.since.contender) + lasts;
            pause.latest = if looked {
                latest
            } else {
                latest.max(pause.latest)
            };
            pause.earliest = Duration::ZERO;
            (pause.woken, pause.excused) = (true, true);
        }
    }

    /// The store has answered the contender.
    fn hears(&mut self, client: usize, lock: &str) {
        let now = self.stamp(client).contender;
        if let Some(contender) = self.contender(client, lock) {
            self.callers[contender].heard = Some(now);
        }
    }

    /// The waiter whose turn it is, or will be with its first call.
    fn contender(&mut self, client: usize, lock: &str) -> Option<CallerId> {
        let known = self.known(client, lock);
        let line: Vec<CallerId> = known.head.iter().chain(&known.queue).copied().collect();
        line.into_iter()
            .find(|id| self.callers[*id].status == Status::Waiting)
    }

    /// Whether this read may be by a client that leaves the lock to others. It is not held to the rules of
    /// looks then, though it may be one: the client may have come back.
    pub(super) fn is_read_away(&mut self, client: usize, name: &str) -> bool {
        let now = self.stamp(client);
        let known = self.known(client, name);
        let until = known.away_until;
        let away = !until.is_zero() && now.contender <= until + SLACK;
        known.absent |= away;
        let head = known.head;
        if let Some(head) = head.filter(|_| away && self.cheap_reads) {
            let caller = &mut self.callers[head];
            (caller.pause, caller.asked, caller.may_have_asked) = (None, now.at, now.at);
        }
        if away {
            // The next call is this one.
            self.reads_away.insert(self.calls.len());
        }
        away
    }

    /// It was answered.
    pub(super) fn read_away_answered(&mut self, id: CallId) {
        if self.reads_away.remove(&id)
            && let Request::Read(name) = &self.calls[id].request
        {
            let (client, name) = (self.calls[id].client, name.as_str().to_owned());
            self.hears(client, &name);
        }
    }

    /// It has failed. If it was a look, a fatal answer ends the wait.
    pub(super) fn read_away_failed(&mut self, id: CallId, kind: ErrorKind) {
        if self.reads_away.remove(&id)
            && kind == ErrorKind::Fatal
            && let Request::Read(name) = &self.calls[id].request
        {
            let (client, name) = (self.calls[id].client, name.as_str().to_owned());
            if let Some(contender) = self.contender(client, &name) {
                self.callers[contender].may_be_fatal = true;
            }
        }
    }

    /// When a caller began to ask, whose first call leaves now: it may have looked for a reservation before,
    /// in vain. Where its machine has stood still meanwhile, that took as long.
    pub(super) fn began_to_ask(&self, id: CallerId) -> Duration {
        let caller = &self.callers[id];
        let now = self.stamp(caller.client).contender;
        let longest = caller.settings.duration / 6 + SLACK;
        let just_now = |looked: &Stamp| {
            looked.contender + longest >= now || !self.undisturbed_since(caller.client, looked.at)
        };
        let looked = caller.looked.filter(just_now);
        looked.map_or(now, |looked| looked.contender)
    }

    /// A waiter asks. Its client may still leave the lock to others: this one's limit may have been too short
    /// to wait for them.
    pub(super) fn has_come_back(&mut self, id: CallerId) {
        let (client, name) = (self.callers[id].client, self.callers[id].name.clone());
        if std::mem::take(&mut self.known(client, &name).absent) {
            let now = self.stamp(client).contender;
            self.callers[id].heard = Some(now);
        }
    }

    /// A client was refused by the store: it leaves the lock to nobody any more.
    pub(super) fn is_back(&mut self, client: usize, name: &str) {
        self.known(client, name).away_until = Duration::ZERO;
    }
}

impl Known {
    /// The most that a woken try leaves to others.
    pub(super) fn left_to_others(&self, at_most: Duration) -> Duration {
        if self.reserves || self.heeds {
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
