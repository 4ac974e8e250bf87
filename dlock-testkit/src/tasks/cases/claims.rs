//! Which tasks a claim gets, and for how long.

use super::*;

pub(crate) async fn two_claims_get_different_tasks(stage: Stage) {
    let first = stage.add(task("a")).await;
    let second = stage.add(task("b")).await;
    let (one, other) = (stage.take(LONG).await, stage.take(LONG).await);
    assert_eq!((one.key.id, other.key.id), (first, second));
    stage.nothing().await;
}

/// A claim gets as many tasks as exist, each once, though several workers claim at the same time.
pub(crate) async fn many_workers_get_every_task_once(stage: Stage) {
    const TASKS: usize = 200;
    const WORKERS: usize = 8;
    let new: Vec<NewTask> = (0..TASKS).map(|_| task("a")).collect();
    let added = stage.store.enqueue(&new).await;
    let added: BTreeSet<_> = added.iter().flatten().map(|added| added.id()).collect();
    assert_eq!(added.len(), TASKS);
    let mut workers = Vec::new();
    for worker in 0..WORKERS {
        let store = stage.fixture.store().await;
        workers.push(tokio::spawn(async move {
            let mut got = Vec::new();
            let began = Instant::now();
            loop {
                let claim = claim(LONG).max(1 + worker % 4);
                match store.claim(&claim).await {
                    Ok(claimed) if claimed.tasks.is_empty() => return got,
                    Ok(claimed) => got.extend(claimed.tasks.into_iter().map(|task| task.key.id)),
                    Err(error) if error.kind() == ErrorKind::NotApplied => {
                        in_time(began.elapsed() < PATIENCE, format_args!("{error:?}"));
                    }
                    Err(error) => panic!("{error:?}"),
                }
            }
        }));
    }
    let mut got = Vec::new();
    for worker in workers {
        got.extend(joined(worker.await));
    }
    assert_eq!(
        got.len(),
        TASKS,
        "a task was given out twice, or never (I1)"
    );
    assert_eq!(got.into_iter().collect::<BTreeSet<_>>(), added);
}

/// A lease expires, not before its time, and the next token is larger.
pub(crate) async fn expired_claim_goes_to_another_worker_and_its_own_is_lost(stage: Stage) {
    let id = stage.add(task("a")).await;
    let asked = Instant::now();
    let first = stage.take(stage.short).await;
    let none = stage.claimed(&claim(LONG)).await;
    stage.lasts(asked);
    assert!(
        none.tasks.is_empty() && none.next <= Some(stage.short),
        "{none:?}"
    );
    assert!(
        none.next.is_some(),
        "the claim does not say when the lease ends"
    );
    let second = stage.eventually(LONG).await;
    assert!(
        asked.elapsed() >= stage.short,
        "given out before the lease was over (I1)"
    );
    assert_eq!((second.key.id, second.attempt), (id, 2));
    assert!(second.key.token > first.key.token, "(I3)");
    stage.is_lost(first.key, 1).await;
    assert_eq!(
        stage.complete(first.key).await,
        Ended::Lost(Some(State::Running))
    );
    let released = stage.store.claims().release(&release(first.key)).await;
    assert!(
        matches!(released, Ok(ReleaseOutcome::NotHeld(_))),
        "{released:?}"
    );
    let errors = stage.task(id).await.errors;
    assert!(errors.len() == 1 && errors[0].attempt == 1, "{errors:?}");
    assert!(errors[0].error.contains("\"worker\""), "{errors:?}");
    assert_eq!(
        stage.complete(second.key).await,
        Ended::Own(State::Succeeded)
    );
}

/// A2.
pub(crate) async fn repeated_claim_answers_what_it_holds(stage: Stage) {
    for _ in 0..3 {
        stage.add(task("a")).await;
    }
    let claim = claim(LONG).max(2);
    let first = stage.claimed(&claim).await;
    assert_eq!(first.tasks.len(), 2);
    let left = stage.remaining(&first).await;
    sleep(stage.short / 20).await;
    let again = stage.claimed(&claim.clone().repeated()).await;
    assert!(
        stage.remaining(&first).await < left,
        "a repeat extends no lease"
    );
    assert_eq!(
        again.tasks, first.tasks,
        "no other task, and no other token"
    );
    let more = stage.claimed(&claim.repeated().max(3)).await;
    assert_eq!(more.tasks.len(), 3);
    assert_eq!(more.tasks[..2], first.tasks);
}

