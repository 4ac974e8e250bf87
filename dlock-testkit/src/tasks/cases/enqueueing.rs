//! What is enqueued (K9).

use super::*;

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
