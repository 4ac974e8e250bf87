//! Of the tasks of a lane, only one runs at a time.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use dlock_tasks::TaskId;

use super::*;

/// A queue other than the one that claims are for.
const OTHER: &str = "other";

fn in_lane(lane: &str) -> NewTask {
    NewTask::builder().kind("a").lane(lane).build()
}

fn urgent(lane: &str, priority: u8) -> NewTask {
    let task = NewTask::builder().kind("a").lane(lane);
    task.priority(priority).build()
}

fn ids(claimed: &Claimed) -> Vec<TaskId> {
    claimed.tasks.iter().map(|task| task.key.id).collect()
}

pub(crate) async fn tasks_of_a_lane_run_one_at_a_time_and_in_order(stage: Stage) {
    let third = stage.add(in_lane("l")).await;
    let fourth = stage.add(in_lane("l")).await;
    let first = stage.add(urgent("l", 1)).await;
    let second = stage.add(urgent("l", 2)).await;
    let later = NewTask::builder().kind("a").lane("l").priority(0);
    stage.add(later.when(When::In(2 * LONG)).build()).await;
    let other = stage.fixture.store().await;
    for expected in [first, second, third, fourth] {
        let claimed = stage.claimed(&claim(LONG).max(9)).await;
        assert_eq!(ids(&claimed), [expected]);
        let nothing = other.claim(&claim(LONG)).await;
        let nothing = nothing.unwrap_or_else(|error| panic!("{error:?}"));
        assert!(nothing.tasks.is_empty(), "two at a time: {nothing:?}");
        let next = nothing.next.unwrap_or_else(|| panic!("it ends some time"));
        assert!(next <= LONG, "no later than its lease does: {next:?}");
        assert!(!next.is_zero(), "nothing comes by asking");
        assert_eq!(
            stage.complete(claimed.tasks[0].key).await,
            Ended::Own(State::Succeeded)
        );
    }
    stage.nothing().await;
}

pub(crate) async fn lanes_are_of_one_queue_and_wait_for_no_other(stage: Stage) {
    let mut expected = Vec::new();
    for task in [in_lane("l"), in_lane("m"), task("a")] {
        expected.push(stage.add(task).await);
    }
    stage.add(in_lane("l")).await;
    stage.add(in_lane("m")).await;
    expected.push(stage.add(task("a")).await);
    for _ in 0..2 {
        let elsewhere = NewTask::builder().kind("a").lane("l").queue(OTHER);
        let id = stage.add(elsewhere.build()).await;
        if expected.len() == 4 {
            expected.push(id);
        }
    }
    let claim = claim(LONG).queues([NewTask::QUEUE, OTHER]).max(9);
    let claimed = stage.claimed(&claim).await;
    assert_eq!(ids(&claimed), expected, "one of each lane, and all others");
    // A2: the tasks that it holds, and no more of its lanes.
    let again = stage.claimed(&claim.clone().repeated()).await;
    assert_eq!(again.tasks, claimed.tasks);
    let plain = stage.add(task("a")).await;
    assert_eq!(stage.take(LONG).await.key.id, plain);
}

/// A crash frees a lane when the lease ends, and a task that had begun comes before more urgent ones.
pub(crate) async fn lane_is_kept_over_a_crash(stage: Stage) {
    let first = stage.add(in_lane("l")).await;
    let mut kept = Instant::now();
    let key = stage.take(stage.short).await.key;
    let second = stage.add(urgent("l", 0)).await;
    for n in 1..=3 {
        sleep(stage.short / 2).await;
        stage.nothing_for_now(kept).await;
        kept = stage.keeps(key, n, kept).await;
    }
    stage.becomes(first, State::Stalled).await;
    let claimed = stage.claimed(&claim(LONG).max(9)).await;
    assert_eq!(ids(&claimed), [first], "what had begun, and nothing else");
    assert_eq!(stage.complete(key).await, Ended::Lost(Some(State::Running)));
    stage.nothing().await;
    stage.complete(claimed.tasks[0].key).await;
    assert_eq!(stage.take(LONG).await.key.id, second);
}

/// A lane does not wait for a task whose last worker died, nor for one that was to be cancelled.
pub(crate) async fn lane_goes_on_after_what_nobody_runs_any_more(stage: Stage) {
    let last = NewTask::builder().kind("a").lane("l").max_attempts(1);
    let poison = stage.add(last.build()).await;
    let asked = stage.add(in_lane("l")).await;
    let next = stage.add(in_lane("l")).await;
    assert_eq!(stage.take(stage.short).await.key.id, poison);
    assert_eq!(stage.eventually(stage.short).await.key.id, asked);
    assert_eq!(stage.state(poison).await, State::Dead);
    stage.cancel(asked, false).await;
    assert_eq!(stage.eventually(LONG).await.key.id, next);
    assert_eq!(stage.state(asked).await, State::Cancelled);
}

/// A task that waits for a later attempt does not block its lane; a task that is given back returns to its old place.
pub(crate) async fn lane_goes_on_while_a_failed_task_waits(stage: Stage) {
    let first = stage.add(in_lane("l")).await;
    let second = stage.add(in_lane("l")).await;
    let give_back = stage.take(LONG).await.key;
    assert_eq!(give_back.id, first);
    stage.finish(give_back, How::GiveBack).await;
    let failed = stage.take(LONG).await.key;
    assert_eq!(failed.id, first, "its old place");
    let fail = How::Fail {
        error: "x".into(),
        retry_in: stage.short,
    };
    stage.finish(failed, fail).await;
    let key = stage.take(LONG).await.key;
    assert_eq!(key.id, second);
    stage.becomes(first, State::Ready).await;
    stage.nothing().await;
    stage.finish(key, How::Snooze(LONG)).await;
    assert_eq!(stage.take(LONG).await.key.id, first);
}