/// A3.
pub(crate) async fn identity_that_is_used_up_claims_nothing_twice(stage: Stage) {
    let id = stage.add(task("a")).await;
    let mine = claim(stage.short);
    let claimed = stage.claimed(&mine).await;
    assert_eq!(claimed.tasks.len(), 1);
    stage.becomes(id, State::Stalled).await;
    for again in [mine.clone(), mine.clone().repeated()] {
        assert!(
            stage.claimed(&again).await.tasks.is_empty(),
            "a second term of one identity (I1)"
        );
    }
    let other = stage.take(LONG).await;
    assert_eq!(
        stage.finish(other.key, How::GiveBack).await,
        Ended::Own(State::Ready)
    );
    assert_eq!(
        stage.claimed(&mine).await.tasks.len(),
        1,
        "another's term was the last"
    );
}

/// The identity alone does not distinguish two terms.
pub(crate) async fn late_copy_of_a_claim_is_told_apart_by_its_token(stage: Stage) {
    stage.add(task("a")).await;
    let mine = claim(LONG);
    let first = stage.claimed(&mine).await.tasks.remove(0).key;
    assert_eq!(
        stage.finish(first, How::GiveBack).await,
        Ended::Own(State::Ready)
    );
    let other = stage.take(LONG).await.key;
    assert_eq!(
        stage.finish(other, How::GiveBack).await,
        Ended::Own(State::Ready)
    );
    // A copy of the first claim arrives now.
    let late = stage.claimed(&mine).await.tasks.remove(0).key;
    assert_eq!(late.uuid, first.uuid);
    assert!(late.token > first.token, "(I3)");
    assert_eq!(
        stage.complete(first).await,
        Ended::Lost(Some(State::Running))
    );
    stage.is_lost(first, 1).await;
    let record = stage.store.claims().read(&name(first)).await;
    assert!(
        matches!(record, Ok(None)),
        "that of the newest claim: {record:?}"
    );
    assert_eq!(stage.complete(late).await, Ended::Own(State::Succeeded));
    assert_eq!(
        stage.complete(first).await,
        Ended::Lost(Some(State::Succeeded))
    );
}

/// A poison task is not attempted forever.
pub(crate) async fn worker_that_dies_in_the_last_attempt_leaves_a_dead_task(stage: Stage) {
    let id = stage
        .add(NewTask::builder().kind("a").max_attempts(1).build())
        .await;
    stage.take(stage.short).await;
    stage.is_made(id, State::Dead).await;
    let errors = stage.task(id).await.errors;
    assert!(
        errors.len() == 1 && errors[0].error.contains("ran out"),
        "{errors:?}"
    );
}

/// So that a worker can keep others away from a task that may have killed the workers before it.
pub(crate) async fn claim_says_how_often_in_a_row_its_task_was_lost(stage: Stage) {
    let id = stage.add(task("a")).await;
    assert_eq!(stage.take(stage.short).await.lost, 0);
    assert_eq!(stage.eventually(stage.short).await.lost, 1);
    stage.becomes(id, State::Stalled).await;
    let mine = claim(LONG);
    let got = stage.claimed(&mine).await.tasks;
    assert_eq!((got[0].attempt, got[0].lost), (3, 2));
    let again = stage.claimed(&mine.repeated()).await.tasks;
    assert_eq!(again, got);
    stage.finish(got[0].key, How::GiveBack).await;
    let task = stage.take(LONG).await;
    assert_eq!((task.attempt, task.lost), (3, 2), "it did not run");
    let fail = How::Fail {
        error: "no".to_owned(),
        retry_in: Duration::ZERO,
    };
    stage.finish(task.key, fail).await;
    let task = stage.eventually(stage.short).await;
    assert_eq!(
        (task.attempt, task.lost),
        (4, 0),
        "its handler has answered"
    );
    let task = stage.eventually(LONG).await;
    assert_eq!((task.attempt, task.lost), (5, 1));
    stage.finish(task.key, How::Snooze(Duration::ZERO)).await;
    let task = stage.eventually(LONG).await;
    assert_eq!(
        (task.attempt, task.lost),
        (5, 0),
        "its handler has answered"
    );
}

pub(crate) async fn priorities_and_ages_decide_the_order(stage: Stage) {
    let mut expected = Vec::new();
    for priority in [9, 5, 0, 5, 0] {
        let new = NewTask::builder().kind("a").priority(priority).build();
        expected.push((priority, stage.add(new).await));
    }
    expected.sort_unstable();
    let got = stage.claimed(&claim(LONG).max(10)).await.tasks;
    let got: Vec<_> = got.into_iter().map(|task| task.key.id).collect();
    let expected: Vec<_> = expected.into_iter().map(|(_, id)| id).collect();
    assert_eq!(got, expected);
}

