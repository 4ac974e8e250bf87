//! Wrong decisions about lanes.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use dlock_core::ProviderError;
use dlock_tasks::{Claim, Claimed, State, TaskId, TaskStore};
use dlock_testkit::tasks::memory::table::Row;
use tokio::task::yield_now;

use super::{TaskFlaw as Flaw, store::PlantedTasks};

/// A claim's view of the tasks.
struct View<'a> {
    rows: &'a BTreeMap<TaskId, Row>,
    now: SystemTime,
}

impl View<'_> {
    /// Whether the lane of this task has another such task.
    fn beside(&self, row: &Row, which: impl Fn(&Row, State) -> bool) -> bool {
        let new = &row.new;
        self.rows.values().any(|other| {
            let lane = other.new.queue == new.queue && other.new.lane == new.lane;
            lane && other.id != row.id && which(other, other.state(self.now))
        })
    }
}

impl PlantedTasks {
    pub(super) async fn take_beside_lanes(&self, claim: &Claim) -> Result<Claimed, ProviderError> {
        let seen = self.rows();
        if self.has(Flaw::LaneIsInTwoSteps) {
            yield_now().await;
        }
        let before = self.rows();
        self.edit_all(|row, now| {
            let rows = &before;
            if row.new.lane.is_none() {
                if self.has(Flaw::LaneStopsItsQueue)
                    && rows.values().any(|other| {
                        let lane = other.new.lane.is_some() && other.new.queue == row.new.queue;
                        lane && other.state(now) == State::Running
                    })
                    && row.state(now) != State::Running
                {
                    hide(row, now);
                }
            } else if !row.state(now).has_ended() {
                self.mistake(row, &View { rows, now }, &seen, claim);
            }
        });
        let claimed = self.inner.claim(claim).await;
        self.restore(
            &before,
            claimed.as_ref().map_or(&[], |claimed| &claimed.tasks),
        );
        claimed
    }

    /// Changes the task with a lane that the claim finds.
    fn mistake(&self, row: &mut Row, view: &View<'_>, seen: &BTreeMap<TaskId, Row>, claim: &Claim) {
        let now = view.now;
        let state = row.state(now);
        let waits = matches!(state, State::Ready | State::Scheduled);
        let is_hidden = match self.flaw {
            Some(Flaw::LaneIsForgotten) => {
                row.new.lane = None;
                false
            }
            Some(Flaw::LaneIsOneClaims) => {
                if !view.beside(row, |_, state| state == State::Running) {
                    row.new.lane = None;
                }
                false
            }
            Some(Flaw::LanesAreOfAllQueues) => view.rows.values().any(|other| {
                let lane = other.new.lane == row.new.lane && other.new.queue != row.new.queue;
                lane && other.id < row.id
            }),
            Some(Flaw::LaneIsReversed) => {
                waits
                    && view.beside(row, |other, state| {
                        state == State::Ready && other.id > row.id
                    })
            }
            Some(Flaw::LaneForgetsWhatHasBegun) => {
                state == State::Stalled && view.beside(row, |_, state| state == State::Ready)
            }
            Some(Flaw::LaneWaitsForTheDead) => {
                state == State::Stalled || view.beside(row, |_, state| state == State::Stalled)
            }
            Some(Flaw::LaneIsFreeTooEarly) => {
                let half = |row: &Row| {
                    let term = row.held();
                    term.is_some_and(|term| term.expiry <= now + term.record.duration / 2)
                };
                state == State::Running && half(row)
            }
            Some(Flaw::LaneWaitsForLater) => {
                waits && view.beside(row, |_, state| state == State::Scheduled)
            }
            Some(Flaw::LaneIsOfAKind) => {
                let kinds = claim.kinds.as_ref();
                waits && kinds.is_some_and(|kinds| !kinds.contains(&row.new.kind))
            }
            Some(Flaw::LaneIsInTwoSteps) => {
                let ran = |seen: &Row| seen.state(now) == State::Running;
                state == State::Running && !seen.get(&row.id).is_some_and(ran)
            }
            _ => false,
        };
        if is_hidden {
            hide(row, now);
        }
    }

    /// Makes a call that does not notify the workers that wait for a lane, or for a place.
    pub(super) async fn unheard<T>(&self, call: impl AsyncFnOnce() -> T) -> T {
        let (before, limits) = (
            self.rows(),
            self.inner.call(|table, _| table.limits.clone()),
        );
        match self.flaw {
            Some(Flaw::LaneEndIsNotHinted) => self.edit_all(|row, _| row.new.lane = None),
            _ => self.inner.call(|table, _| table.limits.clear()),
        }
        let answer = call().await;
        self.edit_all(|row, _| {
            if let Some(old) = before.get(&row.id) {
                row.new.lane.clone_from(&old.new.lane);
            }
        });
        self.inner.call(|table, _| table.limits = limits);
        answer
    }
}

/// As if it were unclaimed, and due much later.
fn hide(row: &mut Row, now: SystemTime) {
    row.term = None;
    row.run_at = now + Duration::from_secs(1 << 30);
}
