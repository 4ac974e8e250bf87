//! Releases: from when on a lease has ended for its client, and that none is lost (V7, G3, I14).

use std::time::Duration;

use dlock_core::{
    ErrorKind,
    provider::{Release, ReleaseOutcome},
};
use dlock_testkit::faults::Request;

use super::{
    Monitor, SLACK, State,
    model::{LeaseId, Term},
};

impl Monitor {
    /// The client is asked to close.
    pub(in super::super) fn closes(&self, client: usize) {
        let mut state = self.state();
        let now = state.now();
        state.note(|| format!("c{client} closes"));
        state.clients[client].closing = Some(now);
    }

    /// Whether the client is closing.
    pub(in super::super) fn is_closing(&self, client: usize) -> bool {
        self.state().clients[client].closing.is_some()
    }

    /// Its `close` returned the number of its leases, which are counted here as well.
    pub(in super::super) fn closed(&self, client: usize, counted: usize) {
        let mut state = self.state();
        let now = state.now();
        state.note(|| format!("c{client} closed: {counted}"));
        state.clients[client].closed_down = Some(now);
        let of_client = state.terms.values().filter(|term| term.client == client);
        let held = of_client.filter(|term| term.release.began.is_none());
        // A grant that its caller did not take may have been released already.
        let (least, most) = (
            held.clone().filter(|term| term.delivered).count(),
            held.count(),
        );
        if !(least..=most).contains(&counted) {
            state.complain("G3", || {
                format!("c{client} has {least} to {most} leases and says {counted}")
            });
        }
        let is_open = |request: &Request| {
            !matches!(
                request,
                Request::Renew(_) | Request::Read(_) | Request::Watch
            )
        };
        let mut open = state.open.iter().map(|id| &state.calls[*id]);
        let open = open.find(|call| call.client == client && is_open(&call.request));
        if let Some(open) = open {
            let what = format!("c{client} is closed, and waits for {:?}", open.request);
            state.complain("G3", || what);
        }
        let orphans: Vec<_> = (state.drawn.iter())
            .filter(|(uuid, id)| {
                state.callers[**id].client == client
                    && state.in_doubt.contains(*uuid)
                    && !state.newest.contains_key(*uuid)
                    && !state.given_back.contains(*uuid)
            })
            .map(|(uuid, _)| *uuid)
            .collect();
        for uuid in orphans {
            state.complain("I14", || {
                format!(
                    "c{client} does not know whether it was granted {uuid}, and never gave it back"
                )
            });
        }
    }
}

impl State {
    /// From here on the lease is invalid (V7).
    pub(super) fn release_begins(&mut self, lease: LeaseId) {
        let Some(term) = self.terms.get(&lease) else {
            return;
        };
        if term.release.began.is_some() {
            return;
        }
        let now = self.stamp(term.client);
        if let Some(term) = self.terms.get_mut(&lease) {
            term.release.began = Some(now);
            term.watch = None;
        }
    }

    pub(super) fn release_called(&mut self, request: &Release) {
        let uuid = request.uuid;
        self.given_back.insert(uuid);
        let Some(lease) = self.newest.get(&uuid).copied() else {
            return;
        };
        let term = &self.terms[&lease];
        let in_hand = term.delivered && term.watch.is_some();
        let wrong = [
            (term.release.by_ticket, "H7", "it went by ticket"),
            (term.work_alive, "V7", "its work exists"),
            (term.release.fatal, "V7", "a fatal answer came before"),
            (in_hand, "V7", "its handle lives"),
        ];
        for (_, rule, why) in wrong.into_iter().filter(|(so, ..)| *so) {
            self.complain(rule, || format!("{lease} is released, and {why}"));
        }
        self.release_begins(lease);
        if let Some(term) = self.terms.get_mut(&lease) {
            term.release.called = true;
            term.release.failing = None;
        }
    }

    pub(super) fn release_answered(
        &mut self,
        client: usize,
        request: &Release,
        outcome: &ReleaseOutcome,
    ) {
        let name = request.name.as_str();
        if let ReleaseOutcome::NotHeld(Some(record)) = outcome {
            self.saw(client, name, record);
        }
        if let (ReleaseOutcome::Released { .. }, Some((_, token))) =
            (outcome, request.closing.zip(request.token))
        {
            // A client that has closed a name has seen it closed.
            let known = self.known(client, name);
            known.highest = known.highest.max(token.get());
            known.elsewhere = known.elsewhere.max(token.get());
        }
        if let Some(term) = self.newest_mut(request.uuid) {
            match outcome {
                ReleaseOutcome::Released { .. } => term.release.released = true,
                ReleaseOutcome::NotHeld(_) => term.release.not_held = true,
            }
        }
    }

    pub(super) fn release_failed(&mut self, client: usize, request: &Release, kind: ErrorKind) {
        let now = self.stamp(client);
        if let Some(term) = self.newest_mut(request.uuid) {
            term.release.fatal |= kind == ErrorKind::Fatal;
            term.release.failing = Some(now);
        }
    }

    /// I14, V7: a lease that has ended is released to the store soon, and a release that failed is repeated.
    pub(super) fn lost_release(
        &self,
        lease: LeaseId,
        term: &Term,
    ) -> Option<(&'static str, String)> {
        let client = &self.clients[term.client];
        let contender = client.machine.contender();
        let began = term.release.began?;
        let settled = term.release.by_ticket
            || term.release.followed
            || term.refused.is_some()
            || self.claimed.contains(&lease.uuid);
        if settled {
            return None;
        }
        let waited = contender.saturating_sub(began.contender);
        if !term.release.called {
            let longest = term.may_stay_for() + term.settings.duration / 6;
            let late = waited > longest + SLACK && client.is_calm(self.now(), waited);
            return late.then(|| ("I14", format!("{lease} is not given back after {waited:?}")));
        }
        let answered = term.release.released || term.release.not_held || term.release.fatal;
        let failed = term.release.failing.filter(|_| !answered)?;
        let silent = contender.saturating_sub(failed.contender);
        let pause = term.settings.failure_pause() * 3 / 2 + Duration::from_millis(1);
        let late = silent > pause + SLACK
            && !term.let_go_by(client.machine.holder())
            && !client.was_out_since(began.contender)
            && client.is_calm(self.now(), silent);
        late.then(|| {
            (
                "V7",
                format!("the release of {lease} is not repeated for {silent:?}"),
            )
        })
    }
}
