//! Task stores with a bug: each [`TaskFlaw`] differs from the memory store by one decision. A flaw is planted around
//! the memory store: it changes the request, the answer, or the table before and after a call, and no other call can
//! see the table in between.

mod asking;
mod beats;
mod claiming;
mod ending;
mod lanes;
mod limiting;
mod pausing;
mod store;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::SystemTime,
};

use dlock_testkit::{
    runner,
    slow::message,
    tasks::{SHORT, Stage, TaskCase, TaskFixture, memory::MemoryTasks},
};

pub use self::store::PlantedTasks;

/// Runs one case against the memory store with one flaw, in paused time, and returns the message if it panicked. Panics
/// are reported through the process's panic hook as well.
///
/// # Errors
/// The panic's message.
pub fn caught_of_tasks(flaw: Option<TaskFlaw>, case: &TaskCase) -> Result<(), String> {
    let run = AssertUnwindSafe(|| {
        let runtime = runner::paused_runtime();
        runtime.block_on(async {
            let planted = PlantedQueue(PlantedTasks::new(flaw));
            (case.run)(Stage::new(planted, SHORT).await).await;
        });
    });
    catch_unwind(run).map_err(|panic| {
        let words = message(&*panic);
        words.unwrap_or("a panic without words").to_owned()
    })
}

/// A memory store with a flaw, started.
struct PlantedQueue(PlantedTasks);

impl TaskFixture for PlantedQueue {
    type Store = PlantedTasks;

    const PAUSED: bool = true;

    async fn start() -> Self {
        Self(PlantedTasks::new(None))
    }

    async fn store(&self) -> PlantedTasks {
        self.0.clone()
    }

    fn now(&self) -> SystemTime {
        self.0.inner.now()
    }
}

macro_rules! flaws {
    ($($part:ident { $($flaw:ident $what:literal;)* })*) => {
        /// One wrong decision of a task store.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum TaskFlaw {
            $($(#[doc = $what] $flaw,)*)*
        }

        impl TaskFlaw {
            /// All flaws.
            pub const ALL: &[Self] = &[$($(Self::$flaw),*),*];

            /// A description of the flaw.
            #[must_use]
            pub const fn what(self) -> &'static str {
                match self { $($(Self::$flaw => $what,)*)* }
            }

            /// The module in which it is planted.
            pub(self) const fn part(self) -> &'static str {
                match self { $($(Self::$flaw => stringify!($part),)*)* }
            }
        }
    };
}

