//! Providers with a bug: each [`Flaw`] differs from the memory provider by one decision. They prove the suite, not a
//! store: a flaw for which no case fails shows a gap in the suite.

mod acquire;
mod admin;
mod marks;
mod provider;
mod release;
mod renew;
mod steps;
mod survivors;
mod tasks;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{
    Clock, Name, Provider,
    provider::{Admin, Capabilities, Discipline},
};
use dlock_testkit::{
    Case,
    memory::{MemoryProvider, MemoryStore},
    runner::{self, Answers, Erased},
    slow,
};

use self::provider::{PlantedProvider, Rows};

pub use self::survivors::survivors;
pub use self::tasks::{PlantedTasks, TaskFlaw, caught_of_tasks};

/// Runs one case against the memory provider with one flaw, in paused time, and returns the message if it panicked.
/// Panics are reported through the process's panic hook as well.
///
/// # Errors
/// The panic's message.
pub fn caught(
    flaw: Option<Flaw>,
    discipline: Discipline,
    case: &'static Case,
) -> Result<(), String> {
    let run = AssertUnwindSafe(|| {
        let runtime = runner::paused_runtime();
        runtime.block_on(async {
            let store = MemoryStore::new(discipline);
            runner::one(
                Arc::new(Planted {
                    store,
                    flaw,
                    rows: Rows::default(),
                    answers: Arc::new(Answers::new(0)),
                }),
                case,
            )
            .await;
        });
    });
    catch_unwind(run).map_err(|panic| {
        let words = slow::message(&*panic);
        words.unwrap_or("a panic without words").to_owned()
    })
}

struct Planted {
    store: MemoryStore,
    flaw: Option<Flaw>,
    rows: Rows,
    answers: Arc<Answers>,
}

impl Planted {
    fn provider(&self, prefix: &str) -> Arc<PlantedProvider> {
        let inner = MemoryProvider::new(&self.store).prefix(prefix);
        Arc::new(PlantedProvider::new(
            inner,
            self.flaw,
            Arc::clone(&self.rows),
        ))
    }
}

#[async_trait]
impl Erased for Planted {
    fn capabilities(&self) -> Capabilities {
        MemoryProvider::new(&self.store).capabilities()
    }

    fn lease(&self) -> Duration {
        Duration::from_millis(500)
    }

    fn limit(&self) -> Duration {
        Duration::from_secs(30)
    }

    fn name_bytes(&self) -> usize {
        Name::MAX_BYTES
    }

    fn future_bytes(&self) -> usize {
        match self.flaw {
            Some(Flaw::FutureIsTooLarge) => 0,
            _ => usize::MAX,
        }
    }

    fn blocks(&self) -> bool {
        true
    }

    fn paused(&self) -> bool {
        true
    }

    fn clock(&self) -> Clock {
        Clock::tokio(1.0)
    }

    fn answers(&self) -> Arc<Answers> {
        Arc::clone(&self.answers)
    }

    async fn clones(&self, count: usize) -> Vec<Arc<dyn Provider>> {
        let provider = self.provider("");
        (0..count)
            .map(|_| Arc::new((*provider).clone()) as Arc<dyn Provider>)
            .collect()
    }

    async fn admin(&self) -> Option<Arc<dyn Admin>> {
        Some(self.provider(""))
    }

    async fn prefixed(&self, prefix: &str) -> Option<Arc<dyn Provider>> {
        Some(self.provider(prefix))
    }

    async fn age(&self, name: &Name, by: Duration) -> bool {
        self.store.age(name, by)
    }
}

macro_rules! flaws {
    ($($flaw:ident $discipline:ident $what:literal;)*) => {
        /// One wrong decision of a provider.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Flaw {
            $(#[doc = $what] $flaw,)*
        }

        impl Flaw {
            /// All flaws.
            pub const ALL: &[Self] = &[$(Self::$flaw),*];

            /// A description of the flaw.
            #[must_use]
            pub const fn what(self) -> &'static str {
                match self { $(Self::$flaw => $what,)* }
            }

            /// The discipline in which it is planted.
            #[must_use]
            pub const fn discipline(self) -> Discipline {
                match self { $(Self::$flaw => Discipline::$discipline,)* }
            }
        }
    };
}

