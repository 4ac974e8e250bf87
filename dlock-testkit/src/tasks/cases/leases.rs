//! A claim is a lease: heartbeats, checkpoints, release.

use super::*;

/// R1, R2.
pub(crate) async fn heartbeats_keep_a_task_and_overtaken_ones_change_nothing(stage: Stage) {
    stage.add(task("a")).await;
    let began = Instant::now();
    let key = stage.take(stage.short).await.key;
    let (mut n, mut kept) = (0, began);
    while began.elapsed() < 2 * stage.short {
        n += 1;
        kept = stage.keeps(key, n, kept).await;
        stage.nothing_for_now(kept).await;
        sleep(stage.short / 10).await;
    }
    // A copy of the newest heartbeat, and of an older one: successes that extend nothing.
    let mut left = stage.short;
    for copy in [n, 1, n] {
        stage.keeps(key, copy, kept).await;
        let holder = stage.task(key.id).await.holder;
        stage.lasts(kept);
        let remaining = holder.map_or(stage.short, |holder| holder.remaining);
        assert!(
            remaining < left,
            "extended by a copy: {remaining:?} after {left:?}"
        );
        left = remaining;
        sleep(stage.short / 50).await;
    }
    stage.eventually(LONG).await;
}

/// Each is decided separately, as for any lease.
pub(crate) async fn heartbeats_of_one_call_are_answered_in_their_order(stage: Stage) {
    let mut keys = Vec::new();
    for _ in 0..3 {
        stage.add(task("a")).await;
        keys.push(stage.take(LONG).await.key);
    }
    stage.complete(keys[1]).await;
    stage.cancel(keys[2].id, false).await;
    let order = [keys[2], keys[1], keys[0], keys[2]];
    let beats = order.map(|key| Renew::new(name(key), key.uuid, 1));
    let outcomes = stage.store.claims().renew_many(&beats).await;
    let outcomes: Vec<_> = outcomes.into_iter().map(Result::ok).collect();
    let renewed = |asked| Some(RenewOutcome::Renewed { asked });
    let lost = Some(RenewOutcome::Lost(None));
    assert_eq!(
        outcomes,
        [renewed(true), lost, renewed(false), renewed(true)]
    );
}

pub(crate) async fn checkpoint_reaches_the_next_attempt(stage: Stage) {
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
    // Checkpoints are numbered within a claim.
    let kept = stage.store.checkpoint(&second.key, 1, &json!("e")).await;
    assert_eq!(kept.ok(), Some(Kept::Kept));
    assert_eq!(stage.task(first.key.id).await.checkpoint, Some(json!("e")));
}

pub(crate) async fn checkpoint_of_a_claim_that_is_over_is_lost(stage: Stage) {
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

/// L1, L2. A release that is repeated, or too late, leaves the task as it is.
pub(crate) async fn release_of_a_claim_gives_the_task_back(stage: Stage) {
    stage.add(task("a")).await;
    let key = stage.take(LONG).await.key;
    for _ in 0..2 {
        let released = stage.store.claims().release(&release(key)).await;
        assert!(
            matches!(released, Ok(ReleaseOutcome::Released { .. })),
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

pub(crate) async fn claims_cannot_be_acquired(stage: Stage) {
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
