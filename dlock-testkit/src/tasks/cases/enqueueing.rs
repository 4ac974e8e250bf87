//! Enqueueing tasks.

use super::*;

pub(crate) async fn key_is_used_once_at_a_time(stage: Stage) {
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
    // Both tasks may change the same thing, whose fence has seen the first token.
    let second = stage.take(LONG).await;
    assert!(second.key.token > claimed.key.token, "(I3)");
}

/// A change during a task's run gets another task.
pub(crate) async fn key_can_end_when_its_task_starts(stage: Stage) {
    let keyed = || {
        let task = NewTask::builder().kind("a").key("page 7");
        task.key_until(KeyUntil::Started).build()
    };
    let first = stage.add(keyed()).await;
    assert_eq!(stage.add(keyed()).await, first, "while it waits");
    let running = stage.take(LONG).await;
    let second = stage.add(keyed()).await;
    assert_ne!(second, first, "a change while it runs is lost");
    assert_eq!(stage.add(keyed()).await, second);
    // A task that comes again does not take its key back.
    let later = stage.finish(running.key, How::Snooze(LONG)).await;
    assert_eq!(later, Ended::Own(State::Scheduled));
    assert_eq!(stage.task(first).await.key, None);
    // A task that ended without having started is enqueued with its key again.
    for retried in [false, true] {
        let cancelled = stage.store.cancel(second, false).await;
        assert_eq!(cancelled.ok(), Some(Some(State::Ready)));
        let again = stage.store.retry(second).await;
        assert_eq!(again.ok(), Some(Some(Enqueued::New(second))), "{retried}");
    }
    assert_eq!(stage.add(keyed()).await, second);
    assert_eq!(stage.take(LONG).await.key.id, second);
    assert_ne!(stage.add(keyed()).await, second);
}

pub(crate) async fn many_writers_of_one_key_add_one_task(stage: Stage) {
    let mut writers = Vec::new();
    for _ in 0..8 {
        let store = stage.fixture.store().await;
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
        let writer = joined(writer.await);
        added.extend(writer.unwrap_or_else(|error| panic!("{error:?}")));
    }
    let new = added
        .iter()
        .filter(|added| matches!(added, Enqueued::New(_)))
        .count();
    let ids: BTreeSet<_> = added.iter().map(|added| added.id()).collect();
    assert_eq!((added.len(), new, ids.len()), (64, 1, 1));
}

fn nested(levels: usize) -> Value {
    (1..levels).fold(json!([]), |inner, _| json!([inner]))
}

pub(crate) async fn payload_comes_out_as_it_went_in(stage: Stage) {
    for payload in [
        nested(100),
        json!([
            0.1,
            5e-324,
            f64::MAX,
            f64::MIN_POSITIVE,
            2.0_f64.powi(70),
            -0.0
        ]),
        json!([i64::MIN, u64::MAX, 9_007_199_254_740_993_u64]),
        json!({"": null, "é\u{1f600}\u{e000}": "\u{1}\\u0000\"\u{2028}"}),
    ] {
        let task = NewTask::builder().kind("a").payload(payload.clone());
        let id = stage.add(task.build()).await;
        assert_eq!(stage.task(id).await.payload, payload);
        let claimed = stage.take(LONG).await;
        assert_eq!(claimed.payload, payload);
        let ended = stage.finish(claimed.key, How::Complete(payload.clone()));
        assert_eq!(ended.await, Ended::Own(State::Succeeded));
        assert_eq!(stage.task(id).await.output, Some(payload));
    }
}

