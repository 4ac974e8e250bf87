//! Paused queues.

use super::*;

/// A queue other than the one that claims are for.
const OTHER: &str = "other";

impl Stage {
    async fn set_paused(&self, queue: &str, paused: bool) {
        let set = self.store.set_paused(queue, paused).await;
        set.unwrap_or_else(|error| panic!("{error:?}"));
    }

    async fn paused(&self) -> Vec<PausedQueue> {
        let paused = self.store.paused().await;
        paused.unwrap_or_else(|error| panic!("{error:?}"))
    }
}

pub(crate) async fn paused_queue_gives_nothing_and_others_go_on(stage: Stage) {
    let before = stage.add(task("a")).await;
    stage.set_paused(NewTask::QUEUE, true).await;
    let later = NewTask::builder().kind("a").when(When::In(LONG)).build();
    stage.add(later).await;
    let beside = NewTask::builder().kind("a").queue(OTHER).build();
    let beside = stage.add(beside).await;
    let nothing = stage.claimed(&claim(LONG)).await;
    assert_eq!(nothing, Claimed::default(), "nothing of it falls due");
    assert_eq!(stage.state(before).await, State::Ready);
    let both = || claim(LONG).queues([NewTask::QUEUE, OTHER]).max(9);
    let ids = |claimed: &Claimed| -> Vec<_> {
        let tasks = claimed.tasks.iter();
        tasks.map(|task| task.key.id).collect()
    };
    let claimed = stage.claimed(&both()).await;
    assert_eq!(ids(&claimed), [beside]);
    let while_paused = stage.add(task("a")).await;
    stage.nothing().await;
    // Another handle to the store sees the pause, too.
    let other = stage.fixture.store().await;
    let claimed = other.claim(&both()).await;
    assert_eq!(claimed.map(|claimed| ids(&claimed)).ok(), Some(vec![]));

    stage.set_paused(NewTask::QUEUE, false).await;
    let claimed = stage.claimed(&both()).await;
    assert_eq!(ids(&claimed), [before, while_paused]);
    assert!(claimed.next.is_some(), "what is to come");
}

pub(crate) async fn task_that_runs_in_a_paused_queue_goes_on(stage: Stage) {
    let id = stage.add(task("a")).await;
    let first = claim(LONG);
    let claimed = stage.claimed(&first).await;
    stage.set_paused(NewTask::QUEUE, true).await;
    assert_eq!(stage.claimed(&first.repeated()).await.tasks, claimed.tasks);
    let key = claimed.tasks[0].key;
    let renewed = stage.renew(key, 1).await;
    assert!(
        matches!(renewed, RenewOutcome::Renewed { asked: false }),
        "{renewed:?}"
    );
    let kept = stage.store.checkpoint(&key, 1, &json!(1)).await;
    assert_eq!(kept.ok(), Some(Kept::Kept));
    assert_eq!(
        stage.finish(key, How::GiveBack).await,
        Ended::Own(State::Ready)
    );
    stage.nothing().await;
    stage.set_paused(NewTask::QUEUE, false).await;
    let key = stage.take(LONG).await.key;
    assert_eq!(key.id, id);
    stage.set_paused(NewTask::QUEUE, true).await;
    assert_eq!(stage.complete(key).await, Ended::Own(State::Succeeded));
}

/// A pause serves to investigate: during it, nothing changes that a claim would change.
pub(crate) async fn nothing_of_a_paused_queue_is_ended(stage: Stage) {
    let last = NewTask::builder().kind("a").max_attempts(1).build();
    let id = stage.add(last).await;
    stage.take(stage.short).await;
    stage.set_paused(NewTask::QUEUE, true).await;
    stage.becomes(id, State::Stalled).await;
    for _ in 0..3 {
        assert_eq!(stage.claimed(&claim(LONG)).await, Claimed::default());
    }
    assert_eq!(stage.state(id).await, State::Stalled);
    stage.set_paused(NewTask::QUEUE, false).await;
    stage.is_made(id, State::Dead).await;
}

pub(crate) async fn paused_queues_are_listed(stage: Stage) {
    let queues = |paused: &[PausedQueue]| -> Vec<String> {
        let queues = paused.iter();
        queues.map(|paused| paused.queue.clone()).collect()
    };
    assert!(stage.paused().await.is_empty());
    stage.set_paused("b", false).await;
    for queue in ["b", "a"] {
        stage.set_paused(queue, true).await;
    }
    let first = stage.paused().await;
    assert_eq!(queues(&first), ["a", "b"], "by name");
    for paused in &first {
        let now = stage.fixture.now();
        let off = now.duration_since(paused.since);
        let off = off.unwrap_or_else(|later| later.duration());
        in_time(
            off < PATIENCE,
            format_args!("{paused:?}, and now it is {now:?}"),
        );
    }
    sleep(Duration::from_millis(2)).await;
    stage.set_paused("a", true).await;
    assert_eq!(stage.paused().await, first, "since the first time");
    stage.set_paused("a", false).await;
    stage.set_paused("a", false).await;
    assert_eq!(queues(&stage.paused().await), ["b"]);
    for bad in ["".to_owned(), "q".repeat(129), "a\0b".to_owned()] {
        let refused = stage.store.set_paused(&bad, true).await;
        assert_eq!(
            refused.map_err(|error| error.kind()),
            Err(ErrorKind::Fatal),
            "{bad:?}"
        );
    }
    stage.set_paused("b", false).await;
    assert!(stage.paused().await.is_empty());
}
