//! Where claims begin to look: after the last task that this process has claimed of a queue and priority, so that tasks
//! before it cost nothing. Tasks that come to lie before it (given back, expired, committed late) are found by walks
//! from the beginning, the sweeps: after each claim that found too few tasks, and each second anyway, one at a time,
//! and for no more than a twentieth of the time.
//!
//! Much may lie before the cursor, for example a million dead entries that an old snapshot keeps. A sweep of those takes
//! longer than a claim. If sweeps do, those of a busy process are made concurrently with its claims (`before`), and the
//! tasks they find move the cursor back. So a task that comes to lie before the cursor then waits for the pause after the
//! last sweep, the next sweep and the next claim: a second and 21 sweeps at most. A task that fell due in the last
//! second is found at once, since a claim that found too few tasks without a sweep looks there.
//!
//! If a queue has lanes, their next tasks lie among those that were passed over. So for a while after a task of a lane
//! was claimed, claims of its queue begin at the beginning.
//!
//! Cursors decide what a claim costs and how soon it finds an early task, never which tasks it may get.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use dlock_tasks::NewTask;
use tokio::time::Instant;

/// The priorities of a queue.
const PRIORITIES: usize = NewTask::LAST_PRIORITY as usize + 1;
/// How many times as long as a sweep the pause is until another one is allowed.
const PAUSE: u32 = 20;
/// How long sweeps may take beyond that at first, and after a rest. Also the most that a sweep without an answer counts
/// for, since something else may have taken the time.
const ADVANCE: Duration = Duration::from_secs(1);
/// How often a claim begins at the beginning, whatever it would find.
const EACH: Duration = Duration::from_secs(1);
/// How soon to come again while another claim sweeps.
const SOON: Duration = Duration::from_millis(100);
/// The three thresholds of the sweeps: the time of a long one, longer than a claim takes while commits wait for a disk;
/// how many long ones it takes until sweeps are made concurrently with claims, since a busy machine makes some of them
/// long; and the time of a short one, after which they are made within claims again. A concurrent sweep looks for less,
/// and so takes a third of the time.
const DEAR: Duration = Duration::from_millis(5);
const DEAR_IN_A_ROW: u32 = 8;
const CHEAP: Duration = Duration::from_millis(1);
/// How long a queue counts as one with lanes after a task of a lane was claimed.
const LANES: Duration = Duration::from_secs(60);
/// How many queues are remembered.
const QUEUES: usize = 1000;

/// A key of the index that claims walk along: when the task may run, in microseconds of Unix time, and its number.
pub(super) type Key = (i64, i64);

/// The instants and numbers after which claims begin, for each queue and priority.
pub(super) type Starts = (Option<Vec<Option<i64>>>, Option<Vec<Option<i64>>>);

/// The cursors of one process.
#[derive(Debug, Default)]
pub(super) struct Cursors(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last: HashMap<String, [Option<Key>; PRIORITIES]>,
    /// When a task of a lane was claimed.
    lanes: HashMap<String, Instant>,
    is_sweeping: bool,
    /// When the newest sweep ended, and how many took long, without a short one in between.
    swept: Option<Instant>,
    dear: u32,
    /// When a task was claimed.
    claimed: Option<Instant>,
    /// When the sweeps so far amount to a twentieth of the time.
    paid: Option<Instant>,
}

/// Where one claim looks.
#[derive(Debug)]
pub(super) struct Look<'a> {
    cursors: &'a Cursors,
    turn: Option<Turn>,
    /// The sweep is to be made concurrently with the claim.
    beside: bool,
    /// Null: from the beginning.
    pub(super) instants: Option<Vec<Option<i64>>>,
    pub(super) numbers: Option<Vec<Option<i64>>>,
    /// When to claim again if this one does not look from the beginning.
    pub(super) again: Option<Duration>,
}

/// A sweep, of which there is one at a time. One that is dropped without an answer may nevertheless have been made.
#[derive(Debug)]
pub(super) struct Turn {
    cursors: Arc<Cursors>,
    began: Instant,
    has_ended: bool,
}

