//! Invalid input, and stores that do not answer: the error is reported at once, no task is lost, and the worker ends.

use std::{
    collections::BTreeMap,
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock_tasks::{CheckpointError, Context, NewTask, Payload, State, Stop, Worker};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::{LONG, PATIENCE, Run, Say, Shop, say, worker, worker_for};

/// A payload whose handler gives an output that JSON cannot hold.
#[derive(Serialize, Deserialize)]
struct NoJson;

impl Payload for NoJson {
    const KIND: &'static str = "no JSON";
}

#[tokio::test(start_paused = true)]
async fn worker_without_handlers_says_so_and_claims_nothing() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let error = worker(&shop.store).run(pending()).await.unwrap_err();
    assert!(error.to_string().contains("add them with `handle`"));
    let error = worker(&shop.store).drain(PATIENCE).await.unwrap_err();
    assert!(error.to_string().contains("add them with `handle`"));
    let task = shop.task(id).await;
    assert_eq!((task.state, task.attempt), (State::Ready, 0));
}

#[test]
fn worker_that_cannot_be_is_refused() {
    let shop = Shop::new();
    let build = |concurrency, lease, owner: &str| {
        let worker = Worker::builder().store(shop.store.clone());
        let worker = worker.concurrency(concurrency).lease(lease).owner(owner);
        worker.build().unwrap_err().to_string()
    };
    assert_eq!(
        build(0, LONG, ""),
        "a worker with a concurrency of 0 would run no task: 1 or more is possible"
    );
    for lease in [Duration::from_millis(99), Duration::from_secs(86_401)] {
        let error = build(1, lease, "");
        assert!(error.contains("100 ms to 24 h"), "{error}");
    }
    let error = build(1, LONG, "a\0b");
    assert!(error.contains("NUL"), "{error}");
}

/// Workers of an old release do not use up the attempts of tasks that only the new one knows.
#[tokio::test(start_paused = true)]
async fn kind_without_a_handler_waits_for_a_worker_that_has_one() {
    let shop = Shop::new();
    let new = shop.add(NewTask::builder().kind("new").build()).await;
    let old = shop.add(say("old")).await;
    let run = Run::of(worker(&shop.store).handle(|_, _: Say| async { Ok(()) }));
    shop.until(old, State::Succeeded).await;
    run.stop().await;
    let task = shop.task(new).await;
    assert_eq!(
        (task.state, task.attempt, task.errors.len()),
        (State::Ready, 0, 0)
    );
}

/// The work is done: the task notes what happened to its output.
#[tokio::test(start_paused = true)]
async fn output_that_cannot_be_kept_ends_its_task_well() {
    let shop = Shop::new();
    let mut ids = Vec::new();
    for word in ["no JSON", "NUL", "too deep"] {
        ids.push(shop.add(say(word)).await);
    }
    let worker = worker(&shop.store).handle(|_, Say { word }: Say| async move {
        Ok(match word.as_str() {
            "NUL" => json!({"a\0": ["b\0", 1]}),
            "too deep" => (0..200).fold(json!(1), |inner, _| json!([inner])),
            _ => json!("unused"),
        })
    });
    let worker = worker.handle(|_, _: NoJson| async { Ok(BTreeMap::from([((1, 2), 3)])) });
    ids[0] = shop.add(NewTask::of(&NoJson).unwrap().build()).await;
    let drained = worker.drain(PATIENCE).await.unwrap();
    let states = drained.attempts.iter().map(|attempt| attempt.state);
    assert!(states.eq([Some(State::Succeeded); 4]), "{drained:?}");
    let mut outputs = Vec::new();
    for id in ids {
        outputs.push(shop.task(id).await.output.unwrap());
    }
    assert_eq!(outputs[1], json!({"a\u{fffd}": ["b\u{fffd}", 1]}));
    for (output, why) in [
        (&outputs[0], "key must be a string"),
        (&outputs[2], "100 levels"),
    ] {
        let output = output.as_str().unwrap();
        assert!(
            output.contains("the output was not kept") && output.contains(why),
            "{output}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn checkpoint_that_is_too_large_is_refused_and_the_last_one_stays() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let worker = worker(&shop.store).handle(|context: Context, _: Say| async move {
        context.keep(&"small").await?;
        let error = context.keep(&"x".repeat(5000)).await.unwrap_err();
        assert!(matches!(error, CheckpointError::Store(_)), "{error}");
        Err::<(), _>(Stop::from(error))
    });
    let drained = worker.drain(PATIENCE).await.unwrap();
    let error = drained.attempts[0].error.as_deref().unwrap();
    assert!(
        error.contains("the checkpoint has 5002 bytes of JSON: at most 4096 are kept"),
        "{error}"
    );
    let task = shop.task(id).await;
    assert_eq!(
        (task.state, task.checkpoint),
        (State::Scheduled, Some(json!("small")))
    );
}

/// Neither a claim nor an ending is answered, and the worker still ends.
#[tokio::test(start_paused = true)]
async fn worker_stops_although_its_store_is_silent() {
    let shop = Shop::new();
    let ids = [shop.add(say("a")).await, shop.add(say("b")).await];
    let lease = Duration::from_secs(1);
    let go = Arc::new(AtomicBool::new(false));
    let goes = Arc::clone(&go);
    let busy = Run::of(worker_for(&shop.store, lease).handle(move |_, _: Say| {
        let go = Arc::clone(&goes);
        async move {
            while !go.load(Ordering::SeqCst) {
                sleep(Duration::from_millis(2)).await;
            }
            Ok(())
        }
    }));
    for id in ids {
        shop.until(id, State::Running).await;
    }
    shop.store.0.silent.store(true, Ordering::SeqCst);
    go.store(true, Ordering::SeqCst);
    let began = Instant::now();
    while shop.store.0.endings.load(Ordering::SeqCst) == 0 {
        assert!(began.elapsed() < PATIENCE);
        sleep(Duration::from_millis(5)).await;
    }
    busy.stop().await;
    // The leases of its tasks end, and other workers get the tasks.
    let other = Run::of(worker(&shop.other()).handle(|_, _: Say| async { Ok(()) }));
    for id in ids {
        assert_eq!(shop.until(id, State::Succeeded).await.attempt, 2);
    }
    other.stop().await;
}
