//! A claim as a lease: heartbeats are renewals, a release gives the task back. The rules are those of a lock's record.

use std::time::SystemTime;

use dlock_core::{
    Record,
    provider::{Release, ReleaseOutcome, Renew, RenewOutcome},
};
use dlock_tasks::{ClaimKey, ClaimName, State, TaskId};

use super::{
    later,
    table::{Row, Table, Term},
};

impl Table {
    pub(super) fn renew(
        &mut self,
        name: ClaimName,
        request: &Renew,
        now: SystemTime,
    ) -> RenewOutcome {
        let key = ClaimKey::new(name.id, request.uuid, name.token);
        let Some(row) = self.unended(name.id) else {
            return RenewOutcome::Lost(None); // R3
        };
        let state = row.state(now);
        let of_it = row.is_of(&key);
        match &mut row.term {
            Some(Term { record, .. })
                if of_it && !record.released && record.renewals >= request.n =>
            {
                RenewOutcome::Renewed {
                    asked: record.asked,
                } // R2
            }
            Some(Term { record, expiry }) if of_it && state == State::Running => {
                record.renewals = request.n;
                *expiry = later(now, record.duration);
                RenewOutcome::Renewed {
                    asked: record.asked,
                } // R1
            }
            other => RenewOutcome::Lost(other.as_ref().map(|term| term.shown(now))), // R3
        }
    }

    pub(super) fn release(
        &mut self,
        name: ClaimName,
        request: &Release,
        now: SystemTime,
    ) -> ReleaseOutcome {
        let key = ClaimKey::new(name.id, request.uuid, name.token);
        let Some(row) = self.unended(name.id) else {
            return ReleaseOutcome::NotHeld(None); // L3
        };
        if !row.is_of(&key) {
            return ReleaseOutcome::NotHeld(row.term.as_ref().map(|term| term.shown(now))); // L3
        }
        if row.is_asked() {
            row.end(State::Cancelled, None, true, now);
        } else if row.held().is_some() {
            row.give_back(row.run_at, now); // L1
        } // or released before: L2
        ReleaseOutcome::Released { wanted: false }
    }

    /// The record of a claim, as long as it is the newest claim of a task that has not ended.
    pub(super) fn record(&mut self, name: ClaimName, now: SystemTime) -> Option<Record> {
        let term = self.unended(name.id)?.term.as_ref()?;
        (term.record.token == name.token).then(|| term.shown(now))
    }

    pub(super) fn unended(&mut self, id: TaskId) -> Option<&mut Row> {
        self.rows.get_mut(&id).filter(|row| row.done.is_none())
    }
}
