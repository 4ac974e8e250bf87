//! The input of a handler, and the effect of its answer on the task.

use std::{
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, UNIX_EPOCH},
};

use dlock_tasks::{Context, NewTask, State, Stop, Worker};
use serde_json::json;
use tokio::{task::consume_budget, time::sleep};

use crate::support::{LONG, PATIENCE, Run, Say, Shop, say, worker};

#[tokio::test(start_paused = true)]
async fn tasks_run_and_keep_their_output() {
    let shop = Shop::new();
    let mut ids = Vec::new();
    for word in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
        ids.push(shop.add(say(word)).await);
    }
    let (now, most) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let (counted, seen) = (Arc::clone(&now), Arc::clone(&most));
    let run = Run::of(
        worker(&shop.store).handle(move |context: Context, say: Say| {
            let (now, most) = (Arc::clone(&counted), Arc::clone(&seen));
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                assert!(context.is_valid());
                sleep(Duration::from_millis(50)).await;
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(format!("{}!", say.word))
            }
        }),
    );
    for (id, word) in ids
        .into_iter()
        .zip(["a!", "b!", "c!", "d!", "e!", "f!", "g!", "h!", "i!"])
    {
        let task = shop.until(id, State::Succeeded).await;
        assert_eq!((task.output, task.attempt), (Some(json!(word)), 1));
    }
    assert_eq!(
        most.load(Ordering::SeqCst),
        4,
        "as many at a time as it may"
    );
    run.stop().await;
}

/// Each answer of a handler, and cases without an answer.
#[tokio::test(start_paused = true)]
async fn answers_decide_what_becomes_of_a_task() {
    let shop = Shop::new();
    let words = ["retry", "soon", "discard", "snooze", "panic", "slow"];
    let mut ids = Vec::new();
    for word in words {
        ids.push(shop.add(say(word)).await);
    }
    let strange = NewTask::builder()
        .kind("say")
        .payload(json!({"wort": 1}))
        .build();
    let strange = shop.add(strange).await;
    let worker = Worker::builder()
        .store(shop.store.clone())
        .lease(LONG)
        .timeout(Duration::from_millis(100))
        .build()
        .unwrap();
    let run = Run::of(worker.handle(|_, say: Say| async move {
        match say.word.as_str() {
            "retry" => Err(std::io::Error::other("no disk"))?,
            "soon" => Err(Stop::retry_in(Duration::from_secs(500), "busy"))?,
            "discard" => Err(Stop::discard("no such image"))?,
            "snooze" => Err(Stop::Snooze(Duration::from_secs(500)))?,
            "panic" => panic!("a panic on purpose"),
            _ => pending::<()>().await,
        }
        Ok(())
    }));
    let error = async |id, state| {
        let task = shop.until(id, state).await;
        let errors: Vec<_> = task
            .errors
            .iter()
            .map(|error| error.error.clone())
            .collect();
        let failed = task
            .errors
            .last()
            .map_or(Duration::ZERO, |error| Duration::from_micros(error.at));
        let wait = task
            .run_at
            .duration_since(UNIX_EPOCH + failed)
            .unwrap_or_default();
        (task.attempt, errors.join(", "), wait.as_secs())
    };
    let (attempt, text, wait) = error(ids[0], State::Scheduled).await;
    assert_eq!((attempt, text.as_str()), (1, "no disk"));
    assert!(
        (1..=3).contains(&wait),
        "two seconds and a quarter, not {wait}"
    );
    let (_, text, wait) = error(ids[1], State::Scheduled).await;
    assert!(
        text == "busy" && (500..=510).contains(&wait),
        "{text} {wait}"
    );
    assert_eq!(error(ids[2], State::Dead).await.1, "no such image");
    assert_eq!(error(ids[3], State::Scheduled).await.0, 0, "uncounted");
    assert_eq!(
        error(ids[4], State::Scheduled).await.1,
        "the handler panicked: a panic on purpose"
    );
    assert_eq!(
        error(ids[5], State::Scheduled).await.1,
        "the handler took longer than 100ms"
    );
    let (_, text, _) = error(strange, State::Scheduled).await;
    assert!(
        text.contains("payload of the task") && text.contains("missing field `word`"),
        "{text}"
    );
    run.stop().await;
}

