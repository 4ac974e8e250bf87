//! What a try's answer means to its caller, and what the client knows from then on (A3, G4, V9).

use std::time::Duration;

use dlock_core::{
    ErrorKind, Record,
    provider::{Acquire, AcquireOutcome},
};
use uuid::Uuid;

use super::{
    SLACK, State,
    model::{CallerId, Pause, Seen, held},
};

/// How many of a client's retired identities the monitor expects it to remember: fewer than it does,
/// since the client also counts those that never passed the boundary.
const RETIRED: usize = 6;

impl State {
    pub(super) fn acquire_answered(
        &mut self,
        client: usize,
        request: &Acquire,
        outcome: &AcquireOutcome,
    ) {
        let stamp = self.stamp(client);
        let Some(id) = self.caller_of(request) else {
            return;
        };
        let caller = &mut self.callers[id];
        let name = caller.name.clone();
        if !matches!(outcome, AcquireOutcome::Acquired(_)) {
            caller.heard = Some(stamp.contender);
        }
        let Some(open) = &mut caller.open_try else {
            return;
        };
        open.answered = true;
        let (sent, once) = (open.sent, !open.repeated);
        self.in_doubt.remove(&request.new);
        let duration = caller.settings.duration;
        match outcome {
            AcquireOutcome::Acquired(tokens) => {
                let token = tokens.last();
                let late = stamp.holder >= sent.holder + caller.settings.validity();
                self.successor_answered(id, request, !late);
                let known = self.known(client, &name);
                known.highest = known.highest.max(token.get());
                known.observation = None;
                if late {
                    self.figures.late_grants += 1;
                    self.retire(client, &name, request.new, duration);
                    self.next_at_once(id, "V9");
                } else {
                    self.granted(id, request, *tokens, sent);
                }
            }
            AcquireOutcome::Spent => {
                self.figures.spent += 1;
                self.successor_answered(id, request, false);
                self.retire(client, &name, request.new, duration);
                self.next_at_once(id, "A3");
            }
            AcquireOutcome::Held(record) => {
                if once {
                    self.claim_failed(client, request);
                }
                self.retire(client, &name, request.new, duration);
                self.saw(client, &name, record);
                let another = request.prev != Some(record.version());
                let same_term = request.prev.is_some_and(|prev| prev.uuid == record.uuid);
                if !another || !same_term {
                    self.successor_answered(id, request, false);
                }
                if another && self.callers[id].ticket == Some(record.uuid) {
                    self.figures.other_numbers += 1;
                    self.next_at_once(id, "H2");
                } else if self.callers[id].ticket.is_some() && !self.callers[id].once {
                    self.is_back(client, &name);
                    self.queues_after_all(id);
                } else if another && self.is_own_orphan(id, record) {
                    self.figures.own_orphans += 1;
                    self.next_at_once(id, "G4");
                } else if self.callers[id].once {
                    // It has its answer.
                    self.is_back(client, &name);
                } else if !self.may_be_own_orphan(id, record) {
                    self.is_back(client, &name);
                    self.callers[id].seen = true;
                    self.next_when_due(id, record);
                }
            }
        }
    }

    pub(super) fn acquire_failed(&mut self, request: &Acquire, kind: ErrorKind) {
        let Some(id) = self.caller_of(request) else {
            return;
        };
        if kind == ErrorKind::Unknown {
            self.in_doubt.insert(request.new);
        }
        self.ask_failed(id, kind);
    }

    /// A try or a look has no answer.
    pub(super) fn ask_failed(&mut self, id: CallerId, kind: ErrorKind) {
        let since = self.stamp(self.callers[id].client);
        // A lease that was offered meanwhile has rung as well, and others go first where it was taken back (H3).
        let woken = self.rung(id).0 || self.was_offered(id);
        let left = self.left_by(id);
        let awaits = self.may_await_a_release(id);
        let caller = &mut self.callers[id];
        let mean = caller.settings.failure_pause();
        caller.fatal |= kind == ErrorKind::Fatal;
        caller.pause = (kind != ErrorKind::Fatal).then_some(Pause {
            since,
            earliest: mean / 2,
            latest: mean * 3 / 2 + awaits + if woken { left } else { Duration::ZERO },
            rule: "W5",
            wakes: true,
            woken,
            excused: false,
        });
    }

