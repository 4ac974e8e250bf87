//! The view of a queue for people.

use super::*;

pub(crate) async fn counts_and_lists_tell_the_states(stage: Stage) {
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
    stage.becomes(stalled, State::Stalled).await;
    let ready = [stage.add(task("a")).await, stage.add(task("a")).await];
    let later = NewTask::builder()
        .kind("late")
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
    let newest = || every().newest_first(true);
    let reversed: Vec<_> = all.iter().rev().copied().collect();
    assert_eq!(listed(newest()).await, reversed);
    let page = newest().after(Some(ready[0])).limit(2);
    assert_eq!(listed(page).await, [stalled, cancelled]);
    for (kind, ids) in [("late", &all[6..]), ("a", &all[..6]), ("b", &[])] {
        assert_eq!(listed(every().kind(Some(kind.to_owned()))).await, ids);
    }
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

pub(crate) async fn ended_tasks_are_forgotten_by_age(stage: Stage) {
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