pub(crate) async fn what_cannot_be_kept_is_refused_as_a_whole(stage: Stage) {
    let bad = [
        task(""),
        task("a\0"),
        NewTask::builder().kind("a").queue("").build(),
        NewTask::builder().kind("a").queue("q".repeat(129)).build(),
        NewTask::builder().kind("a").priority(10).build(),
        NewTask::builder().kind("a").key("").build(),
        NewTask::builder().kind("a").lane("").build(),
        NewTask::builder().kind("a").lane("l".repeat(257)).build(),
        NewTask::builder().kind("a").max_attempts(0).build(),
        NewTask::builder()
            .kind("a")
            .payload(json!("x".repeat(NewTask::MAX_PAYLOAD)))
            .build(),
        NewTask::builder().kind("a").payload(json!("\0")).build(),
        NewTask::builder().kind("a").payload(nested(101)).build(),
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

/// Only tasks that enter the queue use numbers.
pub(crate) async fn what_is_refused_uses_no_number(stage: Stage) {
    let keyed = || NewTask::builder().kind("a").key("one").build();
    let first = stage.add(keyed()).await;
    for _ in 0..3 {
        assert_eq!(stage.add(keyed()).await, first);
        assert!(stage.store.enqueue(&[task("a"), task("")]).await.is_err());
    }
    let taken = stage.take(LONG).await;
    stage.nothing().await;
    assert_eq!(stage.add(keyed()).await, first, "while it runs");
    stage.complete(taken.key).await;
    let next = stage.add(task("a")).await;
    assert_eq!(next.get(), first.get() + 1);
}

/// Every call is repeated, as a caller without an answer repeats it, and nothing is done twice.
pub(crate) async fn calls_without_an_answer_can_be_repeated(stage: Stage) {
    let (store, twice) = (&stage.store, ["sent", "sent again"]);
    let keyed = |key: &str| NewTask::builder().kind("a").key(key).build();
    let mut ids = Vec::new();
    for key in ["done", "back", "asked", "dead"] {
        for _ in twice {
            ids.push(stage.add(keyed(key)).await);
        }
    }
    ids.dedup();
    let mut ask = claim(LONG).max(4);
    let mut answers = Vec::new();
    for _ in twice {
        answers.push(stage.claimed(&ask).await.tasks);
        ask = ask.repeated();
    }
    assert_eq!(answers[0], answers[1], "claim");
    let keys: Vec<_> = answers[0].iter().map(|task| task.key).collect();
    assert_eq!(keys.iter().map(|key| key.id).collect::<Vec<_>>(), ids);
    for _ in twice {
        assert!(!stage.is_asked(keys[0], 1).await, "heartbeat");
        let kept = store.checkpoint(&keys[0], 1, &json!("half")).await;
        assert_eq!(kept.ok(), Some(Kept::Kept), "checkpoint");
    }
    for _ in twice {
        assert_eq!(stage.complete(keys[0]).await, Ended::Own(State::Succeeded));
        let released = store.claims().release(&release(keys[1])).await;
        assert!(
            matches!(released, Ok(ReleaseOutcome::Released { .. })),
            "{released:?}"
        );
        assert_eq!(stage.cancel(ids[2], false).await, Some(State::Running));
        let discard = How::Discard {
            error: "x".to_owned(),
        };
        assert_eq!(
            stage.finish(keys[3], discard).await,
            Ended::Own(State::Dead)
        );
    }
    let (instant, new) = (stage.fixture.now() - PATIENCE, keyed("periodic"));
    for _ in twice {
        let served = store
            .enqueue_periodic("hourly", instant - PATIENCE, &new)
            .await;
        assert!(served.is_ok(), "{served:?}");
    }
    for _ in twice {
        let served = store.enqueue_periodic("hourly", instant, &new).await;
        assert!(served.is_ok(), "{served:?}");
    }
    for _ in twice {
        assert!(store.retry(ids[3]).await.is_ok());
    }
    for _ in twice {
        let ages = Ages::new(Duration::ZERO, Duration::ZERO);
        assert!(store.prune(ages, 10).await.is_ok());
    }
    let states = async |state| {
        let every = Filter::default().state(Some(state));
        let tasks = store.list(&every).await;
        let tasks = tasks.unwrap_or_else(|error| panic!("{error:?}"));
        let seen = tasks.into_iter().map(|task| (task.key, task.attempt));
        seen.collect::<Vec<_>>()
    };
    let seen = |key: &str, attempt| (Some(key.to_owned()), attempt);
    let ready = [seen("back", 0), seen("dead", 0), seen("periodic", 0)];
    assert_eq!(states(State::Ready).await, ready);
    assert_eq!(states(State::Running).await, [seen("asked", 1)]);
    assert_eq!(states(State::Succeeded).await, []);
}
