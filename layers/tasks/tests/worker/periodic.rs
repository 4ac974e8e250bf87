//! Tasks of a schedule.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use dlock_tasks::{Context, Filter, Periodic, Schedule, State, TaskStore};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    faulty::Faulty,
    support::{PATIENCE, Run, Say, Shop, say, worker},
};

/// Each instant has one task, though two workers have the schedule, answers are lost, and one worker ends.
#[tokio::test]
async fn periodic_task_comes_once_for_each_instant() {
    #[expect(
        clippy::disallowed_methods,
        reason = "instants are counted by the wall clock"
    )]
    fn seconds() -> u64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.unwrap().as_secs()
    }
    let shop = Shop::new();
    let (first, second) = (&shop.store, &shop.other());
    let began = seconds();
    let runs = Arc::<AtomicUsize>::default();
    let run = |store: &Faulty| {
        let counted = Arc::clone(&runs);
        let schedule = Schedule::every(Duration::from_secs(1)).unwrap();
        let worker = worker(store).periodic(Periodic::new("say", schedule, say("again")));
        Run::of(worker.handle(move |_: Context, _: Say| {
            counted.fetch_add(1, Ordering::SeqCst);
            async { Ok(()) }
        }))
    };
    let until = async |number: usize| {
        let began = Instant::now();
        while runs.load(Ordering::SeqCst) < number {
            assert!(began.elapsed() < PATIENCE, "nothing is enqueued any more");
            sleep(Duration::from_millis(5)).await;
        }
    };
    let (one, other) = (run(first), run(second));
    until(1).await;
    for store in [first, second] {
        store.lose("enqueue_periodic");
    }
    until(3).await;
    one.stop().await;
    until(5).await;
    other.stop().await;
    let instants = usize::try_from(seconds() - began).unwrap();
    let tasks = shop.store.list(&Filter::default()).await.unwrap();
    assert!(tasks.len() <= instants, "{} of {instants}", tasks.len());
}

/// The worker reports the error, and lets running handlers finish.
#[tokio::test]
async fn worker_with_a_periodic_task_that_cannot_be_kept_ends() {
    let shop = Shop::new();
    let id = shop.add(say("slow")).await;
    let schedule = Schedule::every(Duration::from_secs(1)).unwrap();
    let nameless = Periodic::new("", schedule, say("again"));
    let worker = worker(&shop.store).periodic(nameless);
    let run = Run::of(worker.handle(|_: Context, _: Say| async { Ok(()) }));
    let ended = timeout(PATIENCE, run.running).await.expect("it goes on");
    let error = ended.unwrap().unwrap_err().to_string();
    assert!(error.contains("name of a schedule"), "{error}");
    // Either the task was too late to begin, or it was ended.
    let state = shop.task(id).await.state;
    assert!(matches!(state, State::Ready | State::Succeeded), "{state}");
}
