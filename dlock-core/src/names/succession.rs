//! Handing a name to the client's own next waiter (H1, H3): who stands in line, what a release that has
//! begun offers them, and how often in a row. Sends nothing: the giver's task keeps the duty to
//! release until a waiter's try has been granted, so nothing is lost with the waiter.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::{
    runtime::{Handle, Id},
    sync::oneshot,
};
use uuid::Uuid;

use super::{
    NameState,
    crews::{Crews, Waiter},
};
use crate::{
    Clock, Version,
    telling::told,
    time::{Look, Plan},
};

/// H5: how often in a row a client keeps a name to itself, at most. Each of them saves the store a write
/// and a waiter a round trip; all of them together make the waiters of other processes wait. With
/// sixteen the saving is within 6 % of all there is to save.
const MOST_IN_A_ROW: usize = 16;

/// What one name's succession knows.
#[derive(Default)]
pub(super) struct Succession {
    /// Waiters in line, whoever contends included.
    pub(super) crews: Crews,
    /// The term whose release has begun, until somebody takes it or its giver takes it back.
    legacy: Option<Legacy>,
    row: Row,
}

/// Hand-overs in a row: since when, and how many.
#[derive(Default)]
struct Row {
    since: Option<Look>,
    handed: usize,
}

/// A place in line. Leaving the last one gives back what nobody can take any more.
pub(crate) struct Place {
    state: Arc<NameState>,
    runtime: Id,
    waiter: Weak<dyn Waiter>,
}

/// The giver's end of a hand-over. Dropping it takes back what nobody has taken.
pub(crate) struct Offer {
    state: Arc<NameState>,
    uuid: Uuid,
    verdict: oneshot::Receiver<()>,
}

/// The waiter's end: a term that may be claimed, ground (b) of `prev`. Dropping it, in whatever way,
/// tells the giver to send its release.
pub(crate) struct Legacy {
    pub(crate) version: Version,
    granted: oneshot::Sender<()>,
}

impl NameState {
    /// Somebody stands in line, for as long as the place lives, and must not be away for longer than that.
    pub(crate) fn place(self: &Arc<Self>, waiter: Weak<dyn Waiter>, patience: Duration) -> Place {
        // Its task will run here.
        let runtime = Handle::current();
        let mut known = self.known();
        let crews = &mut known.succession.crews;
        crews.join(&runtime, Weak::clone(&waiter), patience);
        Place {
            state: Arc::clone(self),
            runtime: runtime.id(),
            waiter,
        }
    }

    /// An identity of ours is over (G4), and its release begins. If it is a lease's, the term is offered
    /// to whoever is first in line, in the same instant. `None` if nobody is, or if the name has to go
    /// back to the store: the release is sent then.
    pub(crate) fn give_up(
        self: &Arc<Self>,
        clock: &Clock,
        plan: &Plan,
        uuid: Uuid,
        version: Option<Version>,
    ) -> Option<Offer> {
        let now = clock.look();
        let mut known = self.known();
        self.mark_over(&mut known, clock, uuid, plan.duration, Duration::ZERO);
        let version = version?;
        // We were granted a later term: this one is over in the store, and says nothing of the row.
        if known.newest != Some(version.uuid) {
            return None;
        }
        let Succession { crews, legacy, row } = &mut known.succession;
        let since = *row.since.get_or_insert(now);
        let long = row.handed >= MOST_IN_A_ROW || clock.elapsed(since) >= plan.row();
        if crews.is_empty() || legacy.is_some() || long {
            *row = Row::default();
            return None;
        }
        row.handed += 1;
        let (granted, verdict) = oneshot::channel();
        *legacy = Some(Legacy { version, granted });
        drop(known);
        self.freed.notify_waiters();
        Some(Offer {
            state: Arc::clone(self),
            uuid: version.uuid,
            verdict,
        })
    }

    /// Something is on offer to whoever is first in line.
    pub(crate) fn is_offered(&self) -> bool {
        self.known().succession.legacy.is_some()
    }

    /// For whoever is first in line: what is on offer.
    pub(crate) fn inherit(&self) -> Option<Legacy> {
        self.known().succession.legacy.take()
    }

    /// The same, if it is this term.
    pub(crate) fn inherit_term(&self, uuid: Uuid) -> Option<Legacy> {
        let mut known = self.known();
        let legacy = &mut known.succession.legacy;
        legacy.take_if(|legacy| legacy.version.uuid == uuid)
    }

    /// The name came from the store, or goes back there: whatever follows is another row.
    pub(crate) fn row_ends(&self) {
        self.known().succession.row = Row::default();
    }

    /// The name came to a lease of ours by a hand-over, and will probably go on to whoever is first in
    /// line in the same way.
    pub(crate) fn in_a_row(&self) -> bool {
        let known = self.known();
        known.succession.row.handed > 0 && !known.live.is_empty()
    }
}

impl Legacy {
    /// The try that claimed it was granted: there is nothing to release any more.
    pub(crate) fn granted(self) {
        // A giver that has gone away was told to by nobody: its runtime has ended.
        let _gone = self.granted.send(());
    }
}

impl Offer {
    /// Whether a waiter's try was granted. False as soon as that cannot be, or has taken too long:
    /// others wait as well, and the release is safe beside a try that is still under way.
    pub(crate) async fn granted(mut self, clock: &Clock, plan: &Plan) -> bool {
        let granted = self.verdict(clock, plan).await;
        if !granted {
            self.ends_row();
        }
        granted
    }

    /// The name goes back to the store, unless we have been granted a later term: that one's row goes on.
    fn ends_row(&self) {
        let mut known = self.state.known();
        if known.newest == Some(self.uuid) {
            known.succession.row = Row::default();
        }
    }

    async fn verdict(&mut self, clock: &Clock, plan: &Plan) -> bool {
        tokio::select! {
            biased;
            verdict = &mut self.verdict => return verdict.is_ok(),
            () = clock.pause(plan.heirs_patience()) => {}
        }
        if self.take_back() {
            told(|| tracing::debug!(name: "hand_on_unclaimed", "nobody came for the lock"));
            return false;
        }
        // Its try gets what an attempt gets. What has been heard by then counts.
        tokio::select! {
            biased;
            verdict = &mut self.verdict => verdict.is_ok(),
            () = clock.pause(plan.attempt()) => false,
        }
    }

    /// Whether it was still there.
    fn take_back(&self) -> bool {
        self.state.inherit_term(self.uuid).is_some()
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        let _taken_by_somebody = self.take_back();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut known = self.state.known();
        let Succession { crews, legacy, .. } = &mut known.succession;
        crews.leave(self.runtime, &self.waiter);
        let nobodys = legacy.take_if(|_| crews.is_empty());
        drop(known);
        drop(nobodys);
    }
}
