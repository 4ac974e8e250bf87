//! Events that should have happened by now and did not: leases that are never released, callers that wait for too long.
//! Called at short intervals during a run, and at its end.

use super::{
    Monitor, SLACK, State,
    model::{LeaseId, Probe, Term},
};

impl Monitor {
    /// Checks everything once.
    pub(in super::super) fn sweep(&self) {
        // Handles are looked through without the lock: looking may wake tasks.
        let watched: Vec<_> = {
            let state = self.state();
            // Half of them: a look also closes a lease that has ended, which must happen without it.
            let half = |lease: &LeaseId| lease.uuid.as_bytes()[0].is_multiple_of(2);
            let watched = state.terms.iter().filter(|(lease, _)| half(lease));
            let watched = watched.filter_map(|(lease, term)| Some((*lease, term.watch.clone()?)));
            watched.collect()
        };
        let probes: Vec<(LeaseId, Option<Probe>)> = watched
            .iter()
            .map(|(lease, watch)| (*lease, watch()))
            .collect();
        let mut state = self.state();
        for (lease, probe) in probes {
            if let Some(probe) = probe {
                state.compare(lease, probe);
            }
        }
        state.sweep_terms();
        state.sweep_callers();
    }
}

impl State {
    fn sweep_terms(&mut self) {
        let mut found = Vec::new();
        for (lease, term) in &self.terms {
            found.extend(self.untaken(*lease, term));
            found.extend(self.lost_release(*lease, term));
        }
        for (rule, what) in found {
            self.complain(rule, || what);
        }
    }

    /// W6: a grant that its caller does not take is released.
    fn untaken(&self, lease: LeaseId, term: &Term) -> Option<(&'static str, String)> {
        if term.delivered || term.release.began.is_some() || self.claimed.contains(&lease.uuid) {
            return None;
        }
        let client = &self.clients[term.client];
        let waits = client
            .machine
            .contender()
            .saturating_sub(term.granted.contender);
        // For a while it may be on offer to the callers in line.
        let longest = term.settings.duration / 3 + term.may_stay_for();
        (waits > longest + SLACK && client.is_calm(self.now(), longest)).then(|| {
            (
                "W6",
                format!("{lease} was not picked up in {waits:?}, and kept"),
            )
        })
    }
}