/// A handler that panics when it is dropped does not end its worker, and its task still counts as having taken too
/// long.
#[tokio::test(start_paused = true)]
async fn panic_of_a_handler_that_is_dropped_is_its_own() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("a panic on purpose");
        }
    }
    let shop = Shop::new();
    let id = shop.add(say("slow")).await;
    let worker = Worker::builder()
        .store(shop.store.clone())
        .lease(LONG)
        .timeout(Duration::from_millis(100))
        .build()
        .unwrap();
    let run = Run::of(worker.handle(|_, say: Say| async move {
        if say.word == "slow" {
            let _bomb = Bomb;
            pending::<()>().await;
        }
        Ok(())
    }));
    let slow = shop.until(id, State::Scheduled).await;
    assert_eq!(slow.errors[0].error, "the handler took longer than 100ms");
    let next = shop.add(say("fast")).await;
    shop.until(next, State::Succeeded).await;
    run.stop().await;
}

/// An always ready handler yields to the runtime, but not to other futures of its own task. In real time: virtual time
/// does not advance while a task can run.
#[tokio::test]
async fn handler_that_is_always_ready_ends_with_its_time() {
    let shop = Shop::new();
    let id = shop.add(say("slow")).await;
    let worker = Worker::builder()
        .store(shop.store.clone())
        .lease(LONG)
        .timeout(Duration::from_millis(100))
        .build()
        .unwrap();
    let run = Run::of(worker.handle(|_, _: Say| async {
        loop {
            consume_budget().await;
        }
        #[expect(unreachable_code, reason = "says what it would answer")]
        Ok(())
    }));
    let slow = shop.until(id, State::Scheduled).await;
    assert_eq!(slow.errors[0].error, "the handler took longer than 100ms");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn next_attempt_begins_where_the_last_one_has_left() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let run = Run::of(
        worker(&shop.store).handle(|context: Context, _: Say| async move {
            let done: u32 = context.checkpoint()?.unwrap_or_default();
            assert_eq!(done + 1, context.attempt());
            if done == 2 {
                return Ok(done);
            }
            context.keep(&100).await?;
            context.keep(&(done + 1)).await?;
            Err(Stop::retry_in(Duration::ZERO, "halfway"))
        }),
    );
    let task = shop.until(id, State::Succeeded).await;
    assert_eq!((task.output, task.attempt), (Some(json!(2)), 3));
    run.stop().await;
}

/// The work is done, and an output that cannot be kept does not stop the endings of others.
#[tokio::test(start_paused = true)]
async fn task_whose_output_is_too_large_succeeds_and_says_so() {
    let shop = Shop::new();
    let large = shop.add(say("large")).await;
    let small = shop.add(say("small")).await;
    let run = Run::of(worker(&shop.store).handle(|_, say: Say| async move {
        sleep(Duration::from_millis(50)).await;
        Ok(if say.word == "large" {
            "x".repeat(300_000)
        } else {
            say.word
        })
    }));
    shop.until(small, State::Succeeded).await;
    let output = shop.until(large, State::Succeeded).await.output.unwrap();
    let output = output.as_str().unwrap();
    assert!(
        output.starts_with("the output was not kept: the output has 300002 bytes"),
        "{output}"
    );
    run.stop().await;
}

/// Tasks come from the first queue that has one.
#[tokio::test(start_paused = true)]
async fn queues_are_worked_off_in_their_order() {
    let shop = Shop::new();
    for queue in ["slow", "other", "fast", "slow", "fast"] {
        let task = NewTask::of(&Say { word: queue.into() }).unwrap();
        shop.add(task.queue(queue).build()).await;
    }
    let words = Arc::<Mutex<Vec<String>>>::default();
    let said = Arc::clone(&words);
    let worker = Worker::builder()
        .store(shop.store.clone())
        .queue("fast")
        .queues(["slow"])
        .concurrency(1)
        .build()
        .unwrap()
        .handle(move |_, say: Say| {
            said.lock().unwrap().push(say.word);
            async { Ok(()) }
        });
    worker.drain(PATIENCE).await.unwrap();
    assert_eq!(*words.lock().unwrap(), ["fast", "fast", "slow", "slow"]);
}