pub(crate) async fn task_of_later_is_not_given_out_before(stage: Stage) {
    let began = Instant::now();
    let later = NewTask::builder()
        .kind("a")
        .priority(0)
        .when(When::In(stage.short))
        .build();
    let id = stage.add(later).await;
    let much_later = NewTask::builder().kind("a").when(When::In(LONG)).build();
    stage.add(much_later).await;
    let claimed = stage.claimed(&claim(LONG)).await;
    let state = stage.state(id).await;
    stage.lasts(began);
    assert_eq!((claimed.tasks, state), (Vec::new(), State::Scheduled));
    let next = claimed.next.unwrap_or_else(|| panic!("nothing is to come"));
    assert!(next <= stage.short, "{next:?}");
    assert_eq!(stage.eventually(LONG).await.key.id, id);
    assert!(began.elapsed() >= stage.short, "before its time");
    let past = std::time::SystemTime::UNIX_EPOCH;
    let old = stage
        .add(NewTask::builder().kind("a").when(When::At(past)).build())
        .await;
    assert_eq!(stage.take(LONG).await.key.id, old);
}

pub(crate) async fn queues_are_claimed_in_their_order(stage: Stage) {
    for queue in ["b", "a", "c"] {
        stage
            .add(NewTask::builder().kind("x").queue(queue).build())
            .await;
    }
    let claim = Claim::new("a", Uuid::new_v4(), LONG)
        .queues(["a", "b"])
        .max(5);
    let got = stage.claimed(&claim).await.tasks;
    let got: Vec<_> = got.into_iter().map(|task| task.queue).collect();
    assert_eq!(got, ["a", "b"]);
}

/// A worker gets tasks that it has handlers for; the others wait with all their attempts, even those ahead of its own
/// tasks. A task that no worker will run again ends with any claim.
pub(crate) async fn tasks_of_other_kinds_wait_for_other_workers(stage: Stage) {
    let first = stage.add(task("other")).await;
    let own = stage.add(task("b")).await;
    let some = |lease| claim(lease).kinds(["a", "b"]).max(5);
    let got = stage.claimed(&some(LONG)).await.tasks;
    let ids: Vec<_> = got.iter().map(|task| task.key.id).collect();
    assert_eq!(ids, [own]);
    let none = stage.claimed(&some(LONG)).await;
    assert!(none.tasks.is_empty(), "{none:?}");
    assert_ne!(none.next, Some(Duration::ZERO), "nothing comes by asking");
    assert_eq!(
        (stage.state(first).await, stage.task(first).await.attempt),
        (State::Ready, 0)
    );

    // A claim that was given back does not entitle other workers to the task.
    let other = stage.take(LONG).await;
    assert_eq!(other.key.id, first);
    stage.finish(other.key, How::GiveBack).await;
    assert!(stage.claimed(&some(LONG)).await.tasks.is_empty());
    let other = stage.take(stage.short).await;
    assert_eq!(other.key.id, first);
    stage.cancel(first, false).await;
    let began = Instant::now();
    while stage.state(first).await != State::Cancelled {
        assert!(stage.claimed(&some(LONG)).await.tasks.is_empty());
        in_time(began.elapsed() < PATIENCE, "it is not cancelled");
        sleep(stage.short / 20).await;
    }
}

/// One client's long list would cost the store time, and so every client.
pub(crate) async fn claim_names_some_queues_and_kinds(stage: Stage) {
    let name = |number: usize| number.to_string();
    let queues = |many| claim(LONG).queues((0..many).map(name));
    let kinds = |many| claim(LONG).kinds((0..many).map(name));
    let (most_queues, most_kinds) = (Claim::MAX_QUEUES, Claim::MAX_KINDS);
    for possible in [queues(most_queues), kinds(most_kinds)] {
        assert!(stage.claimed(&possible).await.tasks.is_empty());
    }
    for (wrong, words) in [
        (queues(0), "a claim of 0 queues"),
        (queues(most_queues + 1), "1 to 64 are"),
        (kinds(0), "a claim of 0 kinds"),
        (kinds(most_kinds + 1), "1 to 256 are"),
    ] {
        let error = stage.store.claim(&wrong).await;
        let error = error
            .err()
            .unwrap_or_else(|| panic!("not refused: {words}"));
        assert_eq!(error.kind(), ErrorKind::Fatal);
        assert!(error.to_string().contains(words), "{error}");
    }
}
