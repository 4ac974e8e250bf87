//! Whose turn it is (W1, I18).

use super::{
    State,
    model::{Caller, CallerId, Status, Turn},
};

impl State {
    /// W1, I18: one contends at a time, in the order in which they came.
    pub(super) fn check_turn(&mut self, id: CallerId) {
        let caller = &mut self.callers[id];
        // A redeemer stands in no line either (H9).
        if caller.once || caller.ticket.is_some() {
            caller.requeued = false;
            return;
        }
        let (client, name) = (caller.client, caller.name.clone());
        if std::mem::take(&mut caller.requeued) {
            caller.turn = Turn::NotYet;
            caller.seen = false;
        }
        let turn = caller.turn;
        let known = self.known(client, &name);
        let before = known.head.replace(id);
        let queue = known.queue.clone();
        if before == Some(id) && turn == Turn::Has {
            return;
        }
        if let Some(before) = before
            && self.callers[before].turn == Turn::Has
        {
            self.callers[before].turn = Turn::Had;
        }
        self.callers[id].turn = Turn::Has;
        if turn == Turn::Had {
            self.complain("W1", || format!("{id} contends beside {before:?}"));
        }
        let overtaken = queue
            .iter()
            .take_while(|other| **other != id)
            .find(|other| {
                let other = &self.callers[**other];
                other.status == Status::Waiting
                    && other.turn == Turn::NotYet
                    && !other.requeued
                    && other.away.is_none()
                    && !self.time_is_up(other)
            });
        if let Some(other) = overtaken {
            let other = *other;
            self.complain("I18", || {
                format!("{id} overtakes {other}, which came first")
            });
        }
    }

    pub(super) fn time_is_up(&self, caller: &Caller) -> bool {
        let now = self.clients[caller.client].machine.contender();
        caller
            .limit
            .is_some_and(|limit| now.saturating_sub(caller.began.contender) >= limit)
    }
}
