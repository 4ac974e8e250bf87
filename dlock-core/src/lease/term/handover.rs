//! How a holder gives its term up: to the store, to the client's own next waiter, or with a ticket. Sends nothing.

use std::time::Duration;

use super::Term;
use crate::{End, EndCause, provider::Version, time::HolderInstant};

impl Term {
    /// From here on the lease is invalid and no renewal is sent. The term's identity is retired when its release is
    /// sent, and not before: a try that claimed it in between as an orphan would take it from a lease that follows.
    pub(crate) fn begin_release(&self) {
        self.end(EndCause::Released);
    }

    /// `sent` of the newest renewal: the store may hold the term until that + D.
    pub(crate) fn last_sent(&self) -> HolderInstant {
        self.belief().last_sent
    }

    /// Whether the lease was valid when its release began.
    pub(crate) fn was_valid_to_its_release(&self) -> bool {
        matches!(self.belief().ended, Some(EndCause::Released))
    }

    /// A caller has received the lease.
    pub(crate) fn picked_up(&self) {
        self.belief().in_hand = true;
    }

    /// The work was not done: the release frees the name, even before its `at_least` has passed.
    pub(crate) fn leaves_open(&self) {
        self.belief().closes_until = HolderInstant::NEVER;
    }

    /// The term continues the work of a lease that was handed over, which was to keep every other client out for this
    /// much longer (B4).
    pub(crate) fn closes_for(&self, left: Duration) {
        let mut belief = self.belief();
        belief.closes_until = belief.closes_until.max(belief.granted + left);
    }

    /// B4: until when the release that has just begun closes the name, if that time has not yet passed. A lease that
    /// was lost closes nothing, nor does a grant that no caller has picked up: the work did not end, or has not
    /// begun, and another holder may do it.
    pub(crate) fn closes_until(&self) -> Option<HolderInstant> {
        let belief = self.belief();
        let ended = matches!(belief.ended, Some(EndCause::Released));
        let until = belief.closes_until;
        let closes = ended && belief.in_hand && until != HolderInstant::NEVER;
        (closes && self.store.clock.now() < until).then_some(until)
    }

    /// How much longer the redeemer of this lease is to keep every other client out.
    pub(crate) fn left_to_close(&self) -> Duration {
        self.belief().closes_until.since(self.store.clock.now())
    }

    /// Ends the lease as a release does, but leaves it in the store, for the redeemer of its ticket. From here on this
    /// client does not claim it either, so that it does not race with the redeemer. A lost lease stays lost.
    pub(crate) fn hand_over(&self) -> Result<(), End> {
        self.end(EndCause::HandedOver);
        if let Some(loss) = self.over()
            && !matches!(loss.cause, EndCause::HandedOver)
        {
            return Err(loss);
        }
        self.state.given_away(self.uuid);
        Ok(())
    }

    /// The version that the record shows, as far as we know. A renewal in flight may have raised its number.
    pub(crate) fn version(&self) -> Version {
        Version {
            uuid: self.uuid,
            renewals: self.belief().confirmed,
        }
    }
}
