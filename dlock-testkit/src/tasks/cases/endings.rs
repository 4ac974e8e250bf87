//! How claims end.

use super::*;

/// The lease ends with the task.
pub(crate) async fn completed_task_has_its_output(stage: Stage) {
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
    let holder = running
        .holder
        .unwrap_or_else(|| panic!("the task has no holder"));
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

/// Both identity and token must match. The ending of another claim is not a success.
pub(crate) async fn completion_by_another_claim_is_lost(stage: Stage) {
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

pub(crate) async fn expired_claim_that_nobody_took_can_still_be_completed(stage: Stage) {
    let id = stage.add(task("a")).await;
    let key = stage.take(stage.short).await.key;
    stage.becomes(id, State::Stalled).await;
    stage.is_lost(key, 1).await;
    assert_eq!(stage.complete(key).await, Ended::Own(State::Succeeded));
}

pub(crate) async fn failed_task_comes_again_and_dies_after_its_last_attempt(stage: Stage) {
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
    stage.nothing_for_now(asked).await;
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

pub(crate) async fn repeated_ending_answers_as_the_first(stage: Stage) {
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

/// Whichever worker has taken the task since.
pub(crate) async fn late_repeat_of_an_ending_answers_as_the_first(stage: Stage) {
    let fail = |retry_in| How::Fail {
        error: "x".to_owned(),
        retry_in,
    };
    let moment = Duration::from_millis(1);
    for (how, state) in [
        (fail(moment), State::Scheduled),
        (fail(Duration::ZERO), State::Ready),
        (How::Snooze(moment), State::Scheduled),
        (How::GiveBack, State::Ready),
    ] {
        let id = stage.add(task("a")).await;
        let key = stage.take(LONG).await.key;
        assert_eq!(stage.finish(key, how.clone()).await, Ended::Own(state));
        let next = stage.eventually(LONG).await.key;
        assert_eq!(next.id, id);
        let repeated = stage.finish(key, how.clone()).await;
        assert_eq!(
            repeated,
            Ended::Own(state),
            "another worker has it: {how:?}"
        );
        assert_eq!(stage.complete(next).await, Ended::Own(State::Succeeded));
    }
}

pub(crate) async fn discarded_task_is_dead_at_once(stage: Stage) {
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

pub(crate) async fn given_back_and_snoozed_attempts_do_not_count(stage: Stage) {
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
        let asked = Instant::now();
        let ended = stage.finish(snoozed.key, How::Snooze(stage.short)).await;
        assert_eq!(ended, Ended::Own(State::Scheduled));
        stage.nothing_for_now(asked).await;
    }
}

/// The newest ten.
pub(crate) async fn errors_of_the_newest_attempts_are_kept(stage: Stage) {
    const ATTEMPTS: u32 = 12;
    let new = NewTask::builder().kind("a").max_attempts(ATTEMPTS).build();
    let id = stage.add(new).await;
    for attempt in 1..=ATTEMPTS {
        let key = stage.eventually(LONG).await.key;
        let failed = How::Fail {
            error: attempt.to_string(),
            retry_in: Duration::ZERO,
        };
        stage.finish(key, failed).await;
    }
    let dead = stage.task(id).await;
    let kept: Vec<_> = dead.errors.iter().map(|one| one.attempt).collect();
    assert_eq!(kept, (3..=ATTEMPTS).collect::<Vec<_>>());
    assert_eq!(dead.errors[9].error, "12");
}

/// Each is decided separately.
pub(crate) async fn endings_of_one_call_are_answered_in_their_order(stage: Stage) {
    let mut keys = Vec::new();
    for _ in 0..4 {
        stage.add(task("a")).await;
        keys.push(stage.take(LONG).await.key);
    }
    let complete = |key| Ending::new(key, How::Complete(Value::Null));
    let stranger = ClaimKey::new(keys[1].id, Uuid::new_v4(), keys[1].token);
    let endings = [
        Ending::new(keys[3], How::Snooze(LONG)),
        complete(stranger),
        complete(keys[0]),
        Ending::new(keys[2], How::GiveBack),
        complete(keys[0]),
    ];
    let answers = [
        Ended::Own(State::Scheduled),
        Ended::Lost(Some(State::Running)),
        Ended::Own(State::Succeeded),
        Ended::Own(State::Ready),
        Ended::Own(State::Succeeded),
    ];
    for _ in ["first", "repeat"] {
        let ended = stage.store.finish(&endings).await;
        assert_eq!(ended.ok().as_deref(), Some(&answers[..]));
    }
    assert_eq!(stage.state(keys[1].id).await, State::Running);
    assert_eq!(stage.store.finish(&[]).await.ok(), Some(Vec::new()));
}