impl Cursors {
    /// Where to look for tasks of these queues.
    pub(super) fn look(self: &Arc<Self>, queues: &[&str]) -> Look<'_> {
        let mut state = self.state();
        let now = Instant::now();
        let mut again = if state.is_sweeping {
            Some(SOON)
        } else {
            let left = |paid: Instant| paid.saturating_duration_since(now);
            state.paid.map(left).filter(|left| !left.is_zero())
        };
        let turn = again.is_none().then(|| Turn {
            cursors: Arc::clone(self),
            began: now,
            has_ended: false,
        });
        state.is_sweeping |= turn.is_some();
        let since = |then: Option<Instant>| then.map(|then| now - then);
        let busy = since(state.claimed).is_some_and(|since| since < EACH);
        let beside = turn.is_some() && busy && state.dear >= DEAR_IN_A_ROW;
        if beside {
            again = Some(SOON);
        }
        let is_time = since(state.swept).is_none_or(|since| since >= EACH);
        let starts: Vec<Option<Key>> = queues
            .iter()
            .flat_map(|queue| {
                let has_lanes = since(state.lanes.get(*queue).copied());
                let last = state.last.get(*queue).copied();
                last.filter(|_| has_lanes.is_none_or(|since| since >= LANES))
                    .unwrap_or_default()
            })
            .collect();
        let from_the_beginning = turn.is_some() && is_time && !beside;
        let part = |of: fn(Key) -> i64| {
            let parts = || starts.iter().map(|key| key.map(of)).collect();
            (!from_the_beginning).then(parts)
        };
        Look {
            cursors: self,
            turn,
            beside,
            instants: part(|(instant, _)| instant),
            numbers: part(|(_, number)| number),
            again,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Look<'_> {
    /// Whether it may look from the beginning if it finds too few tasks.
    pub(super) const fn may_sweep(&self) -> bool {
        self.turn.is_some() && !self.beside
    }

    /// Remembers a task that was claimed.
    pub(super) fn claimed(&self, queue: &str, priority: usize, key: Key) {
        let mut state = self.cursors.state();
        state.claimed = Some(Instant::now());
        if !state.last.contains_key(queue) && state.last.len() >= QUEUES {
            state.last.clear();
        }
        let last = state.last.entry(queue.to_owned()).or_default();
        if let Some(cursor) = last.get_mut(priority) {
            *cursor = (*cursor).max(Some(key));
        }
    }

    /// Remembers that a queue has lanes.
    pub(super) fn found_lane(&self, queue: &str) {
        let mut state = self.cursors.state();
        if !state.lanes.contains_key(queue) && state.lanes.len() >= QUEUES {
            state.lanes.clear();
        }
        state.lanes.insert(queue.to_owned(), Instant::now());
    }

    /// Ends a claim that was answered. `swept`: how long it looked from the beginning, if it did. Returns the sweep
    /// that is to be made concurrently, if any, and where claims begin.
    pub(super) fn end(self, swept: Option<Duration>) -> Option<(Turn, Starts)> {
        let turn = self.turn?;
        if self.beside {
            return Some((turn, (self.instants, self.numbers)));
        }
        turn.end(swept);
        None
    }
}

impl Turn {
    /// Notes a task before the cursor: claims begin with it.
    pub(super) fn found(&self, queue: &str, priority: usize, (instant, number): Key) {
        let mut state = self.cursors.state();
        let cursor = state
            .last
            .get_mut(queue)
            .and_then(|last| last.get_mut(priority));
        if let Some(cursor) = cursor {
            *cursor = (*cursor).min(Some((instant, number - 1)));
        }
    }

    /// Ends the sweep. `took`: how long it took, if it was made.
    pub(super) fn end(mut self, took: Option<Duration>) {
        self.has_ended = true;
        if let Some(took) = took {
            self.pay(took);
            let mut state = self.cursors.state();
            if took < CHEAP {
                state.dear = 0;
            } else if took >= DEAR {
                state.dear = state.dear.saturating_add(1);
            }
        }
    }