flaws! {
    ClaimHinders StoreClock "a wrong claim keeps a free lock from being taken (A4, A5)";
    RepeatContends StoreClock "the repeat of an acquire is refused by its own grant (A2)";
    RepeatMintsToken StoreClock "the repeat of an acquire mints another token (A2)";
    RepeatOnlyUnrenewed StoreClock "the repeat of an acquire is known only until the first renewal (A2)";
    RepeatExtends StoreClock "the repeat of an acquire extends the lease (A2)";
    SpentForgotten StoreClock "a late duplicate of a term that is over is granted (A3)";
    SpentOnlyIfReleased StoreClock "a late duplicate of an expired term is answered as if it were held (A2, A3)";
    ReleasedStaysHeld StoreClock "a released lock is refused until it expires (A4)";
    ExpiredStaysHeld StoreClock "an expired lock is refused (A5)";
    ExpiredIsTakenOnObserver Observer "a store whose clock decides nothing ends a lease (A5)";
    ClaimIgnored StoreClock "a claim counts for nothing because the store has a clock (A6)";
    ClaimByUuid Observer "a claim is compared by uuid, not by version (A6)";
    ClaimByNumber Observer "a claim is compared by its number alone (A6)";
    NullClaimMatches StoreClock "no claim counts as a matching one (A6)";
    AcquireStrictlyPast StoreClock "acquire calls a lease expired one instant later than renew does (A5)";
    ExpiresEarly StoreClock "acquire calls a lease expired at two thirds of it (A5)";
    OwnerDecides StoreClock "a contender with the holder's label is granted the lock (A7)";
    KeepsDuration StoreClock "a takeover leaves the old lease's length (take it)";
    KeepsExpiry StoreClock "a takeover leaves the old expiry (take it)";
    KeepsOwner StoreClock "a takeover leaves the old owner (take it)";
    KeepsSince StoreClock "a takeover leaves the old beginning (take it)";
    KeepsData StoreClock "a takeover without data leaves the old data (take it)";
    KeepsAsked StoreClock "a takeover leaves the request to the old holder (take it)";
    KeepsNumber Observer "a takeover leaves the old number of renewals (take it)";
    KeepsToken StoreClock "a takeover of an expired lease or by a claim keeps the token (T1)";
    RefusedAsks StoreClock "a refused acquire leaves a request to the holder (A7)";
    RefusedExtends StoreClock "a refused acquire extends the holder's lease (A7)";
    RefusedRaisesToken StoreClock "a refused acquire writes its floor (A7)";
    HeldFromAnotherLook StoreClock "the record in Held comes from a second look (two looks)";
    NotAtomic StoreClock "acquire decides and writes in two steps";
    FirstGrantNotAtomic StoreClock "the first grant of a name is decided and written in two steps (A1)";
    EmptyDataIsNone StoreClock "empty data is stored as none";
    DataIsText StoreClock "data is stored as text";
    DataIsCut StoreClock "data is cut at 255 bytes";
    OwnerIsCut StoreClock "the owner's label is cut at 255 bytes";
    DurationInSeconds StoreClock "a lease is stored in whole seconds";
    DurationIs24Bits StoreClock "a lease is stored in milliseconds of 24 bits";

    TokenWithoutClock StoreClock "tokens count from the last one, and from 1 (T1)";
    TokenInMillis StoreClock "tokens are made of milliseconds (T1)";
    TokenNotAboveLast StoreClock "tokens are the time alone (T1)";
    ClockOnlyForTheFirst StoreClock "only a name's first token is made of the clock (T1)";
    FloorIgnored StoreClock "the floor is ignored (T1)";
    FloorOnlyForTheFirst Observer "the floor counts only for an absent record (T1)";
    FloorExceeded StoreClock "a token must exceed the floor (T1)";
    TokenLosesDigits StoreClock "tokens are stored with 15 digits (T2)";
    TokenWraps StoreClock "after the last token comes the first (T2)";
    TokensEndEarly StoreClock "the last token is never granted (T2)";
    CeilingWrites StoreClock "the refusal of a token past the ceiling has written the record (T2)";
    HugeFloorIgnored StoreClock "a floor past the ceiling is ignored (T2)";
    TokenDrawnBeforeTheLock StoreClock "the token is drawn before the record is locked (T1)";

    BlockShownByItsFirst StoreClock "the record shows the first token of a block (T1)";
    BlockBeginsAtTheLast StoreClock "a block begins at the last token of the one before (T1)";
    BlockIsNotMinted StoreClock "one token is minted, and as many are answered as were asked for (T1)";
    BlockIsOneToken StoreClock "one token is minted and answered by a provider of blocks (T1)";
    BlockWithoutClock StoreClock "blocks count from the last token, and from 1 (T1)";
    BlockEndsAtTheFloor StoreClock "the floor is the least for a block's last token (T1, T6)";
    BlockReachesBack StoreClock "at the ceiling a block begins below the next token (T2)";
    RepeatClaimsBlock StoreClock "the repeat of an acquire claims as many tokens as it asks for (A2)";

    NamesIgnoreCase StoreClock "names are compared without case";
    NamesAreTrimmed StoreClock "blanks at the end of a name do not count";
    NamesAreComposed StoreClock "names are compared in a normal form";
    NamesAreCut StoreClock "names are compared up to 255 bytes";
    LongNamesAreRefused StoreClock "names of more than 1000 bytes are refused";
    NonAsciiLongNamesAreCut StoreClock "long names are cut to whole characters of half the length";
    PrefixIsJoined StoreClock "prefix and name are joined without a separator";
    PrefixIsIgnored StoreClock "the prefix is not part of the key";
    LongKeysAreCut StoreClock "a key that is too long is cut";

    RenewalDoesNotExtend StoreClock "a renewal counts and extends nothing (R1)";
    RenewalExtendsFromExpiry StoreClock "a renewal adds to the expiry instead of now (R1)";
    RenewalIsStored32Bits StoreClock "renewal numbers are stored in 32 bits (R1)";
    RenewalCountsByOne StoreClock "a renewal adds one instead of writing its number (R1)";
    RenewalWithoutNumber Observer "a renewal is applied whatever its number (R1)";
    RenewalMintsToken StoreClock "a renewal takes the next token (T2)";
    RenewalMovesSince StoreClock "a renewal begins the term anew";
    RenewalClearsData StoreClock "a renewal clears the data";
    RenewalTakesRequestBack StoreClock "a renewal takes the request to the holder back (B3)";
    RequestIsNotTold StoreClock "a renewal does not say that the lock was asked for (B3)";
    RepeatedRenewalIsLost StoreClock "the repeat of a renewal is answered as a loss (R2)";
    RepeatedRenewalExtends StoreClock "the repeat of a renewal extends the lease (R2)";
    RepeatAfterExpiryIsLost StoreClock "the repeat of a renewal is lost once the lease expired (R2)";
    RenewalRevivesExpired StoreClock "a renewal revives an expired lease (R3)";
    RenewalRevivesReleased StoreClock "a renewal revives a released lease (R3)";
    RenewalCreates StoreClock "a renewal creates a record that is not there (R3)";
    RenewalOfAnyTerm StoreClock "a renewal extends whatever term it finds (R3)";
    RenewStrictlyPast StoreClock "renew calls a lease expired one instant later than acquire does (R3)";
    LostShowsNothing StoreClock "a loss does not show the record (R3)";
    BatchInNameOrder StoreClock "a batch is answered in the order of the names";
    BatchEndsAtALoss StoreClock "a batch ends at its first loss";
    BatchForgetsTheLast StoreClock "a batch leaves its last renewal out";
    BatchKeepsOnePerName StoreClock "a batch knows one renewal for a name";
    BatchDoesNotExtend StoreClock "a batch counts renewals and extends nothing";
    BatchDoesNotTell StoreClock "a batch does not say that the lock was asked for (B3)";
    BatchesBlockEachOther StoreClock "batches lock their records in the order asked";
    EmptyBatchIsAnError StoreClock "an empty batch has one answer";

    ReleaseDeletes StoreClock "a release deletes the record (L1)";
    ReleaseResetsToken StoreClock "a release sets the token back (L1)";
    ReleaseClearsData StoreClock "a release clears the data (L1)";
    ReleaseClearsRequest StoreClock "a release clears the request to the holder (L1)";
    ReleaseNeedsToken StoreClock "a release must know the token (L1)";
    ReleaseNeedsLife StoreClock "an expired term cannot be released (L1)";
    ReleaseNeedsNoRenewals StoreClock "a renewed term cannot be released (L1)";
    RepeatedReleaseIsRefused StoreClock "the repeat of a release is answered as not held (L2)";
    ReleaseOfAnyTerm StoreClock "a release ends whatever term it finds (L3)";
    ReleaseCreates StoreClock "a release leaves a record where none was (L3)";
    NotHeldShowsNothing StoreClock "a refused release does not show the record (L3)";

    ClosingIgnored StoreClock "a release frees the name that it was to close (B4)";
    ClosingKeepsUuid StoreClock "a closing leaves the term with its holder (B4)";
    ClosingKeepsNumber StoreClock "a closing leaves the number of renewals (B4)";
    ClosingKeepsDuration Observer "a closing leaves the old lease's length (B4)";
    ClosingKeepsExpiry StoreClock "a closing leaves the old expiry (B4)";
    ClosingClearsData StoreClock "a closing clears the data (B4)";
    ClosingMintsToken StoreClock "a closing takes the next token (B4)";
    ClosingNeedsLife StoreClock "an expired term cannot be closed (B4)";
    ClosingOfAnyTerm StoreClock "a closing ends whatever term it finds (B4)";
    ClosingOfReleased StoreClock "a closing takes a released record (B4)";
    RepeatedClosingIsRefused StoreClock "the repeat of a closing is answered as not held (B4)";
    RepeatedClosingExtends StoreClock "the repeat of a closing begins it anew (B4)";
    ClosingIsNotSaid StoreClock "a provider that closes names does not say so";

    MarkIsLeftOut StoreClock "a provider that marks leaves no mark (N1)";
    MarkIsAFlag StoreClock "a mark is stored as a flag (N1)";
    MarkIsReplaced StoreClock "a later refusal replaces the mark (N1)";
    EveryRefusalMarks StoreClock "a refused try marks although it was to leave nothing (N1)";
    MarkIsOfTheVersion Observer "a mark is part of the version that a claim names (N1, A6)";
    MarkCounts Observer "a mark takes a number of renewals (N1)";
    MarkExtends StoreClock "a mark writes the expiry (N1)";
    MarkTakesRequestBack StoreClock "a mark takes the request to the holder back (N1, B3)";
    MarkRevivesReleased StoreClock "a try that marks finds a released record held, and writes that (N1, A4)";
    MarkIsNotConditional StoreClock "a mark is written over whatever the record has become (N1)";
    MarkFollowsTheAnswer StoreClock "a mark is shown first and written then (N1)";
    GrantMarks StoreClock "a granted try leaves its mark (N2)";
    KeepsMark StoreClock "a takeover leaves the old term's mark (N2)";
    ClaimClearsMark StoreClock "a claim clears the mark (N2, A6)";
    RenewalClearsMark StoreClock "a renewal clears the mark (N2)";
    BatchClearsMark StoreClock "a batch clears the marks (N2)";
    MarkedRenewalIsLost Observer "a renewal that collides with a mark is answered as a loss (N1, R1)";
    ReleaseClearsMark StoreClock "a release clears the mark (N2)";
    ClosingClearsMark StoreClock "a closing clears the mark (N2)";
    RevokeClearsMark StoreClock "revoke clears the mark (N2)";
    AskClearsMark StoreClock "ask clears the mark (N2)";
    ReleaseIsAlwaysWanted StoreClock "every release is answered as wanted (N3)";
    ReleaseIsNeverWanted StoreClock "no release is answered as wanted (N3)";
    RepeatedReleaseIsUnwanted StoreClock "the repeat of a release is never wanted (N3, L2)";
    ClosingIsWanted StoreClock "a closing is answered as wanted (N3, B4)";
    HintsUnmarked StoreClock "the release of an unmarked term is hinted (N3)";
    HintsByAnEarlierRead StoreClock "a release decides on its hint by an earlier read (N3)";
    ForceTellsNobody StoreClock "a forced release is not hinted (N3, B2)";

    ReadHidesExpired StoreClock "read does not show expired records";
    ReadHidesReleased StoreClock "read does not show released records";
    ReadCounts StoreClock "read changes what it reads";
    ReadIsCached StoreClock "a provider reads a name from the store once";
    RemainingNeverEnds StoreClock "the remaining time is always the whole lease";
    RemainingAfterRelease StoreClock "something remains of a released lease";
    RemainingOnObserver Observer "a store whose clock decides nothing reports a remaining time";
    RemainingIsMissing StoreClock "a store with a clock reports no remaining time";
    CapabilitiesChange StoreClock "capabilities differ from call to call";
    FutureIsTooLarge StoreClock "the future of a call takes more than its fixture allows";
    WatchIsMissing StoreClock "watch has no stream although the capabilities say so";

    WatchHearsLate StoreClock "a stream misses the first hint";
    HintsReachOneListener StoreClock "a hint reaches only the newest listener";
    HintsAreCut StoreClock "hints carry at most 200 bytes of the name";
    HintsLoseCase StoreClock "hints carry the name in lower case";
    DropEndsTheOthers StoreClock "dropping one stream ends the others";
    HintsNeedARefusal StoreClock "only names on which an acquire was refused are hinted";

    RevokeByUuid StoreClock "revoke does not compare the number of renewals (B1)";
    RevokeReleased StoreClock "revoke takes a released record (B1)";
    RevokeFrees StoreClock "revoke frees the lock at once (B1)";
    RevokeExtends StoreClock "revoke starts the lease anew (B1)";
    RevokeKeepsNumber StoreClock "revoke leaves the number of renewals (B1)";
    RevokeMintsToken StoreClock "revoke takes the next token (B1)";
    RepeatedRevokeIsRefused StoreClock "the repeat of a revoke is answered as changed (B1)";
    ForceOfAnyTerm StoreClock "a forced release ends whatever term it finds (B2)";
    ForceNeedsTheNumber StoreClock "a forced release fails once the term was renewed (B2)";
    AskOfAnyTerm StoreClock "ask marks whatever term it finds (B3)";
    AskOfReleased StoreClock "ask marks a released record (B3)";
    AskCounts StoreClock "ask changes the number of renewals (B3)";
    AskIsRefusedTwice StoreClock "a second ask is answered as changed (B3)";

    ListSkipsTheFirst StoreClock "a page skips the first name after the one before";
    ListRepeatsTheLast StoreClock "a page begins with the last name of the one before";
    ListCollates StoreClock "names are listed without regard to case";
    ListHidesReleased StoreClock "released records are not listed";
    ListByPattern StoreClock "the prefix is a pattern";
    ListIgnoresPrefix StoreClock "the prefix does not count";
    ListIgnoresLimit StoreClock "pages have no limit";
    ListForgetsTheRest StoreClock "a full page is the last";
    PurgeAfterFiveDays StoreClock "a purge deletes after five days (T5)";
    PurgeIgnoresTokens StoreClock "a purge deletes tokens ahead of the clock (T5)";
    PurgeIgnoresLimit StoreClock "a purge has no limit";
    PurgeOnlyReleased StoreClock "a purge leaves dead holders' records for ever (T5)";
}
