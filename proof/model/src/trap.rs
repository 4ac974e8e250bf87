//! The traps: each a single decision taken differently, each with the property that finds
//! it and the smallest configuration in which it does.

use crate::{
    config::{Config, Discipline},
    property::Property,
    state::CLIENTS,
};

/// A deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "tests go through all of them")]
pub enum Trap {
    // The traps of the protocol's last section.
    /// The deadline is counted from the answer.
    DeadlineFromReply,
    /// No margin, and one slow tick.
    NoMargin,
    /// A margin of one tick, and clocks that go wrong by two.
    DriftBeyondMargin,
    /// R1 without `renewals < n`.
    RenewalNumberUnchecked,
    /// A larger number may have an earlier `sent`.
    LargerNumberEarlierSent,
    /// `Renewed` is credited to the newest attempt.
    CreditedToNewest,
    /// A waiter sends another acquire with the uuid of an answered try, and a new `sent`.
    UuidReused,
    /// A6 is claimed without an observation.
    ClaimWithoutObservation,
    /// A revoker claims the uuid that it put in.
    RevokerClaims,
    /// Tokens start anew after a release.
    TokenResetOnRelease,
    /// No A3.
    A3Removed,
    /// No R2.
    R2Removed,
    /// A release names the last confirmed renewal and applies only to that state.
    ReleaseByConfirmedState,
    /// G4 applies only to the tries that were given up, not to those that were answered.
    OnlyGivenUpRemembered,
    /// A redeemer claims only the exact version on its ticket.
    TicketInsistsOnNumber,
    /// The store's clock jumps forward by more than the unused margin.
    StoreClockForward,
    /// The store's clock jumps back, and there is no A6.
    StoreClockBackWithoutA6,

    // Cases that the documents exclude from their promises.
    /// B2, which is documented to allow it.
    Forced,
    /// A resource that does not compare tokens.
    Unfenced,

    // The traps of leases that follow one another on a term.
    /// The record shows the first token of a block, and is purged when the store's time is past that.
    BeginningShownAndPurged,
    /// The same, and the store loses the record.
    BeginningShownAndLost,
    /// The same, and a contender of an older release mints its token from the one shown.
    BeginningShownToOlderRelease,
    /// G4 applies to leases, so the client claims a term whose first lease has ended.
    EndedLeaseClaimed,
    /// A successor begins although the term is lost.
    SuccessorAfterLoss,
    /// A successor begins although the deadline has passed.
    SuccessorPastDeadline,
    /// A successor begins although the release has begun.
    SuccessorWhileReleasing,
    /// The giver's lease ends after its successor's has begun.
    GiverEndsLast,
    /// The giver's release is sent nevertheless.
    GiverReleases,
    /// A ticket is drawn on a term that continues.
    TicketOnLivingTerm,
    /// A successor gets a token below its client's floor.
    SuccessorBelowFloor,
    /// T6: a token that a resource has seen counts as the last of its block.
    StaleCountsAlone,

    // Rules that are switched off, to check that the properties notice.
    /// No A2: a repeated try competes with its own grant.
    A2Removed,
    /// No A4.
    A4Removed,
    /// No A5.
    A5Removed,
    /// No A6.
    A6Removed,
    /// A6 compares the uuid alone.
    ClaimByUuid,
    /// A take leaves the old duration in the record.
    TakeKeepsDuration,
    /// A take leaves the old token.
    TokenKept,
    /// A write keeps others out for longer than D.
    KeptTooLong,
    /// A renewal needs no uuid.
    RenewalWithoutUuid,
    /// A renewal revives what was released.
    RenewalRevivesReleased,
    /// A renewal revives what has expired.
    RenewalRevivesExpired,
    /// A release needs no uuid.
    ReleaseWithoutUuid,
    /// A holder believes until its release is answered.
    ValidWhileReleasing,
    /// A grant that came after its deadline is handed out.
    LateGrantHandedOut,
    /// A `Renewed` after the deadline counts (V4).
    LateRenewedCounts,
    /// A `Renewed` sets the deadline also if that moves it back.
    DeadlineMovesBack,
    /// G4 claims leases and tries that are alive.
    LiveOwnClaimed,
    /// A contender waits for its own D, not the record's.
    OwnDurationObserved,
    /// A contender does not start anew when the version changes.
    ObservationKept,
    /// An observation counts from the request, not from the answer.
    ObservedFromQuestion,
    /// A closing frees the name.
    ClosingIgnored,
    /// G4 claims what the client is about to close.
    ClosingClaimed,
    /// The repeat of a closing begins it anew.
    RepeatedClosingExtends,
}

