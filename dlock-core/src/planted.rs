//! Bugs planted in the frontend, each one decision away from the right code, so that the
//! conformance suite can be shown to catch them. Built only with `--cfg dlock_planted`; in every
//! other build `planted!` is the constant `false`, and the bugs do not exist.

#[cfg(not(dlock_planted))]
macro_rules! planted {
    ($bug:ident) => {
        crate::planted::never(stringify!($bug))
    };
}

/// `planted!` in every build that ships.
#[cfg(not(dlock_planted))]
#[inline(always)]
pub(crate) const fn never(_bug: &str) -> bool {
    false
}

#[cfg(dlock_planted)]
macro_rules! planted {
    ($bug:ident) => {
        crate::planted::active(crate::planted::Bug::$bug)
    };
}

#[cfg(dlock_planted)]
pub(crate) use switches::active;
#[cfg(dlock_planted)]
pub use switches::{Bug, plant};

#[cfg(dlock_planted)]
mod switches {
    use std::sync::atomic::{AtomicUsize, Ordering};

    macro_rules! bugs {
        ($($bug:ident: $what:literal,)*) => {
            /// The planted bugs.
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            #[non_exhaustive]
            pub enum Bug {
                $(#[doc = $what] $bug,)*
            }

            impl Bug {
                /// All of them.
                pub const ALL: &[Self] = &[$(Self::$bug,)*];
            }
        };
    }

    bugs! {
        ReplyTimeBase: "the deadline counts from the reply, not from the request (V1)",
        RetryRestartsClock: "a repeat of a try draws `sent` anew (V1)",
        NoMargin: "the holder believes to the last instant of its lease (V1)",
        FlagInsteadOfClock: "a flag that timers set decides validity (V2)",
        CreditNewest: "`Renewed` counts for the newest attempt (V4)",
        CreditReply: "`Renewed` counts from its reply (V4)",
        EarlierSent: "a renewal keeps the `sent` of the attempt before it (V4)",
        ReviveAfterDeadline: "a `Renewed` after the deadline revives the lease (V4)",
        DeadlineMovesBack: "an older attempt's answer moves the deadline back (V4)",
        SameNumber: "every renewal attempt carries the same number (V4, R1)",
        ErrorIsLoss: "a failed renewal ends the lease (V5)",
        FatalIsLoss: "a `Fatal` renewal ends the lease (V5)",
        RefusalIgnored: "R3 to a renewal is taken for a failure (V5)",
        LossWaitsForRenewal: "the loss is told when the renewal in flight has answered (V5)",
        RenewalUnbounded: "a renewal attempt has no limit of its own (V6)",
        OutageUnpaced: "callers and renewals ask a store that answers nobody each at their own pace (V6, W5)",
        OutageEndUnheard: "those who wait for a turn to ask go on waiting when the store is back (W5)",
        OutageHoldsRenewals: "a renewal waits for its turn to the end of its lease (V6)",
        NoPauseAfterFailure: "a failed call is repeated at once (V6)",
        RenewalGivesUp: "no second renewal attempt after a failed one (V6)",
        NobodyRenews: "a guard does not renew (V6)",
        RenewEarly: "a renewal is sent at half its time (V6)",
        AnswersReversed: "the answers to a batch go to the wrong leases (V4)",
        OneErrorForAll: "one failed renewal of a batch fails the others (V5)",
        LengthUnchecked: "answers are taken though some are missing (V4)",
        LongestLimit: "a batch gets as long as its longest lease allows (V6)",
        SentWhenDue: "a renewal counts from when it was due, not from its request (V4)",
        RetriedTogether: "what failed in a batch is retried in a batch (V6)",
        OneBatchAtATime: "a batch waits for the one before it (V6)",
        ShardsTogether: "renewals of two shards travel together (V6)",
        DurationsTogether: "a short lease cuts the attempt of a long one (V6)",
        NoBatches: "every lease is renewed by itself (V6)",
        ReleasedRenewed: "a released lease is renewed again (V7)",
        DeadEntriesKept: "a released lease is remembered until it would be due (V7)",
        ReleaseBelieves: "the lease stays valid, and is renewed, while it is released (V7)",
        ReleaseFirst: "the release begins before the work is gone (V7)",
        PanicFirst: "a panic goes on before the release (V7)",
        WithWaitsForRelease: "a result waits for a store that does not answer (V7)",
        CutCallIsSilence: "a store whose last call was cut by the caller's limit is told as silent (W4)",
        WithOutlivesLease: "a result waits for its release past the end of the lease (V7)",
        FatalReleaseRepeated: "a `Fatal` release is repeated (V7)",
        StaleReleaseHidden: "a stale holder is told that it released (L3)",
        RepeatIsStale: "a repeated release that finds a stranger is told as loss (V7)",
        TryReleasedOnce: "the release of a try that nobody waits for may overtake it (W5, G2)",
        ReleaseOnce: "an `Unknown` release is not repeated (V7)",
        UnconfirmedIsError: "a release without an answer is an error (V7)",
        AtLeastIgnored: "a release frees the name before its time (B4)",
        ClosedFromTheRelease: "a name is closed from the release on, not from the grant (B4)",
        ClosedToOthersOnly: "a client claims the term that it closes (B4, G4)",
        ClosedHandedOver: "a name that is to be closed goes to the next waiter (B4, H1)",
        LostLeaseCloses: "a lease that was lost closes the name (B4)",
        UnclaimedGrantCloses: "a grant that nobody took closes the name (B4, W6)",
        ClosingDrawnAnew: "a repeat of a release closes with another uuid (B4)",
        UnclosedIsReleased: "a closing that was overtaken is told as done (B4, V7)",
        ClosingUnobserved: "a client does not know of its own closing (B4, A6)",
        ClosedUndone: "work that was not done closes the name (B4)",
        TicketForgetsAtLeast: "a lease that is handed over is released by its redeemer before its time (H1, B4)",
        NeverUnsure: "a late renewal is not shown (V8)",
        AskedHidden: "a request to give back is not shown (B3)",
        DeadGrantHandedOut: "a grant that ran out before it was picked up is handed out (V9)",
        LateGrantHandedOut: "a grant known after its deadline is handed out (V9)",
        LateWorkIsFine: "work that ended after the lease is not reported (V9)",
        FloorForgotten: "acquire carries no floor (T6)",
        DropForgets: "a dropped lease is not released (G3)",
        CancelForgets: "a grant that nobody takes is not given back (G1)",
        AbandonedWaits: "a waiter whose caller went away stays in the queue (G1)",
        CloseUnheard: "waiters go on when their client closes (G3)",
        CloseCountsNothing: "close says that no lease is left (G3)",
        CloseDoesNotWait: "close returns at once (G3)",
        OwnGhostBlocks: "the client does not know its own given-up tries (G4)",
        HeldTriesForgotten: "the client knows only the tries it gave up (G4)",
        OwnLeaseClaimed: "the client claims its own live lease (G4)",
        NoTurns: "every waiter contends by itself (W1)",
        ClientPerLock: "every lock has a client of its own (W1)",
        TryQueues: "a try waits behind the waiters (W1)",
        PollTwiceAsOften: "a waiter polls at half its interval (W2)",
        NoPoll: "a waiter trusts the wake-up to come (W2, W3)",
        RemainingIgnored: "a waiter polls past the expiry (W2)",
        ObservationSleptThrough: "a waiter polls past the end of its observation (W2)",
        NoSpacing: "a waiter spins while `remaining` is 0 (W2)",
        WakeupIgnored: "a wake-up wakes nobody (W3)",
        OpeningWakesNobody: "an opened channel wakes nobody (W3)",
        BreakWakesNobody: "a broken channel wakes nobody (W3)",
        LooksAtAnyCost: "a waiter reads where a refusal costs no more (section 3)",
        LooksForEver: "a waiter reads on when its observation is over (section 3)",
        LookUnobserved: "what a waiter reads is no observation (section 3)",
        FreeLookIgnored: "a waiter that reads a released record goes on waiting (W2)",
        LookNoAnswer: "what a waiter reads is no answer of its store (W5)",
        OnlyRefusalsAnswer: "a try refused by an own ghost is no answer of its store (W5)",
        LookUnbounded: "a waiter's read has no limit of its own (W4)",
        FatalLookRetried: "a waiter reads on after `Fatal` (W5)",
        QueueUncounted: "the time in the queue does not count (W4)",
        LimitPerTry: "the time limit starts anew at every try (W4)",
        AcquireUnbounded: "an acquire attempt has no limit of its own (W4)",
        UuidReused: "a waiter's next try keeps the uuid (W5)",
        FreshUuidPerRepeat: "a repeat after `Unknown` draws a new uuid (W5, A2)",
        TryNeverGivenUp: "one try is repeated for ever (W5)",
        FatalRetried: "an acquire goes on after `Fatal` (W5)",
        SilentStoreForEver: "an acquire never gives up on a silent store (W5)",
        GivesUpAtOnce: "an acquire ends with the first try that got no answer (W5)",
        SpentIsContention: "a waiter sleeps after `Spent` (A3)",
        GrantWaitsForEver: "a grant nobody picks up is kept (W6)",
        ReleaserFirst: "who has just had the lock does not leave it to others (I18)",
        NeverLeaves: "a client keeps a name to itself though another has a reservation (W8)",
        NeverReserves: "a waiter that is passed over makes no reservation (W8)",
        OnePlaceOnly: "nobody stands behind who has the reservation (W8)",
        FoundReservationIgnored: "a woken client leaves nothing to the reservation that it has found (W8)",
        ReservationUncounted: "what a reservation does in the background is not waited for (G3)",
        SeniorityIgnored: "a woken waiter leaves nothing to those who have waited longer (I18)",
        LoneClientYieldsAlways: "a client that is alone leaves a slot to others each time (I18)",
        LoneClientNeverYields: "a client that was never refused leaves nothing to others (I18)",
        DelayRestarts: "a wake-up starts a delay anew (W3)",
        ReleaseWakesNobody: "a release wakes no waiter of its own client (W7)",
        ObservationNotShared: "a try forgets what the client saw (section 3)",
        ObservationForEver: "an old observation is not forgotten (section 3)",
        ReadUnobserved: "a read observes nothing (section 3)",
        GrantKeepsObservation: "a grant of our own leaves the observation (section 3)",
        ObservationKept: "another version does not restart the observation (section 3)",
        ObservationByOwnDuration: "an observer waits its own duration, not the record's (A6)",
        ClaimWithoutLook: "the first record seen is claimed at once (A6)",
        SightUnread: "what an earlier process saw is not asked for (section 3)",
        FirstSightReplaced: "a later process's first sight replaces an earlier one's (section 3)",
        AnyVersionRecalled: "what was seen of another version counts too (A6)",
        AnyBootCounts: "an instant of another boot counts (V3)",
        KeptOnAnyStore: "what is seen is kept where nobody needs it (section 3)",
        HeldForever: "the longest hold is not kept (section 8)",
        RetriedTooLong: "failing renewals go on past the longest hold (section 8)",
        AlwaysTooLong: "every lease that ran out was held too long (section 8)",
        DataLost: "the data is not sent (section 8)",
        NothingHandedOver: "a release goes to the store whoever waits here (H1)",
        FailedHandOverForgotten: "no release follows a hand-over that failed (H1)",
        HandOverKeepsTheTerm: "the waiter goes on with the uuid of the giver (H1)",
        HandOverBelieves: "the giver is valid until its waiter was granted (H1, V7)",
        RowNeverEnds: "a client keeps a name to its own waiters for ever (H1)",
        LastInherits: "a hand-over goes to whoever asks, past the head of the queue (H1, W1)",
        HeirDeniesGiver: "a giver is told that it was stale, and its own client has the lock (H1)",
        LegacyForgotten: "the last waiter to leave takes a hand-over along (H1)",
        InheritsWithoutClaim: "a hand-over is asked for without its claim (H1, A6)",
        RowAsksAnyway: "a waiter asks while its own client hands the lock on (H1)",
        GiverBelieves: "a lease that was handed over stays valid (H1, V7)",
        TicketReleased: "a lease that was handed over is released (H1)",
        TicketClaimed: "the giver claims the lease that it handed over (G4, H1)",
        TicketInsists: "a ticket insists on the number of its renewal (H1)",
        TicketUnclaimed: "a ticket is redeemed without its claim (H1)",
        TicketQueues: "a ticket is redeemed behind the waiters (H1)",
        LostLeaseHandedOver: "a lost lease yields a ticket (H1)",
        TicketForAnyLock: "a ticket opens any lock (H1)",
    }

    static PLANTED: AtomicUsize = AtomicUsize::new(0);

    /// Switches one bug on, in the whole process, or all off.
    pub fn plant(bug: Option<Bug>) {
        PLANTED.store(bug.map_or(0, |bug| bug as usize + 1), Ordering::SeqCst);
    }

    pub(crate) fn active(bug: Bug) -> bool {
        PLANTED.load(Ordering::SeqCst) == bug as usize + 1
    }
}
