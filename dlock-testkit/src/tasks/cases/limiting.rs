//! Queues that run a limited number of tasks at a time.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use dlock_tasks::{LimitedQueue, TaskId};

use super::*;

/// A queue other than the one that claims are for.
const OTHER: &str = "other";

impl Stage {
    async fn limit(&self, limit: Option<u32>) {
        let set = self.store.set_limit(NewTask::QUEUE, limit).await;
        set.unwrap_or_else(|error| panic!("{error:?}"));
    }

    async fn limits(&self) -> Vec<LimitedQueue> {
        let limits = self.store.limits().await;
        limits.unwrap_or_else(|error| panic!("{error:?}"))
    }

    /// The claims that a new worker gets when it asks for many tasks.
    async fn many(&self) -> Vec<ClaimKey> {
        let claimed = self.claimed(&claim(LONG).max(9)).await;
        claimed.tasks.iter().map(|task| task.key).collect()
    }
}

pub(crate) async fn limited_queue_gives_so_many_and_others_go_on(stage: Stage) {
    stage.limit(Some(2)).await;
    let mut own = Vec::new();
    for priority in [5, 5, 4, 5] {
        let task = NewTask::builder().kind("a").priority(priority);
        own.push(stage.add(task.build()).await);
    }
    let soon = NewTask::builder().kind("a").when(When::In(LONG / 2));
    stage.add(soon.build()).await;
    let mut others = Vec::new();
    for _ in 0..3 {
        let task = NewTask::builder().kind("a").queue(OTHER).build();
        others.push(stage.add(task).await);
    }
    let first = claim(LONG).queues([NewTask::QUEUE, OTHER]).max(9);
    let claimed = stage.claimed(&first).await;
    let ids: Vec<TaskId> = claimed.tasks.iter().map(|task| task.key.id).collect();
    assert_eq!(ids, [own[2], own[0], others[0], others[1], others[2]]);
    let again = stage.claimed(&first.repeated()).await;
    assert_eq!(again.tasks, claimed.tasks, "what it holds, and no more");

    let other = stage.fixture.store().await;
    let nothing = other.claim(&claim(LONG)).await;
    let nothing = nothing.unwrap_or_else(|error| panic!("{error:?}"));
    assert!(nothing.tasks.is_empty(), "three at a time: {nothing:?}");
    let next = nothing.next.unwrap_or_else(|| panic!("it ends some time"));
    assert!(next <= LONG, "no later than a lease does: {next:?}");
    assert!(next > LONG / 2, "what falls due finds no place: {next:?}");

    stage.complete(claimed.tasks[0].key).await;
    let key = stage.take(LONG).await.key;
    assert_eq!(key.id, own[1]);
    stage.nothing().await;
    stage.finish(key, How::GiveBack).await;
    assert_eq!(stage.take(LONG).await.key.id, own[1]);
}

/// All running tasks count, however they came to run, and none of them is stopped.
pub(crate) async fn limit_changes_while_tasks_run(stage: Stage) {
    for _ in 0..6 {
        stage.add(task("a")).await;
    }
    let before = stage.claimed(&claim(LONG).max(3)).await.tasks;
    assert_eq!(before.len(), 3);
    stage.limit(Some(2)).await;
    stage.nothing().await;
    stage.complete(before[0].key).await;
    stage.nothing().await;
    let renewed = stage.renew(before[1].key, 1).await;
    assert!(
        matches!(renewed, RenewOutcome::Renewed { .. }),
        "{renewed:?}"
    );
    stage.complete(before[1].key).await;
    let one = stage.many().await;
    assert_eq!(one.len(), 1);
    stage.limit(Some(1)).await;
    stage.limit(Some(1)).await;
    stage.complete(before[2].key).await;
    stage.nothing().await;
    stage.limit(Some(2)).await;
    assert_eq!(stage.many().await.len(), 1);
    stage.limit(None).await;
    stage.limit(None).await;
    assert_eq!(stage.many().await.len(), 1, "all that is left");
    // Tasks that started running without a limit count again.
    stage.add(task("a")).await;
    stage.limit(Some(3)).await;
    stage.nothing().await;
    stage.complete(one[0]).await;
    stage.take(LONG).await;
}

/// A crash frees a place when the lease ends, and not before; even in the last attempt.
pub(crate) async fn place_is_free_when_a_lease_ends(stage: Stage) {
    stage.limit(Some(1)).await;
    let first = stage.add(task("a")).await;
    let urgent = NewTask::builder().kind("a").priority(0).max_attempts(1);
    let asked = Instant::now();
    let key = stage.take(stage.short).await.key;
    let second = stage.add(urgent.build()).await;
    stage.nothing_for_now(asked).await;
    sleep(stage.short / 2).await;
    stage.nothing_for_now(asked).await;
    let kept = stage.keeps(key, 1, asked).await;
    sleep(stage.short / 2).await;
    stage.nothing_for_now(kept).await;
    let took = stage.eventually(stage.short).await;
    assert_eq!(took.key.id, second);
    assert!(
        asked.elapsed() >= stage.short + stage.short / 2,
        "too early"
    );
    // This worker dies, too.
    assert_eq!(stage.eventually(LONG).await.key.id, first);
    let began = Instant::now();
    while stage.state(second).await != State::Dead {
        stage.nothing().await;
        in_time(began.elapsed() < PATIENCE, "it does not end");
        sleep(stage.short / 20).await;
        stage.cancel(first, true).await;
    }
}