/// How a trap is found.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "read by tests and the binary")]
pub struct Control {
    /// The trap.
    pub trap: Trap,
    /// The property that it violates.
    pub property: Property,
    /// A configuration with the trap in it, and with no other mistake.
    pub config: Config,
}

impl Trap {
    /// The traps of the protocol's last section.
    pub const SECTION_11: &'static [Self] = &[
        Self::DeadlineFromReply,
        Self::NoMargin,
        Self::DriftBeyondMargin,
        Self::RenewalNumberUnchecked,
        Self::LargerNumberEarlierSent,
        Self::CreditedToNewest,
        Self::UuidReused,
        Self::ClaimWithoutObservation,
        Self::RevokerClaims,
        Self::TokenResetOnRelease,
        Self::A3Removed,
        Self::R2Removed,
        Self::ReleaseByConfirmedState,
        Self::OnlyGivenUpRemembered,
        Self::TicketInsistsOnNumber,
        Self::StoreClockForward,
        Self::StoreClockBackWithoutA6,
    ];

    /// The traps that are documented to break a property.
    pub const DOCUMENTED: &'static [Self] = &[Self::Forced, Self::Unfenced];

    /// The traps of leases that follow one another on a term.
    pub const SUCCESSORS: &'static [Self] = &[
        Self::BeginningShownAndPurged,
        Self::BeginningShownAndLost,
        Self::BeginningShownToOlderRelease,
        Self::EndedLeaseClaimed,
        Self::SuccessorAfterLoss,
        Self::SuccessorPastDeadline,
        Self::SuccessorWhileReleasing,
        Self::GiverEndsLast,
        Self::GiverReleases,
        Self::TicketOnLivingTerm,
        Self::SuccessorBelowFloor,
        Self::StaleCountsAlone,
    ];

    /// Rules that are switched off.
    pub const MUTATIONS: &'static [Self] = &[
        Self::A2Removed,
        Self::A4Removed,
        Self::A5Removed,
        Self::A6Removed,
        Self::ClaimByUuid,
        Self::TakeKeepsDuration,
        Self::TokenKept,
        Self::KeptTooLong,
        Self::RenewalWithoutUuid,
        Self::RenewalRevivesReleased,
        Self::RenewalRevivesExpired,
        Self::ReleaseWithoutUuid,
        Self::ValidWhileReleasing,
        Self::LateGrantHandedOut,
        Self::LateRenewedCounts,
        Self::DeadlineMovesBack,
        Self::LiveOwnClaimed,
        Self::OwnDurationObserved,
        Self::ObservationKept,
        Self::ObservedFromQuestion,
        Self::ClosingIgnored,
        Self::ClosingClaimed,
        Self::RepeatedClosingExtends,
    ];

    /// All traps.
    pub fn all() -> impl Iterator<Item = Self> {
        [
            Self::SECTION_11,
            Self::DOCUMENTED,
            Self::SUCCESSORS,
            Self::MUTATIONS,
        ]
        .into_iter()
        .flatten()
        .copied()
    }

    /// The configuration that finds it: the fewest tries, renewals and copies that it takes, all of the protocol's
    /// steps, and clocks that are exact unless the trap is about them, so that nothing else can be
    /// the cause: without the trap the same configuration is safe.
    #[must_use]
    pub fn control(self) -> Control {
        use Discipline::{Observer, StoreClock};
        use Property::{
            AboveFloor, AnswersFit, BlockedAtMostD, ClosedKeepsOut, Exclusion, FencedOrder,
            GrantsOnce, LeaseTokensGrow, NoDeadGrant, NoFalseLoss, NothingRevived, ObservationEnds,
            OwnOrphanNeverBlocks, ReleaseFrees, StaleChangesNothing, TicketNeverBlocks,
            TokensDiffer, TokensGrow,
        };

        // Tries, renewals and copies of each client.
        let (property, discipline, bounds) = match self {
            Self::DeadlineFromReply
            | Self::NoMargin
            | Self::StoreClockForward
            | Self::Forced
            | Self::ValidWhileReleasing => (Exclusion, StoreClock, [1, 0, 0]),
            Self::DriftBeyondMargin
            | Self::ClaimWithoutObservation
            | Self::RevokerClaims
            | Self::OwnDurationObserved => (Exclusion, Observer, [1, 0, 0]),
            Self::LargerNumberEarlierSent | Self::CreditedToNewest => {
                (Exclusion, StoreClock, [1, 2, 0])
            }
            Self::RenewalNumberUnchecked => (Exclusion, Observer, [1, 2, 1]),
            Self::ClaimByUuid | Self::ObservationKept => (Exclusion, Observer, [1, 1, 0]),
            Self::ObservedFromQuestion | Self::TakeKeepsDuration => {
                (Exclusion, Observer, [2, 0, 0])
            }
            Self::UuidReused => (Exclusion, StoreClock, [2, 0, 1]),
            Self::LiveOwnClaimed => (Exclusion, StoreClock, [2, 0, 0]),
            Self::TokenResetOnRelease | Self::TokenKept => (TokensGrow, StoreClock, [1, 0, 0]),
            Self::Unfenced => (FencedOrder, StoreClock, [1, 0, 0]),
            Self::A3Removed => (GrantsOnce, StoreClock, [1, 0, 1]),
            Self::R2Removed => (NoFalseLoss, StoreClock, [1, 1, 1]),
            Self::ReleaseByConfirmedState => (ReleaseFrees, StoreClock, [1, 1, 0]),
            Self::OnlyGivenUpRemembered => (OwnOrphanNeverBlocks, StoreClock, [2, 0, 1]),
            Self::TicketInsistsOnNumber => (TicketNeverBlocks, StoreClock, [1, 1, 0]),
            Self::StoreClockBackWithoutA6 => (ObservationEnds, StoreClock, [1, 0, 0]),
            Self::A6Removed => (ObservationEnds, Observer, [1, 0, 0]),
            Self::KeptTooLong => (BlockedAtMostD, StoreClock, [1, 0, 0]),
            Self::A2Removed => (AnswersFit, StoreClock, [1, 0, 1]),
            Self::A4Removed | Self::A5Removed => (AnswersFit, StoreClock, [1, 0, 0]),
            Self::RenewalWithoutUuid
            | Self::RenewalRevivesReleased
            | Self::RenewalRevivesExpired => (StaleChangesNothing, StoreClock, [1, 1, 0]),
            Self::ReleaseWithoutUuid => (StaleChangesNothing, StoreClock, [1, 0, 0]),
            Self::BeginningShownAndPurged | Self::BeginningShownToOlderRelease => {
                (LeaseTokensGrow, StoreClock, [1, 0, 0])
            }
            Self::BeginningShownAndLost | Self::StaleCountsAlone => {
                (TokensDiffer, StoreClock, [1, 0, 0])
            }
            Self::EndedLeaseClaimed => (Exclusion, StoreClock, [2, 0, 0]),
            Self::SuccessorAfterLoss => (NothingRevived, StoreClock, [1, 1, 0]),
            Self::SuccessorPastDeadline
            | Self::SuccessorWhileReleasing
            | Self::GiverEndsLast
            | Self::GiverReleases
            | Self::TicketOnLivingTerm => (Exclusion, StoreClock, [1, 0, 0]),
            Self::SuccessorBelowFloor => (AboveFloor, StoreClock, [1, 0, 0]),
            Self::ClosingIgnored => (ClosedKeepsOut, StoreClock, [1, 0, 0]),
            Self::ClosingClaimed => (ClosedKeepsOut, StoreClock, [2, 0, 0]),
            Self::RepeatedClosingExtends => (StaleChangesNothing, StoreClock, [1, 0, 1]),
            Self::LateGrantHandedOut => (NoDeadGrant, StoreClock, [1, 0, 0]),
            Self::LateRenewedCounts => (NothingRevived, StoreClock, [1, 1, 0]),
            Self::DeadlineMovesBack => (NothingRevived, StoreClock, [1, 2, 0]),
        };
        let [tries, renewals, copies] = bounds;
        let mut config = Config {
            tries,
            renewals,
            copies,
            crashes: 0,
            drifts: 0,
            durations: [4; CLIENTS],
            dominant: false,
            trap: Some(self),
            ..Config::new(discipline)
        };
        self.set_up(&mut config);
        Control {
            trap: self,
            property,
            config,
        }
    }

    /// The needs of a trap other than tries, renewals and copies.
    fn set_up(self, config: &mut Config) {
        if Self::SUCCESSORS.contains(&self) {
            config.blocks = [2; CLIENTS];
        }
        match self {
            Self::BeginningShownAndPurged => {
                config.resource = true;
                config.purges = 1;
            }
            Self::BeginningShownAndLost => {
                config.resource = true;
                config.failovers = 1;
                // Beliefs overlap in these.
                config.properties = &[Property::TokensDiffer, Property::FencedOrder];
            }
            Self::BeginningShownToOlderRelease => {
                config.resource = true;
                config.blocks = [2, 1, 1];
            }
            Self::StaleCountsAlone => {
                config.resource = true;
                config.floors = true;
                config.failovers = 1;
                config.clock_behind = true;
                config.properties = &[Property::TokensDiffer];
            }
            Self::EndedLeaseClaimed => config.concurrent = true,
            Self::SuccessorAfterLoss => {
                config.revokes = 1;
                config.reduced = false;
            }
            Self::TicketOnLivingTerm => config.hand_over = true,
            Self::SuccessorBelowFloor => {
                config.resource = true;
                config.floors = true;
            }
            Self::NoMargin => {
                config.margin = 0;
                config.drifts = 1;
            }
            Self::DriftBeyondMargin => config.drifts = 2,
            Self::RevokerClaims => config.revokes = 1,
            Self::TicketInsistsOnNumber => config.hand_over = true,
            Self::StoreClockForward => {
                config.steps = &[2];
                config.step_count = 1;
            }
            Self::StoreClockBackWithoutA6 => {
                config.steps = &[-2];
                config.step_count = 1;
            }
            Self::Forced => config.forces = 1,
            Self::Unfenced => {
                config.resource = true;
                config.fenced = false;
            }
            Self::TakeKeepsDuration | Self::OwnDurationObserved => config.durations = [5, 2, 2],
            Self::ClosingIgnored | Self::ClosingClaimed | Self::RepeatedClosingExtends => {
                config.closes = 5;
            }
            Self::LiveOwnClaimed => config.concurrent = true,
            Self::UuidReused => config.durations = [3; CLIENTS],
            // A right protocol may forget the messages or the leases that matter to these traps.
            Self::RenewalWithoutUuid
            | Self::RenewalRevivesReleased
            | Self::SuccessorPastDeadline
            | Self::SuccessorWhileReleasing => config.reduced = false,
            _ => {}
        }
    }
}