flaws! {
    ending {
        EndsByNumber "an ending names the task alone (K5)";
        EndsByIdentity "an ending names task and identity, not the token (K5)";
        EndsByToken "an ending names task and token, not the identity (K5)";
        EndingNeedsLife "a claim whose lease is over cannot end its task (E1)";
        EndingsEndAtALoss "endings of one call end at the first that is lost (K5)";
        EndingsAreReversed "endings of one call are answered in another order (K5)";
        LostIsOwn "an ending that changed nothing is answered as one's own (E3)";
        RepeatIsLost "the repeat of an ending is answered as lost (E2)";
        RepeatOfReleaseIsLost "the repeat of an ending that left the task in the queue is answered as lost (E1)";
        RepeatOverwrites "a second completion overwrites the first output (E2)";
        RepeatRunsAgain "the repeat of an ending that left the task in the queue is applied again (E1)";
        StrangeEndingIsOwn "any claim gets the ending of a task as its own (E2)";
        OutputIsLost "the output is not kept";
        OutputIsUnlimited "an output of any size is kept";
        CompletionOfAskedIsNone "a completion of a task that was to be cancelled cancels it";
        AskedIsTriedAgain "a task that was to be cancelled comes again when its attempt ends";
        FailureComesAtOnce "a task that failed comes again at once (K9)";
        FailureForEver "an attempt that failed is never the last one (K9)";
        FailureIsNotKept "the error of an attempt is not kept (K9)";
        ErrorsAreUncut "errors are kept whole";
        ErrorsAreEndless "the errors of all attempts are kept";
        DiscardedComesAgain "a discarded task comes again";
        GivenBackCounts "an attempt that is given back counts (K9)";
        SnoozedCounts "an attempt that is snoozed counts (K9)";
        SnoozedComesAtOnce "a snoozed task comes again at once";
        CheckpointOfAnyClaim "a checkpoint names the task alone (K5)";
        OlderCheckpointIsKept "a checkpoint that was overtaken is kept (K5)";
        CheckpointIsUnlimited "a checkpoint of any size is kept";
    }
    beats {
        ReleaseCounts "an attempt whose lease is released counts (K9)";
        ReleaseOfAnyClaim "a release gives back a task whoever has it (L3)";
        RepeatedReleaseIsRefused "the repeat of a release is answered as not held (L2)";
        ReleaseOfAskedGivesBack "the release of a task that was to be cancelled gives it back";
        ReleaseShowsNothing "a refused release does not show the record (L3)";
        BeatOfAnyClaim "a heartbeat names the task alone (R3)";
        BeatByIdentity "a heartbeat names task and identity, not the token (K5)";
        BeatRevives "a heartbeat revives a lease that is over (R3)";
        BeatDoesNotExtend "a heartbeat extends nothing (R1)";
        OlderBeatExtends "a heartbeat that was overtaken extends the lease (R2)";
        RepeatedBeatIsLost "the repeat of a heartbeat is answered as a loss (R2)";
        BeatDoesNotTell "a heartbeat does not say that the task is to be cancelled (B3)";
        BeatTakesRequestBack "a heartbeat takes the request to stop back (B3)";
        BeatsAreReversed "heartbeats of one call are answered in another order";
        BeatsEndAtALoss "heartbeats of one call end at the first that is lost";
        ClaimIsAcquired "a claim is acquired by its name";
        RecordOfAnyClaim "the record of a claim that is over is that of the newest one";
    }
    claiming {
        IdentityIsUsedAgain "an identity whose lease is over claims its task again (A3)";
        LiveIsSwept "a lease that is half over is taken (A7)";
        LiveIsTaken "a task is given out while its lease lasts (A7)";
        ExpiredIsLeft "a task whose worker died is never given out (A5)";
        ClaimIsInTwoSteps "a claim picks and takes in two steps (K3)";
        AgainIsIgnored "a repeated claim claims other tasks (A2)";
        AgainExceeds "a repeated claim claims as many once more (A2)";
        AgainMintsTokens "a repeated claim has other tokens (A2)";
        AgainExtends "a repeated claim extends its leases (A2)";
        AgainAnswersExpired "a repeated claim answers tasks whose lease is over (A3)";
        MostIsIgnored "a claim gets more tasks than it asked for";
        TokenIsKept "the token of a task does not grow (T1)";
        TokenIsOfTheTask "tokens count the claims of a task (T1)";
        TokenBeginsAnew "the token of a task begins anew when it is retried (T1)";
        AttemptIsNotCounted "an attempt whose worker died does not count (K4)";
        PoisonIsTriedForEver "a task whose last worker died is given out again (K4)";
        SilenceIsNotKept "nothing is kept of an attempt whose worker died";
        LossesAreNotSaid "a claim does not say how often its task was lost in a row";
        AskedIsClaimed "a task that was to be cancelled is given out when its lease is over (K5)";
        PrioritiesAreReversed "larger priorities run first (K3)";
        PrioritiesAreIgnored "priorities are ignored (K3)";
        NewestIsFirst "the newest task runs first (K3)";
        TimeIsIgnored "a task is given out before its time (K3)";
        QueuesAreReversed "the last queue of a claim is the first (K3)";
        AnyQueueIsClaimed "a claim gets tasks of all queues (K3)";
        AnyKindIsClaimed "a claim gets tasks of all kinds (K3)";
        OtherKindsAreNotSwept "a claim leaves tasks that are to end, if they are of another kind (K4)";
        NextIsNotTold "a claim does not say when there is something";
        NextIgnoresLeases "a claim does not say when a lease ends";
        NextIsLate "a claim says that there is something later than there is";
        OwnerIsLost "the label of a worker is not kept";
        ClaimIsUnchecked "a claim that cannot be answered is answered";
        CheckpointIsCleared "a claim clears the checkpoint";
        CheckpointsGoOn "the numbers of checkpoints continue with the next claim";
        CancelledIsClaimed "a cancelled task is given out";
    }
    asking {
        EnqueueIsNotAtomic "tasks before one that is refused are added";
        EnqueueIsUnchecked "a task that cannot be stored is left out";
        RefusalUsesNumber "a task that is not added uses a number";
        PayloadIsText "a payload is stored without its non-ASCII characters";
        KeyCountsIfReady "a key is unique only among unclaimed tasks (K9)";
        KeyCountsForEver "a key stays used when its task has ended (K9)";
        KeyStaysDuringTheRun "a key that ends with the start of its task stays used (K9)";
        KeyCountsEverywhere "a key is unique among all queues (K9)";
        KeyIsInTwoSteps "a key is looked for, and used, in two steps (K9)";
        NumbersComeAgain "the number of a task that has ended is used again";
        InstantIsServedTwice "an instant is served twice (K10)";
        InstantAfterALater "an instant is served after a later one (K10)";
        InstantIsServedEarly "an instant is served before its time (K10)";
        EarlyInstantIsKept "an instant that was refused as early keeps others back (K10)";
        FirstInstantIsServed "a schedule that is new has a task at once (K10)";
        SchedulesAreOne "schedules are not distinguished (K10)";
        ScheduleIsInTwoSteps "an instant is looked for, and served, in two steps (K10)";
        DuplicateServesNothing "an instant whose key is in use stays to be served (K10)";
        RefusedInstantIsServed "an instant whose task is refused counts as served (K10)";
        BadScheduleIsKept "a schedule of any name is kept";
        CancelIsByForce "cancelling takes a task from its worker (B3)";
        ForceAsks "cancelling by force leaves the claim to its worker (K5)";
        CancelTellsAfterwards "cancelling answers what the task does then";
        CancelEndsTwice "a task that has ended can be cancelled";
        RetryOfSuccessMoves "a task that succeeded is retried under its number (K5)";
        RetryKeepsClaim "the claim of before is known after a retry (K5)";
        RetryKeepsAttempts "the attempts of before count after a retry (K5)";
        RetryOfWaiting "a task that has not ended is retried";
        RetryIgnoresKey "a retry adds a task whose key is in use (K9)";
        CopyIsEmpty "the copy of a task has no payload";
        PruneTakesLiving "tasks that have not ended are forgotten";
        PruneTakesYoung "tasks are forgotten before their time (K9)";
        PruneMixesAges "tasks that did not succeed are forgotten as if they had (K9)";
        PruneIsUnlimited "more tasks are forgotten than asked";
    }
    pausing {
        PauseIsForgotten "a queue that was paused gives out tasks (K11)";
        PauseStopsOthers "a claim gets nothing if one of its queues is paused (K11)";
        PauseStopsRepeats "a repeated claim does not get its tasks of a paused queue (K11)";
        PauseStopsWorkers "the tasks of a queue that is paused are lost to their workers (K11)";
        PausedIsSwept "a task of a paused queue that is out of attempts ends (K11)";
        PausedTellsNext "the answer to a claim says when a task of a paused queue falls due (K11)";
        PauseIsNotShown "paused queues are not listed";
        PauseBeginsAnew "a queue that is paused once more is paused since then";
        PauseOfBadName "a queue of any name is paused";
        ResumeIsNotHinted "no worker is notified that a queue is resumed (K6)";
    }
    lanes {
        LaneIsForgotten "tasks of a lane run at the same time (K8)";
        LaneIsOneClaims "a claim gets several tasks of a lane (K8)";
        LanesAreOfAllQueues "the same lane of two queues is one (K8)";
        LaneStopsItsQueue "tasks without a lane wait for those that have one (K8)";
        LaneIsReversed "the newest task of a lane is the next (K8)";
        LaneForgetsWhatHasBegun "a task of a lane starts before one whose worker died (K8)";
        LaneWaitsForTheDead "a lane waits for a task whose worker died (K8)";
        LaneIsFreeTooEarly "a lane is free when half of a lease is over (K8)";
        LaneWaitsForLater "a lane waits for a task that is for later (K8)";
        LaneIsOfAKind "a claim passes over the tasks of a lane that it has no handler for (K8)";
        LaneIsInTwoSteps "the running task of a lane is looked for, and a task taken, in two steps (K8)";
        LaneIsNotShown "the lane of a task is not shown";
        RetryForgetsLane "a task that is retried has no lane";
        LaneEndIsNotHinted "no worker is notified that a task of a lane has ended (K6)";
    }
    limiting {
        LimitIsForgotten "a queue gives out more tasks than its limit (K8)";
        LimitIsOneClaims "each claim gets as many tasks as the limit says (K8)";
        LimitStopsOthers "a claim gets nothing if one of its queues is full (K8)";
        LimitStopsRepeats "a repeated claim does not get its tasks of a queue that is full (K8)";
        LimitStopsWorkers "tasks that run beyond a new limit are lost to their workers (K8)";
        LimitCountsWhatComes "tasks that ran before the limit do not count (K8)";
        LimitIsNeverLowered "a limit can be raised only";
        PlaceIsFreeTooEarly "a place is free when half of a lease is over (K8)";
        PlaceIsOfTheDead "a task whose worker died keeps its place (K8)";
        LimitIsInTwoSteps "the running tasks of a queue are counted, and a task taken, in two steps (K8)";
        FullTellsNothing "a claim of a queue that is full does not say when a lease ends (K8)";
        FullTellsWhatFallsDue "the answer to a claim says when a task of a full queue falls due (K8)";
        LimitIsNotShown "limits are not listed";
        LimitOfZero "a limit of 0 is taken";
        LimitOfBadName "a queue of any name has a limit";
        LimitIsNotHinted "no worker is notified of a new limit (K6)";
        PlaceIsNotHinted "no worker is notified that a place of a queue is free (K6)";
    }
    store {
        EndedIsNotCounted "counts leave out tasks that have ended";
        StalledIsRunning "counts take a lease that has ended for one that lasts";
        NothingIsHinted "nothing is hinted (K6)";
        BeatsAreHinted "heartbeats are hinted (K6)";
        UnreadHintIsTheLast "no hint arrives after one that was not read (K6)";
        ListIgnoresQueue "a list ignores the queue";
        ListIgnoresState "a list ignores the state";
        ListIgnoresPlace "a list begins anew";
        ListIsUnlimited "a list ignores its limit";
        EndedIsNotListed "a list leaves out tasks that have ended";
    }
}

impl PlantedTasks {
    fn new(flaw: Option<TaskFlaw>) -> Self {
        Self::over(MemoryTasks::new(), flaw)
    }
}
