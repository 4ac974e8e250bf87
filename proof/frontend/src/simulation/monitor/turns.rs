//! W8: if two processes want one name all the time, neither goes without it for long.

use std::time::Duration;

use super::{CallerId, Monitor, State};

/// A name that two processes want and nothing disturbs, and how long one of them goes without it at most.
pub(super) struct Turns {
    name: String,
    most: Duration,
}

impl Monitor {
    pub(in super::super) fn turns(&self, name: String, most: Duration) {
        self.state().turns = Some(Turns { name, most });
    }
}

impl State {
    /// This caller is granted the lock: checks how long its process has waited without it.
    pub(super) fn check_turn(&mut self, id: CallerId) {
        let caller = &self.callers[id];
        let (client, asked) = (caller.client, caller.began.at);
        let Some(turns) = &self.turns else { return };
        if turns.name != caller.name {
            return;
        }
        let most = turns.most;
        let own = self.terms.values();
        let own = own.filter(|term| term.client == client && term.name == turns.name);
        let newest = own.filter_map(|term| term.release.began).map(|at| at.at);
        // The first in line came first.
        let since = newest.max().unwrap_or_default().max(asked);
        let waited = self.now().saturating_sub(since);
        if waited > most && self.undisturbed_since(client, since) {
            self.complain("W8", || {
                format!("c{client} went without its lock for {waited:?}, over {most:?}")
            });
        }
    }
}
