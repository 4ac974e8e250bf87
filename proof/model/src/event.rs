//! The events of one step: counted to show that a search saw them, and printed to make a trace readable.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::store::Rule;

/// An event worth counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "tests go through all of them")]
pub enum Event {
    /// The store answered by this rule.
    Store(Rule),
    /// A1, A4, A5 or A6 took a record for a try that its client has given up (G2).
    Orphan,
    /// A copy of an open try, whose answer was lost, found its own grant (A2).
    ReplayAnswered,
    /// A6 on ground (a).
    TakenByObservation,
    /// A6 on ground (b).
    TakenFromOneself,
    /// A6 on ground (c).
    TicketRedeemed,
    /// A6 on ground (c), with another number than the ticket's.
    TicketRedeemedAtOtherNumber,
    /// A client believes in a new lease.
    Granted,
    /// V9: a grant came after its deadline.
    GrantTooLate,
    /// A try ended because the name is held.
    Refused,
    /// V4: a renewal moved the deadline.
    Extended,
    /// V4: a renewal that was applied moved nothing, because a later one had.
    NotExtended,
    /// V5: a holder heard `Lost`.
    LossHeard,
    /// V5: a holder's deadline passed.
    DeadlinePassed,
    /// A client kept its observation: the version shown is the one that it knew.
    SeenAgain,
    /// S1: a lease began on a term that had had one before.
    Succeeded,
    /// T6: a client learned of a higher token.
    Told,
    /// T5: the record was purged.
    Purged,
    /// The record was lost.
    FailedOver,
    /// The resource accepted a write.
    WriteAccepted,
    /// T3: the resource refused a stale write.
    WriteRefused,
}

/// Every event, in the order in which they are counted.
pub(crate) const EVENTS: [Event; 38] = [
    Event::Store(Rule::A1),
    Event::Store(Rule::A2),
    Event::Store(Rule::A3),
    Event::Store(Rule::A4),
    Event::Store(Rule::A5),
    Event::Store(Rule::A6),
    Event::Store(Rule::A7),
    Event::Store(Rule::R1),
    Event::Store(Rule::R2),
    Event::Store(Rule::R3),
    Event::Store(Rule::L1),
    Event::Store(Rule::L2),
    Event::Store(Rule::L3),
    Event::Store(Rule::B4),
    Event::Store(Rule::B4Again),
    Event::Store(Rule::B1),
    Event::Store(Rule::B1Again),
    Event::Store(Rule::B1Changed),
    Event::Orphan,
    Event::ReplayAnswered,
    Event::TakenByObservation,
    Event::TakenFromOneself,
    Event::TicketRedeemed,
    Event::TicketRedeemedAtOtherNumber,
    Event::Granted,
    Event::GrantTooLate,
    Event::Refused,
    Event::Extended,
    Event::NotExtended,
    Event::LossHeard,
    Event::DeadlinePassed,
    Event::SeenAgain,
    Event::Succeeded,
    Event::Told,
    Event::Purged,
    Event::FailedOver,
    Event::WriteAccepted,
    Event::WriteRefused,
];

impl Event {
    fn index(self) -> usize {
        match self {
            Self::Store(rule) => rule as usize,
            Self::Orphan => 18,
            Self::ReplayAnswered => 19,
            Self::TakenByObservation => 20,
            Self::TakenFromOneself => 21,
            Self::TicketRedeemed => 22,
            Self::TicketRedeemedAtOtherNumber => 23,
            Self::Granted => 24,
            Self::GrantTooLate => 25,
            Self::Refused => 26,
            Self::Extended => 27,
            Self::NotExtended => 28,
            Self::LossHeard => 29,
            Self::DeadlinePassed => 30,
            Self::SeenAgain => 31,
            Self::Succeeded => 32,
            Self::Told => 33,
            Self::Purged => 34,
            Self::FailedOver => 35,
            Self::WriteAccepted => 36,
            Self::WriteRefused => 37,
        }
    }
}

/// The collector of a step's events.
pub(crate) trait Log {
    fn log(&mut self, event: Event);
}

impl Log for Vec<Event> {
    fn log(&mut self, event: Event) {
        self.push(event);
    }
}

/// The events seen in the transitions of a search, without their counts: threads that count together
/// wait for each other more than they search.
#[derive(Debug)]
pub struct Seen([AtomicBool; EVENTS.len()]);

impl Default for Seen {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicBool::new(false)))
    }
}

impl Seen {
    /// Records this event.
    #[must_use]
    pub fn has(&self, event: Event) -> bool {
        self.0[event.index()].load(Ordering::Relaxed)
    }

    /// All events seen so far.
    pub fn all(&self) -> impl Iterator<Item = Event> {
        EVENTS.into_iter().filter(|event| self.has(*event))
    }
}

impl Log for &Seen {
    fn log(&mut self, event: Event) {
        let seen = &self.0[event.index()];
        if !seen.load(Ordering::Relaxed) {
            seen.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::EVENTS;

    #[test]
    fn each_event_is_counted_in_its_own_place() {
        for (place, event) in EVENTS.into_iter().enumerate() {
            assert_eq!(event.index(), place, "{event:?}");
        }
    }
}