    fn pay(&self, took: Duration) {
        let mut state = self.cursors.state();
        let now = Instant::now();
        state.swept = Some(now);
        let rested = now.checked_sub(ADVANCE * PAUSE);
        let paid = state.paid.max(rested).unwrap_or(now);
        state.paid = Some(paid + took * PAUSE);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.has_ended {
            self.pay(self.began.elapsed().min(ADVANCE));
        }
        self.cursors.state().is_sweeping = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn sweeps_take_a_twentieth_of_the_time_and_one_at_a_time() {
        tokio::time::advance(Duration::from_secs(3600)).await;
        let cursors = Arc::<Cursors>::default();
        let first = cursors.look(&["a"]);
        assert!(first.may_sweep() && first.instants.is_none());
        let beside = cursors.look(&["a"]);
        assert!(!beside.may_sweep() && beside.again == Some(SOON));
        drop(beside);
        assert!(!cursors.look(&["a"]).may_sweep(), "the first still sweeps");
        first.end(Some(Duration::from_millis(500)));
        // The advance allows for a second sweep, and for no third.
        let second = cursors.look(&["a"]);
        assert!(
            second.may_sweep() && second.instants.is_some(),
            "not each second yet"
        );
        second.end(Some(Duration::from_millis(700)));
        let third = cursors.look(&["a"]);
        assert_eq!(
            (third.may_sweep(), third.again),
            (false, Some(Duration::from_secs(4)))
        );
        drop(third);
        tokio::time::advance(Duration::from_secs(4)).await;
        let third = cursors.look(&["a"]);
        assert!(third.may_sweep() && third.instants.is_none());
    }

    /// After an outage sweeps do not stop for long.
    #[tokio::test(start_paused = true)]
    async fn claim_without_an_answer_counts_as_a_short_sweep() {
        let cursors = Arc::<Cursors>::default();
        let lost = cursors.look(&["a"]);
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert!(!cursors.look(&["a"]).may_sweep());
        drop(lost);
        assert!(cursors.look(&["a"]).may_sweep());
    }

    #[tokio::test(start_paused = true)]
    async fn looks_begin_after_the_last_task_of_each_queue_and_priority() {
        let cursors = Arc::<Cursors>::default();
        let first = cursors.look(&["a", "b"]);
        first.claimed("b", 3, (20, 2));
        first.claimed("b", 3, (10, 9));
        first.end(Some(Duration::ZERO));
        let second = cursors.look(&["a", "b"]);
        let (instants, numbers) = (
            second.instants.clone().unwrap(),
            second.numbers.clone().unwrap(),
        );
        assert_eq!((instants.len(), numbers.len()), (20, 20));
        assert_eq!((instants[13], numbers[13]), (Some(20), Some(2)));
        assert_eq!(instants.iter().flatten().count(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn looks_begin_at_the_beginning_where_a_queue_has_lanes() {
        let cursors = Arc::<Cursors>::default();
        let first = cursors.look(&["a", "b"]);
        first.claimed("a", 3, (20, 2));
        first.claimed("b", 3, (20, 3));
        first.found_lane("b");
        first.end(Some(Duration::ZERO));
        let starts = || cursors.look(&["a", "b"]).instants.clone().unwrap();
        assert_eq!((starts()[3], starts()[13]), (Some(20), None));
        tokio::time::advance(LANES).await;
        // A claim that does not sweep.
        let sweep = cursors.look(&["a", "b"]);
        assert_eq!((starts()[3], starts()[13]), (Some(20), Some(20)));
        drop(sweep);
    }

    /// No claim waits for a sweep then, and the task that it finds is claimed next.
    #[tokio::test(start_paused = true)]
    async fn dear_sweeps_of_a_busy_process_are_made_beside_its_claims() {
        let cursors = Arc::<Cursors>::default();
        for round in 0..DEAR_IN_A_ROW {
            let look = cursors.look(&["a"]);
            assert!(look.may_sweep(), "round {round}");
            look.claimed("a", 5, (20, 2));
            assert!(look.end(Some(DEAR)).is_none());
            tokio::time::advance(Duration::from_millis(900)).await;
        }
        let second = cursors.look(&["a"]);
        assert_eq!((second.may_sweep(), second.again), (false, Some(SOON)));
        assert_eq!(second.instants.as_ref().unwrap()[5], Some(20));
        second.claimed("a", 5, (30, 3));
        let (turn, (instants, _)) = second.end(None).unwrap();
        assert_eq!(instants.unwrap()[5], Some(20));
        assert!(cursors.look(&["a"]).turn.is_none(), "one at a time");
        turn.found("a", 5, (10, 7));
        turn.found("a", 4, (10, 7));
        turn.end(Some(DEAR));
        tokio::time::advance(Duration::from_millis(900)).await;
        let third = cursors.look(&["a"]);
        let (instants, numbers) = (
            third.instants.as_ref().unwrap(),
            third.numbers.as_ref().unwrap(),
        );
        assert_eq!((instants[5], numbers[5]), (Some(10), Some(6)));
        assert_eq!(instants[4], None, "nothing of it was claimed");
        // The claim has found nothing, and still leaves the sweep to a concurrent one.
        let (turn, _) = third.end(None).unwrap();
        turn.end(Some(DEAR));
        // There is nothing else to wait for.
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(cursors.look(&["a"]).may_sweep());
    }

    #[tokio::test(start_paused = true)]
    async fn sweeps_are_made_within_claims_again_after_a_short_one() {
        let cursors = Arc::<Cursors>::default();
        for _ in 0..DEAR_IN_A_ROW {
            let look = cursors.look(&["a"]);
            look.claimed("a", 5, (20, 2));
            look.end(Some(DEAR));
            tokio::time::advance(Duration::from_millis(900)).await;
        }
        // A concurrent sweep is shorter than one within a claim, so its time alone is no reason to make the next one
        // there.
        for (took, within) in [(CHEAP, false), (CHEAP - Duration::from_micros(1), true)] {
            let look = cursors.look(&["a"]);
            look.claimed("a", 5, (20, 2));
            let (turn, _) = look.end(None).unwrap();
            turn.end(Some(took));
            tokio::time::advance(Duration::from_millis(900)).await;
            assert_eq!(cursors.look(&["a"]).may_sweep(), within, "{took:?}");
        }
    }
}