/// A lane runs its tasks in order, whatever handlers a worker has; and a task that is cancelled has no place.
pub(crate) async fn lane_waits_for_its_first_task_of_whatever_kind(stage: Stage) {
    let other = NewTask::builder().kind("other").lane("l").build();
    let first = stage.add(other.clone()).await;
    let second = stage.add(in_lane("l")).await;
    let beside = stage.add(task("a")).await;
    let own = || claim(LONG).kinds(["a"]).max(9);
    let claimed = stage.claimed(&own()).await;
    assert_eq!(ids(&claimed), [beside]);
    stage.complete(claimed.tasks[0].key).await;
    assert_eq!(stage.cancel(first, false).await, Some(State::Ready));
    let claimed = stage.claimed(&own()).await;
    assert_eq!(ids(&claimed), [second]);
    // Nor has a task that is cancelled by force while it runs.
    let third = stage.add(in_lane("l")).await;
    stage.nothing().await;
    assert_eq!(stage.cancel(second, true).await, Some(State::Running));
    assert_eq!(stage.take(LONG).await.key.id, third);
}

pub(crate) async fn lane_of_a_task_is_shown_and_stays(stage: Stage) {
    let id = stage.add(in_lane("l")).await;
    assert_eq!(stage.task(id).await.lane.as_deref(), Some("l"));
    let plain = stage.add(task("a")).await;
    assert_eq!(stage.task(plain).await.lane, None);
    let discard = How::Discard { error: "x".into() };
    for how in [discard, How::Complete(Value::Null)] {
        let key = stage.take(LONG).await.key;
        assert_eq!(key.id, id);
        stage.finish(key, how).await;
        assert_eq!(stage.task(id).await.lane.as_deref(), Some("l"), "ended");
        let retried = stage.store.retry(id).await;
        let Ok(Some(Enqueued::New(again))) = retried else {
            panic!("{retried:?}")
        };
        assert_eq!(stage.task(again).await.lane.as_deref(), Some("l"));
        stage.cancel(plain, true).await;
    }
    let listed = stage.store.list(&Filter::default()).await;
    let listed = listed.unwrap_or_else(|error| panic!("{error:?}"));
    let lanes: Vec<_> = listed.iter().map(|task| task.lane.as_deref()).collect();
    assert_eq!(lanes, [Some("l"), None, Some("l")]);
}

/// Never two at a time, though many workers claim at the same time and more urgent tasks keep arriving.
pub(crate) async fn many_workers_run_one_task_of_a_lane_at_a_time(stage: Stage) {
    const TASKS: usize = 96;
    const WORKERS: usize = 16;
    const LANES: [&str; 3] = ["l", "m", "n"];
    let task = |number: usize| {
        // Later tasks are more urgent than earlier ones.
        let priority = 9 - u8::try_from(number * 10 / TASKS).unwrap_or(9);
        urgent(LANES[number % LANES.len()], priority)
    };
    let running: Arc<Mutex<BTreeMap<TaskId, String>>> = Arc::default();
    let done = Arc::new(AtomicUsize::new(0));
    let mut workers = Vec::new();
    for worker in 0..WORKERS {
        let store = stage.fixture.store().await;
        let (running, done) = (Arc::clone(&running), Arc::clone(&done));
        workers.push(tokio::spawn(async move {
            let began = Instant::now();
            while done.load(Ordering::SeqCst) < TASKS {
                in_time(began.elapsed() < PATIENCE, "they do not all run");
                let claimed = store.claim(&claim(LONG).max(1 + worker % 3)).await;
                let tasks = match claimed {
                    Ok(claimed) => claimed.tasks,
                    Err(error) if error.kind() == ErrorKind::NotApplied => continue,
                    Err(error) => panic!("{error:?}"),
                };
                if tasks.is_empty() {
                    sleep(Duration::from_millis(1)).await;
                }
                for task in &tasks {
                    let shown = store.task(task.key.id).await;
                    let lane = shown.ok().flatten().and_then(|task| task.lane);
                    let lane = lane.unwrap_or_else(|| panic!("a task without its lane"));
                    let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
                    let beside = running.values().any(|other| *other == lane);
                    assert!(!beside, "two of lane {lane} at a time: {running:?}");
                    running.insert(task.key.id, lane);
                }
                sleep(Duration::from_millis(1)).await;
                for task in tasks {
                    running
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .remove(&task.key.id);
                    let ending = Ending::new(task.key, How::Complete(Value::Null));
                    loop {
                        match store.finish(std::slice::from_ref(&ending)).await {
                            Ok(ended) => {
                                assert_eq!(ended, [Ended::Own(State::Succeeded)]);
                                break;
                            }
                            Err(error) if error.kind() == ErrorKind::Fatal => panic!("{error:?}"),
                            Err(error) => {
                                in_time(began.elapsed() < PATIENCE, format_args!("{error:?}"));
                            }
                        }
                    }
                    done.fetch_add(1, Ordering::SeqCst);
                }
            }
        }));
    }
    for number in 0..TASKS {
        stage.add(task(number)).await;
    }
    for worker in workers {
        joined(worker.await);
    }
}
