//! Drains.

use std::{future::pending, sync::atomic::Ordering, time::Duration};

use dlock_tasks::{Context, DrainError, NewTask, State, Stop, TaskStore, When};

use crate::support::{LONG, PATIENCE, Run, Say, Shop, say, worker};

#[tokio::test(start_paused = true)]
async fn drain_runs_what_is_due_and_what_that_enqueues() {
    let shop = Shop::new();
    let first = shop.add(say("first")).await;
    let later = NewTask::of(&Say {
        word: "later".into(),
    });
    let later = shop.add(later.unwrap().when(When::In(LONG)).build()).await;
    let other_kind = shop.add(NewTask::builder().kind("other").build()).await;
    let other_queue = NewTask::of(&Say { word: "q".into() });
    let other_queue = shop.add(other_queue.unwrap().queue("q").build()).await;
    let store = shop.store.clone();
    let worker = worker(&shop.store).handle(move |context: Context, say: Say| {
        let store = store.clone();
        async move {
            match say.word.as_str() {
                "first" => {
                    let next = ["fails", "snoozes", "soon", "lost"].map(crate::support::say);
                    store.enqueue(&next).await?;
                    Ok(())
                }
                "fails" => Err(Stop::from("no disk")),
                "snoozes" => Err(Stop::Snooze(LONG)),
                "soon" if context.attempt() == 1 => Err(Stop::retry_in(Duration::ZERO, "busy")),
                "lost" => {
                    store.cancel(context.id(), true).await?;
                    Ok(())
                }
                _ => Ok(()),
            }
        }
    });
    let drained = worker.drain(PATIENCE).await.unwrap();
    let mut became: Vec<_> = drained
        .attempts
        .iter()
        .map(|attempt| (attempt.id.get(), attempt.attempt, attempt.state))
        .collect();
    became.sort_unstable();
    let id = first.get();
    assert_eq!(
        became,
        [
            (id, 1, Some(State::Succeeded)),
            (id + 4, 1, Some(State::Scheduled)),
            (id + 5, 1, Some(State::Scheduled)),
            (id + 6, 1, Some(State::Ready)),
            (id + 6, 2, Some(State::Succeeded)),
            (id + 7, 1, None),
        ]
    );
    assert_eq!(drained.attempts[0].kind, "say");
    let mut errors: Vec<_> = drained
        .failed()
        .iter()
        .map(|attempt| attempt.error.as_deref().unwrap())
        .collect();
    errors.sort_unstable();
    assert_eq!(&errors[..2], ["busy", "no disk"]);
    assert!(errors[2].starts_with("the task was lost"), "{errors:?}");
    for (id, state) in [
        (later, State::Scheduled),
        (other_kind, State::Ready),
        (other_queue, State::Ready),
    ] {
        let task = shop.task(id).await;
        assert_eq!((task.state, task.attempt), (state, 0));
    }

    // Once more, with the same worker.
    shop.add(say("again")).await;
    let drained = worker.drain(PATIENCE).await.unwrap();
    assert!(drained.failed().is_empty() && drained.attempts.len() == 1);
    assert!(worker.drain(PATIENCE).await.unwrap().attempts.is_empty());
}

/// A task that another worker runs is left to it, and may take any time.
#[tokio::test(start_paused = true)]
async fn drain_leaves_tasks_of_other_workers_alone() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let run = Run::of(
        worker(&shop.other()).handle(|context: Context, _: Say| async move {
            context.stopping().await;
            Ok(())
        }),
    );
    shop.until(id, State::Running).await;
    let own = worker(&shop.store).handle(|_, _: Say| async { Ok(()) });
    assert!(own.drain(PATIENCE).await.unwrap().attempts.is_empty());
    assert_eq!(shop.task(id).await.state, State::Running);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_lost_keep_no_drain_from_its_end() {
    let shop = Shop::new();
    shop.add(say("a")).await;
    shop.store.lose("claim");
    shop.store.lose("finish");
    let worker = worker(&shop.store).handle(|_, _: Say| async { Ok(()) });
    let drained = worker.drain(PATIENCE).await.unwrap();
    assert_eq!(drained.attempts.len(), 1);
    assert_eq!(drained.attempts[0].state, Some(State::Succeeded));
}

/// A store need not give out all ready tasks at once.
#[tokio::test(start_paused = true)]
async fn claim_that_gets_nothing_is_not_the_end_of_a_drain() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    shop.store.0.empty.store(2, Ordering::SeqCst);
    let worker = worker(&shop.store).handle(|_, _: Say| async { Ok(()) });
    let drained = worker.drain(PATIENCE).await.unwrap();
    assert_eq!(drained.attempts[0].id, id);
}

#[tokio::test(start_paused = true)]
async fn drain_that_takes_too_long_names_what_ran_and_gives_it_back() {
    let shop = Shop::new();
    let (quick, hangs) = (shop.add(say("quick")).await, shop.add(say("hangs")).await);
    let worker = worker(&shop.store).handle(|_, say: Say| async move {
        if say.word == "hangs" {
            pending::<()>().await;
        }
        Ok(())
    });
    let within = Duration::from_secs(1);
    let error = worker.drain(within).await.unwrap_err();
    let text = error.to_string();
    assert_eq!(
        text,
        format!("the queue was not drained within 1s: task {hangs} (say) had not ended")
    );
    let DrainError::TooLong { drained, .. } = error else {
        panic!("{text}")
    };
    assert_eq!(drained.attempts[0].id, quick);
    assert_eq!(shop.until(hangs, State::Ready).await.attempt, 0);
}

/// In real time: virtual time does not advance while a task can run.
#[tokio::test]
async fn drain_of_a_task_that_always_comes_again_ends() {
    let shop = Shop::new();
    shop.add(say("a")).await;
    let worker = worker(&shop.store)
        .handle(|_, _: Say| async { Err::<(), _>(Stop::Snooze(Duration::ZERO)) });
    let ended = worker.drain(Duration::from_millis(200)).await;
    assert!(
        matches!(ended, Err(DrainError::TooLong { .. })),
        "{ended:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn drain_says_that_its_store_does_not_answer() {
    let shop = Shop::new();
    shop.store.0.cut_off.store(true, Ordering::SeqCst);
    let worker = worker(&shop.store).handle(|_, _: Say| async { Ok(()) });
    let error = worker.drain(Duration::from_millis(100)).await.unwrap_err();
    assert!(error.to_string().contains("the store does not answer"));
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("cut off"), "{source}");
}