pub(crate) async fn limits_are_listed(stage: Stage) {
    assert!(stage.limits().await.is_empty());
    for (queue, limit) in [("b", Some(2)), ("a", Some(u32::MAX)), ("c", None)] {
        let set = stage.store.set_limit(queue, limit).await;
        assert!(set.is_ok(), "{set:?}");
    }
    let limited = |queue: &str, limit| LimitedQueue::new(queue.to_owned(), limit);
    let expected = [limited("a", u32::MAX), limited("b", 2)];
    assert_eq!(stage.limits().await, expected, "by name");
    let bad = ["".to_owned(), "q".repeat(129), "a\0b".to_owned()];
    let bad = bad.iter().map(|queue| (queue.as_str(), Some(1)));
    for (queue, limit) in bad.chain([("b", Some(0))]) {
        let refused = stage.store.set_limit(queue, limit).await;
        assert_eq!(
            refused.map_err(|error| error.kind()),
            Err(ErrorKind::Fatal),
            "{queue:?} {limit:?}"
        );
    }
    let set = stage.store.set_limit("a", None).await;
    assert!(set.is_ok(), "{set:?}");
    assert_eq!(stage.limits().await, [limited("b", 2)]);
}

/// Never more, though many workers claim at the same time.
pub(crate) async fn many_workers_run_no_more_than_the_limit(stage: Stage) {
    const TASKS: usize = 120;
    const WORKERS: usize = 16;
    const LIMIT: usize = 3;
    let new: Vec<NewTask> = (0..TASKS).map(|_| task("a")).collect();
    let added = stage.store.enqueue(&new).await;
    assert!(added.is_ok(), "{added:?}");
    let running: Arc<Mutex<BTreeSet<TaskId>>> = Arc::default();
    let done = Arc::new(AtomicUsize::new(0));
    stage.limit(u32::try_from(LIMIT).ok()).await;
    let mut workers = Vec::new();
    for worker in 0..WORKERS {
        let store = stage.fixture.store().await;
        let (running, done) = (Arc::clone(&running), Arc::clone(&done));
        workers.push(tokio::spawn(async move {
            let running = || running.lock().unwrap_or_else(PoisonError::into_inner);
            let began = Instant::now();
            while done.load(Ordering::SeqCst) < TASKS {
                in_time(began.elapsed() < PATIENCE, "they do not all run");
                let tasks = match store.claim(&claim(LONG).max(1 + worker % 3)).await {
                    Ok(claimed) => claimed.tasks,
                    Err(error) if error.kind() == ErrorKind::NotApplied => continue,
                    Err(error) => panic!("{error:?}"),
                };
                for task in &tasks {
                    let mut running = running();
                    running.insert(task.key.id);
                    assert!(running.len() <= LIMIT, "more than {LIMIT}: {running:?}");
                }
                sleep(Duration::from_millis(1)).await;
                for task in tasks {
                    running().remove(&task.key.id);
                    let ending = Ending::new(task.key, How::Complete(Value::Null));
                    while let Err(error) = store.finish(std::slice::from_ref(&ending)).await {
                        assert!(error.kind() != ErrorKind::Fatal, "{error:?}");
                        in_time(began.elapsed() < PATIENCE, format_args!("{error:?}"));
                    }
                    done.fetch_add(1, Ordering::SeqCst);
                }
            }
        }));
    }
    for worker in workers {
        joined(worker.await);
    }
}

/// A place of the queue is not a place in a lane, nor the reverse.
pub(crate) async fn lanes_and_limits_hold_together(stage: Stage) {
    stage.limit(Some(3)).await;
    let mut ids = Vec::new();
    for lane in ["l", "l", "m", "m"] {
        let task = NewTask::builder().kind("a").lane(lane).build();
        ids.push(stage.add(task).await);
    }
    for _ in 0..3 {
        ids.push(stage.add(task("a")).await);
    }
    let got = stage.many().await;
    let got_ids: Vec<_> = got.iter().map(|key| key.id).collect();
    assert_eq!(got_ids, [ids[0], ids[2], ids[4]]);
    stage.nothing().await;
    stage.complete(got[2]).await;
    let plain = stage.many().await;
    assert_eq!(plain.len(), 1);
    assert_eq!(plain[0].id, ids[5]);
    stage.complete(got[0]).await;
    let next: Vec<_> = stage.many().await.iter().map(|key| key.id).collect();
    assert_eq!(next, [ids[1]], "the next of its lane");
}
