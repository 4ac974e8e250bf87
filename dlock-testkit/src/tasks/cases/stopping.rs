//! Cancelled tasks, and retried tasks.

use super::*;

pub(crate) async fn waiting_task_is_cancelled_at_once(stage: Stage) {
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

/// B3: the next heartbeat reports it, and no later attempt follows.
pub(crate) async fn running_task_is_asked_to_stop(stage: Stage) {
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
        matches!(released, Ok(ReleaseOutcome::Released { .. })),
        "{released:?}"
    );
    assert_eq!(stage.state(id).await, State::Cancelled);
}

pub(crate) async fn asked_task_can_still_be_completed(stage: Stage) {
    let id = stage.add(task("a")).await;
    let key = stage.take(LONG).await.key;
    stage.cancel(id, false).await;
    assert_eq!(stage.complete(key).await, Ended::Own(State::Succeeded));
}

pub(crate) async fn asked_task_whose_worker_dies_is_cancelled(stage: Stage) {
    let id = stage.add(task("a")).await;
    stage.take(stage.short).await;
    stage.cancel(id, false).await;
    stage.is_made(id, State::Cancelled).await;
}

pub(crate) async fn cancelled_by_force_is_lost_to_its_worker(stage: Stage) {
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
pub(crate) async fn retried_task_begins_anew_with_a_larger_token(stage: Stage) {
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

pub(crate) async fn retried_success_is_a_copy(stage: Stage) {
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
