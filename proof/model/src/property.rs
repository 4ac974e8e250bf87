//! The properties of every reachable state.

/// A property that must always hold. The numbers are those of the protocol and of its invariants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "tests go through all of them")]
pub enum Property {
    /// I1: at no instant of the true time are two leases of the name valid.
    Exclusion,
    /// I2: while a lease is valid, the store keeps every other client out.
    Backed,
    /// I3: each grant mints larger tokens than every grant before it.
    TokensGrow,
    /// I3: each lease has a larger token than every lease before it.
    LeaseTokensGrow,
    /// T1: no two leases have the same token, even if a term was forced or lost.
    TokensDiffer,
    /// T6: no lease has a token below one that its client had learned of before it asked.
    AboveFloor,
    /// I5: the resource accepts no write of a holder after one of a later holder.
    FencedOrder,
    /// I6: a deadline is never later than the `sent` it rests on + D - margin.
    DeadlineFromSent,
    /// I7: no answer revives a lost lease, no deadline moves back.
    NothingRevived,
    /// I9, R3, L3: a request changes nothing that does not have its uuid, or that has ended.
    StaleChangesNothing,
    /// I11: copies of one request grant once, until another term of the name has begun.
    GrantsOnce,
    /// A, R, L: the answer fits the record that it shows.
    AnswersFit,
    /// R2, V5: a holder hears `Lost` only of a lease that is lost.
    NoFalseLoss,
    /// V9: a grant is not handed out after its deadline.
    NoDeadGrant,
    /// V7: when a release was answered, its term does not hold the name.
    ReleaseFrees,
    /// G4: a client that was shown an orphan of its own gets past it with its next try.
    OwnOrphanNeverBlocks,
    /// H2: a redeemer that was shown the ticket's uuid gets past it with its next try.
    TicketNeverBlocks,
    /// O1: a contender that saw one version for the record's D gets past it with its next
    /// try, whatever the store's clock does.
    ObservationEnds,
    /// B4: while the name is closed no client enters, and its own client claims no term that it is closing.
    ClosedKeepsOut,
    /// G2: no record keeps the name longer than D after its last write.
    BlockedAtMostD,
}

impl Property {
    /// All properties.
    pub const ALL: &'static [Self] = &[
        Self::Exclusion,
        Self::Backed,
        Self::TokensGrow,
        Self::LeaseTokensGrow,
        Self::TokensDiffer,
        Self::AboveFloor,
        Self::FencedOrder,
        Self::DeadlineFromSent,
        Self::NothingRevived,
        Self::StaleChangesNothing,
        Self::GrantsOnce,
        Self::AnswersFit,
        Self::NoFalseLoss,
        Self::NoDeadGrant,
        Self::ReleaseFrees,
        Self::OwnOrphanNeverBlocks,
        Self::TicketNeverBlocks,
        Self::ObservationEnds,
        Self::ClosedKeepsOut,
        Self::BlockedAtMostD,
    ];

    /// Its place in `State::violated`.
    pub(crate) const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exclusion => "I1 exclusion",
            Self::Backed => "I2 backed by the record",
            Self::TokensGrow => "I3 tokens grow",
            Self::LeaseTokensGrow => "I3 tokens of leases grow",
            Self::TokensDiffer => "T1 tokens differ",
            Self::AboveFloor => "T6 above the floor",
            Self::FencedOrder => "I5 fenced order",
            Self::DeadlineFromSent => "I6 deadline from sent",
            Self::NothingRevived => "I7 nothing revived",
            Self::StaleChangesNothing => "I9 stale changes nothing",
            Self::GrantsOnce => "I11 grants once",
            Self::AnswersFit => "A R L answers fit",
            Self::NoFalseLoss => "R2 no false loss",
            Self::NoDeadGrant => "V9 no dead grant",
            Self::ReleaseFrees => "V7 release frees",
            Self::OwnOrphanNeverBlocks => "G4 own orphan never blocks",
            Self::TicketNeverBlocks => "H2 ticket never blocks",
            Self::ObservationEnds => "A6 observation ends the wait",
            Self::ClosedKeepsOut => "B4 closed keeps out",
            Self::BlockedAtMostD => "G2 blocked at most D",
        }
    }
}