    fn caller_of(&self, request: &Acquire) -> Option<CallerId> {
        let id = *self.drawn.get(&request.new)?;
        let asked = self.callers.get(id)?.open_try.as_ref()?;
        (asked.uuid == request.new).then_some(id)
    }

    /// A reply or a read showed this record.
    pub(super) fn saw(&mut self, client: usize, name: &str, record: &Record) {
        self.check_closed(record);
        let now = self.clients[client].machine.contender();
        let its_own = self
            .newest(record.uuid)
            .is_some_and(|term| term.client == client);
        let known = self.known(client, name);
        known.highest = known.highest.max(record.token.get());
        if !its_own {
            known.elsewhere = known.elsewhere.max(record.token.get());
        }
        if !held(record) {
            known.observation = None;
            return;
        }
        match &mut known.observation {
            Some(seen) if seen.version == record.version() => seen.last = now,
            _ => {
                known.observation = Some(Seen {
                    version: record.version(),
                    duration: record.duration,
                    first: now,
                    last: now,
                });
            }
        }
    }

    /// G4: a client retires one of its identities, and remembers it for two leases.
    pub(super) fn retire(&mut self, client: usize, name: &str, uuid: Uuid, duration: Duration) {
        let until = self.clients[client].machine.contender() + 2 * duration;
        self.retire_until(client, name, uuid, until);
    }

    /// The same, remembered until this instant. Beside the newest ones it remembers leases whose release is under
    /// way.
    pub(super) fn retire_until(&mut self, client: usize, name: &str, uuid: Uuid, until: Duration) {
        let mut retired = std::mem::take(&mut self.known(client, name).retired);
        if !retired.iter().any(|(known, _)| *known == uuid) {
            retired.push_front((uuid, until));
            let mut newer = 0;
            retired.retain(|(uuid, _)| {
                newer += 1;
                newer <= 2 * RETIRED || self.is_releasing(*uuid)
            });
        }
        self.known(client, name).retired = retired;
    }

    /// The lease's release has begun, and no answer has ended it.
    fn is_releasing(&self, uuid: Uuid) -> bool {
        let term = self.newest(uuid);
        term.is_some_and(|term| term.release_began.is_some() && term.release_answer.is_none())
    }

    /// Whether the client must know that nobody acts on this record.
    pub(super) fn is_own_orphan(&mut self, id: CallerId, record: &Record) -> bool {
        let caller = &self.callers[id];
        let (client, name) = (caller.client, caller.name.clone());
        let now = self.clients[client].machine.contender();
        let known = self.known(client, &name);
        let retired = known.retired.iter().take(RETIRED);
        !known.is_closing(record.uuid, now)
            && retired
                .clone()
                .any(|(uuid, until)| *uuid == record.uuid && now + SLACK < *until)
    }

    /// Whether the client must remember these identities still.
    pub(super) fn are_remembered(&mut self, client: usize, name: &str, uuids: &[Uuid]) -> bool {
        let newest = self.known(client, name).retired.iter().take(RETIRED);
        let newest: Vec<Uuid> = newest.map(|(uuid, _)| *uuid).collect();
        uuids.iter().all(|uuid| newest.contains(uuid))
    }

    /// Whether the client may still know that: it remembers more than is demanded here, and a try of it may be over
    /// that no release follows.
    pub(super) fn may_be_own_orphan(&mut self, id: CallerId, record: &Record) -> bool {
        let (client, name) = (self.callers[id].client, self.callers[id].name.clone());
        let left = self.is_own(client, record.uuid) && self.may_be_left(record.uuid);
        left || self.known(client, &name).is_retired(record.uuid)
    }
}
