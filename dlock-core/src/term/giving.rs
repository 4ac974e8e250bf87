//! How a holder gives its term up: to the store, to the client's own next waiter, or with a ticket (V7,
//! H1). Sends nothing.

use super::Term;
use crate::{Loss, LossCause, Version, clock::Tick};

impl Term {
    /// V7: from here on the lease is invalid and no renewal is sent. Returns `sent` of the newest
    /// renewal: the store may hold the term until that + D. That our identity is over is marked when the
    /// term is offered or released, and not before: who claimed it in between, as one that is over (G4),
    /// would take it past the row of hand-overs (H1).
    pub(crate) fn begin_release(&self) -> Tick {
        let believes = planted!(HandOverBelieves) && self.state.is_awaited();
        if !planted!(ReleaseBelieves) && !believes {
            self.end(LossCause::Released);
        }
        self.belief().last_sent
    }

    /// Whether the lease was valid when its release began.
    pub(crate) fn was_valid_to_its_release(&self) -> bool {
        matches!(self.belief().ended, Some(LossCause::Released))
    }

    /// H1: ends the lease as a release does, but leaves it in the store, for whoever redeems its
    /// ticket. From here on it is not ours to claim either (G4). A lost lease stays lost.
    pub(crate) fn hand_over(&self) -> Result<(), Loss> {
        if !planted!(GiverBelieves) {
            self.end(LossCause::HandedOver);
        }
        match self.loss() {
            Some(loss)
                if !matches!(loss.cause, LossCause::HandedOver)
                    && !planted!(LostLeaseHandedOver) =>
            {
                return Err(loss);
            }
            _ => {}
        }
        if planted!(TicketClaimed) {
            self.state
                .over(&self.shared.clock, self.uuid, self.plan.duration);
        }
        self.state.given_away(self.uuid);
        Ok(())
    }

    /// As far as we know, what the record shows. A renewal in flight may have raised its number.
    pub(crate) fn version(&self) -> Version {
        Version {
            uuid: self.uuid,
            renewals: self.belief().confirmed,
        }
    }
}
