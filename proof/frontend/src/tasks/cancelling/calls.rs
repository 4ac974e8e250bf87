//! Each call of a store, dropped after each of its polls.

use std::time::Duration;

use dlock_tasks::{
    Ages, Claim, ClaimKey, Ended, Ending, How, Kept, NewTask, Served, State, TaskId, TaskStore,
};
use dlock_testkit::tasks::memory::MemoryTasks;
use serde_json::json;
use tokio::time::sleep;
use uuid::Uuid;

use super::{Tally, cut, paused, surroundings};
use crate::tasks::simulation::inside::Parts;

/// The call that is dropped.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Enqueue,
    Periodic,
    Claim,
    Finish,
    Checkpoint,
    Cancel,
    Retry,
    Prune,
}

impl Operation {
    const ALL: [Self; 8] = [
        Self::Enqueue,
        Self::Periodic,
        Self::Claim,
        Self::Finish,
        Self::Checkpoint,
        Self::Cancel,
        Self::Retry,
        Self::Prune,
    ];
}

/// Drops each call of a store after each of its polls: the call was applied as a whole, or not at all, and a repeat
/// returns the answer that the first would have had.
///
/// # Panics
/// If that does not hold, or it is called on a runtime.
#[must_use]
pub fn calls() -> Tally {
    let mut tally = Tally::default();
    for operation in Operation::ALL {
        for polls in 0.. {
            let dropped = paused(play(operation, polls));
            tally.scenes += 1;
            tally.dropped += usize::from(dropped);
            if !dropped {
                break;
            }
        }
    }
    tally
}

fn task() -> NewTask {
    NewTask::builder().kind("planned").build()
}

/// Returns whether it was dropped.
async fn play(operation: Operation, polls: usize) -> bool {
    let around = surroundings(None);
    let (own, store) = (&around.store, Parts::new(&around, 0, 0).store);
    let claim = Claim::new(NewTask::QUEUE, Uuid::new_v4(), Duration::from_secs(60)).max(2);
    let place = |what: &str| format!("{operation:?}, {polls} polls: {what}");
    match operation {
        Operation::Enqueue => {
            let all = [task(), task(), task()];
            let ended = dropped(cut(store.enqueue(&all), polls).await).await;
            let rows = own.call(|table, _| table.rows.len());
            assert!(rows == 0 || rows == 3, "{}", place(&format!("{rows} rows")));
            ended
        }
        Operation::Periodic => {
            let begun = own.enqueue_periodic("tick", own.now(), &task()).await;
            assert_eq!(begun.ok(), Some(Served::Begun));
            sleep(Duration::from_secs(1)).await;
            let instant = own.now();
            let tick = task();
            let call = store.enqueue_periodic("tick", instant, &tick);
            let ended = dropped(cut(call, polls).await).await;
            drop(own.enqueue_periodic("tick", instant, &task()).await);
            let rows = own.call(|table, _| table.rows.len());
            assert_eq!(rows, 1, "{}", place("one instant, one task"));
            ended
        }
        Operation::Claim => {
            added(own, 2).await;
            let ended = dropped(cut(store.claim(&claim), polls).await).await;
            let claimed = ok(own.claim(&claim.repeated()).await);
            let attempts: Vec<u32> = claimed.tasks.iter().map(|task| task.attempt).collect();
            assert_eq!(attempts, [1, 1], "{}", place("what a repeat gets"));
            ended
        }
        Operation::Finish => {
            let endings = taken(own, &claim)
                .await
                .map(|key| Ending::new(key, How::Complete(json!(1))));
            let ended = dropped(cut(store.finish(&endings), polls).await).await;
            let repeat = ok(own.finish(&endings).await);
            assert_eq!(
                repeat,
                [Ended::Own(State::Succeeded); 2],
                "{}",
                place("a repeat")
            );
            ended
        }
        Operation::Checkpoint => {
            let [key, _] = taken(own, &claim).await;
            let one = json!("one");
            let call = store.checkpoint(&key, 1, &one);
            let ended = dropped(cut(call, polls).await).await;
            let repeat = ok(own.checkpoint(&key, 1, &one).await);
            let kept = own.call(|table, _| table.rows[&key.id].checkpoint.clone());
            assert_eq!((repeat, kept), (Kept::Kept, Some(one)));
            ended
        }
        Operation::Cancel => {
            let [key, other] = taken(own, &claim).await;
            let ended = dropped(cut(store.cancel(key.id, true), polls).await).await;
            ok(own.cancel(key.id, true).await);
            assert_eq!(
                state(own, key.id),
                State::Cancelled,
                "{}",
                place("the task")
            );
            assert_eq!(state(own, other.id), State::Running);
            ended
        }
        Operation::Retry => {
            let [key, _] = taken(own, &claim).await;
            ok(own.cancel(key.id, true).await);
            let ended = dropped(cut(store.retry(key.id), polls).await).await;
            ok(own.retry(key.id).await);
            assert_eq!(state(own, key.id), State::Ready, "{}", place("the task"));
            assert_eq!(own.call(|table, _| table.rows.len()), 2);
            ended
        }
        Operation::Prune => {
            let [key, other] = taken(own, &claim).await;
            ok(own.cancel(key.id, true).await);
            let nothing = Ages::new(Duration::ZERO, Duration::ZERO);
            let ended = dropped(cut(store.prune(nothing, 10), polls).await).await;
            ok(own.prune(nothing, 10).await);
            assert_eq!(
                own.call(|table, _| table.rows.len()),
                1,
                "{}",
                place("rows")
            );
            assert_eq!(state(own, other.id), State::Running);
            ended
        }
    }
}

/// Whether there is no value; a call in flight arrives meanwhile.
async fn dropped<T>(value: Option<T>) -> bool {
    sleep(Duration::from_millis(50)).await;
    value.is_none()
}

async fn added(store: &MemoryTasks, tasks: usize) {
    let all: Vec<NewTask> = (0..tasks).map(|_| task()).collect();
    ok(store.enqueue(&all).await);
}

/// Two claims.
async fn taken(store: &MemoryTasks, claim: &Claim) -> [ClaimKey; 2] {
    added(store, 2).await;
    let claimed = ok(store.claim(claim).await);
    [claimed.tasks[0].key, claimed.tasks[1].key]
}

fn state(store: &MemoryTasks, id: TaskId) -> State {
    store.call(|table, now| table.rows[&id].state(now))
}

fn ok<T, E: std::fmt::Debug>(answer: Result<T, E>) -> T {
    answer.unwrap_or_else(|error| panic!("this should have succeeded: {error:?}"))
}
