//! The cases. Names and comments quote the rules K and E.

#![expect(
    missing_docs,
    clippy::missing_panics_doc,
    reason = "a case panics where it fails, and its name says what must hold"
)]

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use dlock_core::{
    ErrorKind, Provider,
    provider::{Acquire, ReleaseOutcome},
};
use dlock_tasks::{
    Ages, Claim, ClaimKey, Count, Ended, Ending, Enqueued, Filter, How, Kept, NewTask, State,
    TaskStore, When,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::{LONG, PATIENCE, Stage, TaskFixture, claim, name, release, task};

pub async fn completed_task_has_its_output<F: TaskFixture>(stage: Stage<F>) {
    let new = NewTask::builder()
        .kind("resize")
        .payload(json!({"image": 7, "text": "ä\"\\"}))
        .build();
    let id = stage.add(new.clone()).await;
    assert_eq!(stage.state(id).await, State::Ready);
    let claimed = stage.take(LONG).await;
    assert_eq!((claimed.key.id, claimed.kind.as_str()), (id, "resize"));
    assert_eq!((claimed.attempt, claimed.max_attempts), (1, 20));
    assert_eq!(claimed.payload, new.payload);
    let running = stage.task(id).await;
    assert_eq!(running.state, State::Running);
    let holder = running.holder.unwrap_or_else(|| panic!("nobody has it"));
    assert_eq!(
        (holder.owner.as_str(), holder.token),
        ("worker", claimed.key.token)
    );
    assert!(holder.remaining > LONG / 2, "{holder:?}");
    let done = How::Complete(json!([1, null]));
    assert_eq!(
        stage.finish(claimed.key, done).await,
        Ended::Own(State::Succeeded)
    );
    let ended = stage.task(id).await;
    assert_eq!(
        (ended.state, ended.output),
        (State::Succeeded, Some(json!([1, null])))
    );
    assert!(ended.ended_at >= Some(ended.enqueued_at) && ended.holder.is_none());
    stage.nothing().await;
}

/// E3, and K5: by identity and token, both.
pub async fn completion_by_another_claim_is_lost<F: TaskFixture>(stage: Stage<F>) {
    let id = stage.add(task("a")).await;
    let key = stage.take(LONG).await.key;
    let other_token = ClaimKey::new(id, key.uuid, next(key.token));
    let other_uuid = ClaimKey::new(id, Uuid::new_v4(), key.token);
    for other in [other_token, other_uuid] {
        for how in [
            How::Complete(Value::Null),
            How::Discard {
                error: String::new(),
            },
            How::GiveBack,
        ] {
            assert_eq!(
                stage.finish(other, how).await,
                Ended::Lost(Some(State::Running))
            );
        }
        stage.is_lost(other, 1).await;
        let released = stage.store.claims().release(&release(other)).await;
        assert!(
            matches!(released, Ok(ReleaseOutcome::NotHeld(_))),
            "{released:?}"
        );
    }
    assert!(!stage.is_asked(key, 1).await);
    assert_eq!(stage.complete(key).await, Ended::Own(State::Succeeded));
    assert_eq!(
        stage.complete(other_token).await,
        Ended::Lost(Some(State::Succeeded))
    );
}

pub async fn two_claims_get_different_tasks<F: TaskFixture>(stage: Stage<F>) {
    let first = stage.add(task("a")).await;
    let second = stage.add(task("b")).await;
    let (one, other) = (stage.take(LONG).await, stage.take(LONG).await);
    assert_eq!((one.key.id, other.key.id), (first, second));
    stage.nothing().await;
}

/// K3: as many as there are, each once, whoever asks at the same time.
pub async fn many_workers_get_every_task_once<F: TaskFixture>(stage: Stage<F>) {
    const TASKS: usize = 200;
    const WORKERS: usize = 8;
    let new: Vec<NewTask> = (0..TASKS).map(|_| task("a")).collect();
    let added = stage.store.enqueue(&new).await;
    let added: BTreeSet<_> = added.iter().flatten().map(|added| added.id()).collect();
    assert_eq!(added.len(), TASKS);
    let mut workers = Vec::new();
    for worker in 0..WORKERS {
        let store = Arc::new(stage.fixture.store().await);
        workers.push(tokio::spawn(async move {
            let mut got = Vec::new();
            let began = Instant::now();
            loop {
                let claim = claim(LONG).max(1 + worker % 4);
                match store.claim(&claim).await {
                    Ok(claimed) if claimed.tasks.is_empty() => return got,
                    Ok(claimed) => got.extend(claimed.tasks.into_iter().map(|task| task.key.id)),
                    Err(error) if error.kind() == ErrorKind::NotApplied => {
                        assert!(began.elapsed() < PATIENCE, "{error:?}");
                    }
                    Err(error) => panic!("{error:?}"),
                }
            }
        }));
    }
    let mut got = Vec::new();
    for worker in workers {
        got.extend(worker.await.unwrap_or_else(|error| panic!("{error}")));
    }
    assert_eq!(
        got.len(),
        TASKS,
        "a task was given out twice, or never (I1)"
    );
    assert_eq!(got.into_iter().collect::<BTreeSet<_>>(), added);
}

/// K1: a lease ends by itself, not before, and the next token is larger. 004-1.
pub async fn expired_claim_goes_to_another_worker_and_its_own_is_lost<F: TaskFixture>(
    stage: Stage<F>,
) {
    let id = stage.add(task("a")).await;
    let asked = Instant::now();
    let first = stage.take(stage.short).await;
    let none = stage.claimed(&claim(LONG)).await;
    assert!(
        none.tasks.is_empty() && none.next <= Some(stage.short),
        "{none:?}"
    );
    assert!(none.next.is_some(), "nobody is told when its lease ends");
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

/// E1.
pub async fn expired_claim_that_nobody_took_can_still_be_completed<F: TaskFixture>(
    stage: Stage<F>,
) {
    let id = stage.add(task("a")).await;
    let key = stage.take(stage.short).await.key;
    let began = Instant::now();
    while stage.state(id).await != State::Stalled {
        assert!(began.elapsed() < PATIENCE, "its lease does not end");
        sleep(stage.short / 20).await;
    }
    stage.is_lost(key, 1).await;
    assert_eq!(stage.complete(key).await, Ended::Own(State::Succeeded));
}

/// R1, R2.
pub async fn heartbeats_keep_a_task_and_overtaken_ones_change_nothing<F: TaskFixture>(
    stage: Stage<F>,
) {
    let lease = 5 * stage.short;
    stage.add(task("a")).await;
    let key = stage.take(lease).await.key;
    let began = Instant::now();
    let mut n = 0;
    while began.elapsed() < 2 * lease {
        n += 1;
        assert!(!stage.is_asked(key, n).await);
        stage.nothing().await;
        sleep(lease / 10).await;
    }
    // A copy of the newest, and an older one: successes that extend nothing.
    let mut left = lease;
    for copy in [n, 1, n] {
        assert!(!stage.is_asked(key, copy).await);
        let holder = stage.task(key.id).await.holder;
        let remaining = holder.map_or(lease, |holder| holder.remaining);
        assert!(
            remaining < left,
            "extended by a copy: {remaining:?} after {left:?}"
        );
        left = remaining;
        sleep(lease / 50).await;
    }
    stage.eventually(LONG).await;
}

/// A2.
pub async fn repeated_claim_answers_what_it_holds<F: TaskFixture>(stage: Stage<F>) {
    for _ in 0..3 {
        stage.add(task("a")).await;
    }
    let claim = claim(LONG).max(2);
    let first = stage.claimed(&claim).await;
    assert_eq!(first.tasks.len(), 2);
    let again = stage.claimed(&claim.clone().repeated()).await;
    assert_eq!(
        again.tasks, first.tasks,
        "no other task, and no other token"
    );
    let more = stage.claimed(&claim.repeated().max(3)).await;
    assert_eq!(more.tasks.len(), 3);
    assert_eq!(more.tasks[..2], first.tasks);
}

/// A3.
pub async fn identity_that_is_used_up_claims_nothing_twice<F: TaskFixture>(stage: Stage<F>) {
    let id = stage.add(task("a")).await;
    let mine = claim(stage.short);
    let claimed = stage.claimed(&mine).await;
    assert_eq!(claimed.tasks.len(), 1);
    let began = Instant::now();
    while stage.state(id).await != State::Stalled {
        assert!(began.elapsed() < PATIENCE, "its lease does not end");
        sleep(stage.short / 20).await;
    }
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

/// K5: the identity alone does not tell two terms apart.
pub async fn late_copy_of_a_claim_is_told_apart_by_its_token<F: TaskFixture>(stage: Stage<F>) {
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
    assert_eq!(stage.complete(late).await, Ended::Own(State::Succeeded));
    assert_eq!(
        stage.complete(first).await,
        Ended::Lost(Some(State::Succeeded))
    );
}

/// K9.
pub async fn failed_task_comes_again_and_dies_after_its_last_attempt<F: TaskFixture>(
    stage: Stage<F>,
) {
    let id = stage
        .add(NewTask::builder().kind("a").max_attempts(2).build())
        .await;
    let failed = |error: &str, retry_in| How::Fail {
        error: error.to_owned(),
        retry_in,
    };
    let first = stage.take(LONG).await;
    let asked = Instant::now();
    assert_eq!(
        stage
            .finish(first.key, failed("no disk", stage.short))
            .await,
        Ended::Own(State::Scheduled)
    );
    stage.nothing().await;
    let second = stage.eventually(LONG).await;
    assert!(asked.elapsed() >= stage.short, "before its time");
    assert_eq!((second.attempt, second.max_attempts), (2, 2));
    assert_eq!(
        stage
            .finish(second.key, failed("no net", stage.short))
            .await,
        Ended::Own(State::Dead)
    );
    let dead = stage.task(id).await;
    let errors: Vec<_> = dead
        .errors
        .iter()
        .map(|one| (one.attempt, one.error.as_str()))
        .collect();
    assert_eq!(
        (dead.state, errors),
        (State::Dead, vec![(1, "no disk"), (2, "no net")])
    );
    stage.nothing().await;
}

/// E1, E2. 004-3.
pub async fn repeated_ending_answers_as_the_first<F: TaskFixture>(stage: Stage<F>) {
    let fail = How::Fail {
        error: "x".to_owned(),
        retry_in: LONG,
    };
    let discard = How::Discard {
        error: "x".to_owned(),
    };
    for (how, state) in [
        (How::Complete(json!(1)), State::Succeeded),
        (fail, State::Scheduled),
        (discard, State::Dead),
        (How::GiveBack, State::Ready),
        (How::Snooze(LONG), State::Scheduled),
    ] {
        let id = stage.add(task("a")).await;
        let key = stage.take(LONG).await.key;
        assert_eq!(
            stage.finish(key, how.clone()).await,
            Ended::Own(state),
            "{how:?}"
        );
        let before = stage.task(id).await;
        assert_eq!(
            stage.finish(key, how.clone()).await,
            Ended::Own(state),
            "{how:?} once more"
        );
        // Another ending of the same claim changes nothing either.
        assert_eq!(
            stage.finish(key, How::Complete(json!(2))).await,
            Ended::Own(state),
            "completed after {how:?}"
        );
        assert_eq!(stage.task(id).await, before, "{how:?}");
        stage.cancel(id, true).await;
    }
}

pub async fn discarded_task_is_dead_at_once<F: TaskFixture>(stage: Stage<F>) {
    let id = stage.add(task("a")).await;
    let key = stage.take(LONG).await.key;
    let how = How::Discard {
        error: "ä".repeat(5000),
    };
    assert_eq!(stage.finish(key, how).await, Ended::Own(State::Dead));
    let task = stage.task(id).await;
    assert_eq!(task.errors.len(), 1);
    assert_eq!(
        task.errors[0].error,
        "ä".repeat(1024),
        "cut between two letters"
    );
}

pub async fn given_back_and_snoozed_attempts_do_not_count<F: TaskFixture>(stage: Stage<F>) {
    stage
        .add(NewTask::builder().kind("a").max_attempts(1).build())
        .await;
    for _ in 0..3 {
        let given = stage.eventually(LONG).await;
        assert_eq!(given.attempt, 1);
        assert_eq!(
            stage.finish(given.key, How::GiveBack).await,
            Ended::Own(State::Ready)
        );
        let snoozed = stage.take(LONG).await;
        assert_eq!(snoozed.attempt, 1);
        let ended = stage.finish(snoozed.key, How::Snooze(stage.short)).await;
        assert_eq!(ended, Ended::Own(State::Scheduled));
        stage.nothing().await;
    }
}

/// K4: no poison task is tried for ever.
pub async fn worker_that_dies_in_the_last_attempt_leaves_a_dead_task<F: TaskFixture>(
    stage: Stage<F>,
) {
    let id = stage
        .add(NewTask::builder().kind("a").max_attempts(1).build())
        .await;
    stage.take(stage.short).await;
    let began = Instant::now();
    while stage.state(id).await != State::Dead {
        stage.nothing().await;
        assert!(began.elapsed() < PATIENCE, "it is not dead");
        sleep(stage.short / 20).await;
    }
    let errors = stage.task(id).await.errors;
    assert!(
        errors.len() == 1 && errors[0].error.contains("ran out"),
        "{errors:?}"
    );
}

pub async fn priorities_and_ages_decide_the_order<F: TaskFixture>(stage: Stage<F>) {
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

pub async fn task_of_later_is_not_given_out_before<F: TaskFixture>(stage: Stage<F>) {
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
    assert!(claimed.tasks.is_empty());
    let next = claimed.next.unwrap_or_else(|| panic!("nothing is to come"));
    assert!(next <= stage.short, "{next:?}");
    assert_eq!(stage.state(id).await, State::Scheduled);
    assert_eq!(stage.eventually(LONG).await.key.id, id);
    assert!(began.elapsed() >= stage.short, "before its time");
    let past = std::time::SystemTime::UNIX_EPOCH;
    let old = stage
        .add(NewTask::builder().kind("a").when(When::At(past)).build())
        .await;
    assert_eq!(stage.take(LONG).await.key.id, old);
}

pub async fn queues_are_claimed_in_their_order<F: TaskFixture>(stage: Stage<F>) {
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

/// K9.
pub async fn key_is_used_once_at_a_time<F: TaskFixture>(stage: Stage<F>) {
    let keyed = |queue: &str| {
        NewTask::builder()
            .kind("a")
            .queue(queue)
            .key("image 7")
            .build()
    };
    let id = stage.add(keyed("default")).await;
    let both = [keyed("default"), keyed("other")];
    let added = stage
        .store
        .enqueue(&both)
        .await
        .unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(added[0], Enqueued::Duplicate(id));
    assert!(
        matches!(added[1], Enqueued::New(_)),
        "keys are of their queue: {added:?}"
    );
    let claimed = stage.take(LONG).await;
    let again = stage.store.enqueue(&[keyed("default")]).await;
    assert_eq!(
        again.ok(),
        Some(vec![Enqueued::Duplicate(id)]),
        "while it runs"
    );
    stage.complete(claimed.key).await;
    let next = stage.add(keyed("default")).await;
    assert!(
        next > id,
        "free when it has ended, and no number is used twice"
    );
    // What the two change may be one thing, whose fence has seen the first token.
    let second = stage.take(LONG).await;
    assert!(second.key.token > claimed.key.token, "(I3)");
}

pub async fn many_writers_of_one_key_add_one_task<F: TaskFixture>(stage: Stage<F>) {
    let mut writers = Vec::new();
    for _ in 0..8 {
        let store = Arc::new(stage.fixture.store().await);
        for _ in 0..8 {
            let store = Arc::clone(&store);
            writers.push(tokio::spawn(async move {
                let new = NewTask::builder().kind("a").key("one").build();
                store.enqueue(&[new]).await
            }));
        }
    }
    let mut added = Vec::new();
    for writer in writers {
        let writer = writer.await.unwrap_or_else(|error| panic!("{error}"));
        added.extend(writer.unwrap_or_else(|error| panic!("{error:?}")));
    }
    let new = added
        .iter()
        .filter(|added| matches!(added, Enqueued::New(_)))
        .count();
    let ids: BTreeSet<_> = added.iter().map(|added| added.id()).collect();
    assert_eq!((added.len(), new, ids.len()), (64, 1, 1));
}

pub async fn waiting_task_is_cancelled_at_once<F: TaskFixture>(stage: Stage<F>) {
    let ready = stage.add(task("a")).await;
    let later = NewTask::builder().kind("a").when(When::In(LONG)).build();
    let scheduled = stage.add(later).await;
    assert_eq!(stage.cancel(ready, false).await, Some(State::Ready));
    assert_eq!(stage.cancel(scheduled, false).await, Some(State::Scheduled));
    for id in [ready, scheduled] {
        assert_eq!(stage.state(id).await, State::Cancelled);
        assert_eq!(
            stage.cancel(id, true).await,
            Some(State::Cancelled),
            "once more"
        );
    }
    stage.nothing().await;
}

/// B3: the next heartbeat tells, and no later attempt comes.
pub async fn running_task_is_asked_to_stop<F: TaskFixture>(stage: Stage<F>) {
    for how in [
        How::GiveBack,
        How::Snooze(stage.short),
        How::Fail {
            error: "stopped".to_owned(),
            retry_in: Duration::ZERO,
        },
    ] {
        let id = stage.add(task("a")).await;
        let key = stage.take(LONG).await.key;
        assert!(!stage.is_asked(key, 1).await);
        assert_eq!(stage.cancel(id, false).await, Some(State::Running));
        assert_eq!(stage.state(id).await, State::Running);
        assert!(stage.is_asked(key, 1).await && stage.is_asked(key, 2).await);
        assert_eq!(
            stage.finish(key, how.clone()).await,
            Ended::Own(State::Cancelled),
            "{how:?}"
        );
        assert_eq!(stage.state(id).await, State::Cancelled);
        stage.nothing().await;
    }
    let id = stage.add(task("a")).await;
    let key = stage.take(LONG).await.key;
    stage.cancel(id, false).await;
    let released = stage.store.claims().release(&release(key)).await;
    assert!(
        matches!(released, Ok(ReleaseOutcome::Released)),
        "{released:?}"
    );
    assert_eq!(stage.state(id).await, State::Cancelled);
}

pub async fn asked_task_can_still_be_completed<F: TaskFixture>(stage: Stage<F>) {
    let id = stage.add(task("a")).await;
    let key = stage.take(LONG).await.key;
    stage.cancel(id, false).await;
    assert_eq!(stage.complete(key).await, Ended::Own(State::Succeeded));
}

pub async fn asked_task_whose_worker_dies_is_cancelled<F: TaskFixture>(stage: Stage<F>) {
    let id = stage.add(task("a")).await;
    stage.take(stage.short).await;
    stage.cancel(id, false).await;
    let began = Instant::now();
    while stage.state(id).await != State::Cancelled {
        stage.nothing().await;
        assert!(began.elapsed() < PATIENCE, "it is not cancelled");
        sleep(stage.short / 20).await;
    }
}

pub async fn cancelled_by_force_is_lost_to_its_worker<F: TaskFixture>(stage: Stage<F>) {
    let id = stage.add(task("a")).await;
    let key = stage.take(LONG).await.key;
    assert_eq!(stage.cancel(id, true).await, Some(State::Running));
    assert_eq!(stage.state(id).await, State::Cancelled);
    stage.is_lost(key, 1).await;
    assert_eq!(
        stage.complete(key).await,
        Ended::Lost(Some(State::Cancelled))
    );
    assert_eq!(stage.state(id).await, State::Cancelled);
}

/// T1 across a retry: storage that has seen the old token admits the new one.
pub async fn retried_task_begins_anew_with_a_larger_token<F: TaskFixture>(stage: Stage<F>) {
    let id = stage
        .add(NewTask::builder().kind("a").key("k").build())
        .await;
    let key = stage.take(LONG).await.key;
    assert_eq!(
        stage.store.retry(id).await.ok(),
        Some(None),
        "it has not ended"
    );
    stage
        .finish(
            key,
            How::Discard {
                error: "x".to_owned(),
            },
        )
        .await;
    assert_eq!(
        stage.store.retry(id).await.ok(),
        Some(Some(Enqueued::New(id)))
    );
    assert_eq!(
        stage.store.retry(id).await.ok(),
        Some(None),
        "it is retried already"
    );
    assert_eq!(
        stage.complete(key).await,
        Ended::Lost(Some(State::Ready)),
        "a claim of before"
    );
    let again = stage.take(LONG).await;
    assert_eq!((again.key.id, again.attempt), (id, 1));
    assert!(again.key.token > key.token, "(I3)");
    stage
        .finish(
            again.key,
            How::Discard {
                error: "y".to_owned(),
            },
        )
        .await;
    // Meanwhile another task has its key.
    let other = stage
        .add(NewTask::builder().kind("a").key("k").build())
        .await;
    assert_eq!(
        stage.store.retry(id).await.ok(),
        Some(Some(Enqueued::Duplicate(other)))
    );
    assert_eq!(stage.state(id).await, State::Dead);
}

pub async fn retried_success_is_a_copy<F: TaskFixture>(stage: Stage<F>) {
    let new = NewTask::builder().kind("a").payload(json!(7)).build();
    let id = stage.add(new).await;
    let key = stage.take(LONG).await.key;
    stage.complete(key).await;
    let copy = match stage.store.retry(id).await {
        Ok(Some(Enqueued::New(copy))) => copy,
        other => panic!("{other:?}"),
    };
    assert!(copy > id);
    assert_eq!(stage.state(id).await, State::Succeeded);
    let again = stage.take(LONG).await;
    assert_eq!((again.key.id, again.payload), (copy, json!(7)));
}

pub async fn checkpoint_reaches_the_next_attempt<F: TaskFixture>(stage: Stage<F>) {
    stage.add(task("a")).await;
    let first = stage.take(LONG).await;
    assert_eq!(first.checkpoint, None);
    for (number, value, seen) in [(1, "a", "a"), (3, "c", "c"), (2, "b", "c"), (3, "d", "c")] {
        let kept = stage
            .store
            .checkpoint(&first.key, number, &json!(value))
            .await;
        assert_eq!(kept.ok(), Some(Kept::Kept));
        assert_eq!(stage.task(first.key.id).await.checkpoint, Some(json!(seen)));
    }
    stage.finish(first.key, How::GiveBack).await;
    let second = stage.take(LONG).await;
    assert_eq!(second.checkpoint, Some(json!("c")));
    // Numbers are of a claim.
    let kept = stage.store.checkpoint(&second.key, 1, &json!("e")).await;
    assert_eq!(kept.ok(), Some(Kept::Kept));
    assert_eq!(stage.task(first.key.id).await.checkpoint, Some(json!("e")));
}

pub async fn checkpoint_of_a_claim_that_is_over_is_lost<F: TaskFixture>(stage: Stage<F>) {
    let id = stage.add(task("a")).await;
    let key = stage.take(stage.short).await.key;
    let second = stage.eventually(LONG).await.key;
    let lost = |state| Some(Kept::Lost(state));
    let late = stage.store.checkpoint(&key, 9, &json!("late")).await;
    assert_eq!(late.ok(), lost(Some(State::Running)));
    assert_eq!(stage.task(id).await.checkpoint, None);
    stage.complete(second).await;
    let late = stage.store.checkpoint(&second, 1, &json!("late")).await;
    assert_eq!(late.ok(), lost(Some(State::Succeeded)));
}

/// L1, L2.
pub async fn release_of_a_claim_gives_the_task_back<F: TaskFixture>(stage: Stage<F>) {
    stage.add(task("a")).await;
    let key = stage.take(LONG).await.key;
    for _ in 0..2 {
        let released = stage.store.claims().release(&release(key)).await;
        assert!(
            matches!(released, Ok(ReleaseOutcome::Released)),
            "{released:?}"
        );
    }
    let again = stage.take(LONG).await;
    assert_eq!(again.attempt, 1, "uncounted");
    let late = stage.store.claims().release(&release(key)).await;
    assert!(
        matches!(late, Ok(ReleaseOutcome::NotHeld(Some(_)))),
        "{late:?}"
    );
    assert!(!stage.is_asked(again.key, 1).await);
}

pub async fn what_cannot_be_kept_is_refused_as_a_whole<F: TaskFixture>(stage: Stage<F>) {
    let bad = [
        task(""),
        task("a\0"),
        NewTask::builder().kind("a").queue("").build(),
        NewTask::builder().kind("a").queue("q".repeat(129)).build(),
        NewTask::builder().kind("a").priority(10).build(),
        NewTask::builder().kind("a").key("").build(),
        NewTask::builder().kind("a").max_attempts(0).build(),
        NewTask::builder()
            .kind("a")
            .payload(json!("x".repeat(NewTask::MAX_PAYLOAD)))
            .build(),
        NewTask::builder().kind("a").payload(json!("\0")).build(),
    ];
    for bad in bad {
        let refused = stage.store.enqueue(&[task("good"), bad.clone()]).await;
        let kind = refused.map_err(|error| error.kind());
        assert_eq!(kind, Err(ErrorKind::Fatal), "{bad:?}");
    }
    stage.nothing().await;
    let largest = json!("x".repeat(NewTask::MAX_PAYLOAD - 2));
    let id = stage
        .add(
            NewTask::builder()
                .kind("a")
                .payload(largest.clone())
                .build(),
        )
        .await;
    for bad in [
        Claim::new("default", Uuid::new_v4(), Duration::from_millis(99)),
        Claim::new("default", Uuid::new_v4(), LONG).max(0),
        Claim::new("", Uuid::new_v4(), LONG),
        Claim::new("default", Uuid::new_v4(), LONG).queues(Vec::<String>::new()),
        Claim::new("default", Uuid::new_v4(), LONG).owner("x".repeat(10_000)),
    ] {
        let refused = stage.store.claim(&bad).await.map_err(|error| error.kind());
        assert_eq!(refused.err(), Some(ErrorKind::Fatal), "{bad:?}");
    }
    let claimed = stage.take(LONG).await;
    assert_eq!((claimed.key.id, claimed.payload), (id, largest));
    let large = json!("x".repeat(NewTask::MAX_CHECKPOINT));
    let kept = stage.store.checkpoint(&claimed.key, 1, &large).await;
    assert_eq!(kept.map_err(|error| error.kind()), Err(ErrorKind::Fatal));
    let output = How::Complete(json!("x".repeat(NewTask::MAX_PAYLOAD)));
    let ended = stage
        .store
        .finish(&[Ending::new(claimed.key, output)])
        .await;
    assert_eq!(ended.map_err(|error| error.kind()), Err(ErrorKind::Fatal));
    assert_eq!(stage.state(id).await, State::Running, "nothing was changed");
}

pub async fn counts_and_lists_tell_the_states<F: TaskFixture>(stage: Stage<F>) {
    let running = stage.add(task("a")).await;
    stage.take(LONG).await;
    let dead = stage.add(task("a")).await;
    let key = stage.take(LONG).await.key;
    stage
        .finish(
            key,
            How::Discard {
                error: "x".to_owned(),
            },
        )
        .await;
    let cancelled = stage.add(task("a")).await;
    stage.cancel(cancelled, false).await;
    let stalled = stage.add(task("a")).await;
    stage.take(stage.short).await;
    let began = Instant::now();
    while stage.state(stalled).await != State::Stalled {
        assert!(began.elapsed() < PATIENCE, "its lease does not end");
        sleep(stage.short / 20).await;
    }
    let ready = [stage.add(task("a")).await, stage.add(task("a")).await];
    let later = NewTask::builder()
        .kind("a")
        .queue("b")
        .when(When::In(LONG))
        .build();
    let scheduled = stage.add(later).await;
    let counts = stage
        .store
        .counts()
        .await
        .unwrap_or_else(|error| panic!("{error:?}"));
    let count = |queue: &str, state, tasks| Count::new(queue.to_owned(), state, tasks);
    let expected = [
        count("b", State::Scheduled, 1),
        count("default", State::Ready, 2),
        count("default", State::Running, 1),
        count("default", State::Stalled, 1),
        count("default", State::Dead, 1),
        count("default", State::Cancelled, 1),
    ];
    assert_eq!(
        counts.iter().collect::<BTreeSet<_>>(),
        expected.iter().collect()
    );
    let listed = async |filter: Filter| {
        let tasks = stage
            .store
            .list(&filter)
            .await
            .unwrap_or_else(|error| panic!("{error:?}"));
        tasks.into_iter().map(|task| task.id).collect::<Vec<_>>()
    };
    let all = [
        running, dead, cancelled, stalled, ready[0], ready[1], scheduled,
    ];
    let every = Filter::default;
    assert_eq!(listed(every()).await, all);
    let page = every().after(Some(dead)).limit(2);
    assert_eq!(listed(page).await, [cancelled, stalled]);
    let other = every().queue(Some("b".to_owned()));
    assert_eq!(listed(other).await, [scheduled]);
    for (state, ids) in [
        (State::Running, &[running][..]),
        (State::Dead, &[dead]),
        (State::Cancelled, &[cancelled]),
        (State::Stalled, &[stalled]),
        (State::Ready, &ready),
        (State::Succeeded, &[]),
    ] {
        assert_eq!(listed(every().state(Some(state))).await, ids, "{state}");
    }
}

pub async fn ended_tasks_are_forgotten_by_age<F: TaskFixture>(stage: Stage<F>) {
    let mut ids = Vec::new();
    for number in 0..4 {
        ids.push(stage.add(task("a")).await);
        let key = stage.take(LONG).await.key;
        if number % 2 == 0 {
            stage.complete(key).await;
        } else {
            stage
                .finish(
                    key,
                    How::Discard {
                        error: "x".to_owned(),
                    },
                )
                .await;
        }
    }
    let waiting = stage.add(task("a")).await;
    let prune = async |ages, most| stage.store.prune(ages, most).await.ok();
    assert_eq!(prune(Ages::default(), 10).await, Some(0));
    assert_eq!(prune(Ages::new(LONG, LONG), 10).await, Some(0));
    assert_eq!(prune(Ages::new(Duration::ZERO, LONG), 1).await, Some(1));
    assert_eq!(prune(Ages::new(Duration::ZERO, LONG), 10).await, Some(1));
    assert_eq!(stage.store.task(ids[0]).await.ok(), Some(None));
    assert_eq!(stage.state(ids[1]).await, State::Dead);
    assert_eq!(
        prune(Ages::new(Duration::ZERO, Duration::ZERO), 10).await,
        Some(2)
    );
    assert_eq!(stage.state(waiting).await, State::Ready, "it has not ended");
}

pub async fn claims_cannot_be_acquired<F: TaskFixture>(stage: Stage<F>) {
    stage.add(task("a")).await;
    let key = stage.take(LONG).await.key;
    let claims = stage.store.claims();
    let acquired = claims
        .acquire(&Acquire::new(name(key), Uuid::new_v4(), LONG))
        .await;
    assert_eq!(
        acquired.map_err(|error| error.kind()).err(),
        Some(ErrorKind::Fatal)
    );
    let record = claims.read(&name(key)).await;
    let record = record.unwrap_or_else(|error| panic!("{error:?}"));
    let record = record.unwrap_or_else(|| panic!("no record"));
    assert_eq!((record.uuid, record.token), (key.uuid, key.token));
    assert!(record.remaining > Some(LONG / 2));
}

fn next(token: dlock_core::FencingToken) -> dlock_core::FencingToken {
    let next = dlock_core::FencingToken::new(token.get() + 1);
    next.unwrap_or_else(|| panic!("no token after {token}"))
}
