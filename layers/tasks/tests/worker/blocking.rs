//! Handlers that block their thread.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use dlock_tasks::{Context, State, Stop, TaskStore, Worker};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::{LEASE, LONG, PATIENCE, Run, Say, Shop, say, worker, worker_for};

/// A gate at which a handler waits without `await`.
#[derive(Clone, Default)]
struct Gate(Arc<AtomicBool>);

impl Gate {
    fn open(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn pass(&self) {
        let began = Instant::now();
        while !self.0.load(Ordering::SeqCst) {
            assert!(began.elapsed() < PATIENCE * 2, "nobody opens it");
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Gate {
    /// A failing test must not wait for a thread that waits for the test.
    fn drop(&mut self) {
        if thread::panicking() {
            self.open();
        }
    }
}

/// Runs until the worker no longer waits for the handler.
fn until_told(context: &Context) -> Stop {
    let began = Instant::now();
    loop {
        if let Err(stop) = context.check() {
            return stop;
        }
        assert!(began.elapsed() < PATIENCE * 2, "it is not told");
        thread::sleep(Duration::from_millis(2));
    }
}

async fn until(what: &str, done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < PATIENCE, "not {what}");
        sleep(Duration::from_millis(5)).await;
    }
}

/// On a runtime of one thread.
#[tokio::test]
async fn heartbeats_leave_beside_a_blocking_handler() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let store = shop.store.clone();
    let run = Run::of(worker_for(&shop.store, LEASE).handle_blocking(
        move |context: Context, say: Say| {
            let runtime = tokio::runtime::Handle::current();
            runtime.block_on(context.keep(&"begun"))?;
            let began = Instant::now();
            while store.0.heartbeats.load(Ordering::SeqCst) == 0 {
                assert!(began.elapsed() < PATIENCE, "no heartbeat");
                thread::sleep(Duration::from_millis(5));
            }
            context.check()?;
            Ok(say.word + "!")
        },
    ));
    let task = shop.until(id, State::Succeeded).await;
    assert_eq!((task.output, task.attempt), (Some(json!("a!")), 1));
    assert_eq!(task.checkpoint, Some(json!("begun")));
    run.stop().await;
}

#[tokio::test]
async fn blocking_handler_that_panics_has_failed() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let run = Run::of(
        worker(&shop.store)
            .handle_blocking(|_, _: Say| -> Result<(), Stop> { panic!("a panic on purpose") }),
    );
    let task = shop.until(id, State::Scheduled).await;
    assert_eq!(
        task.errors[0].error,
        "the handler panicked: a panic on purpose"
    );
    run.stop().await;
}

/// A blocking handler cannot be dropped: it is notified, its answer is not written, and no other task takes its place
/// until it returns.
#[tokio::test]
async fn blocking_handler_whose_task_is_lost_keeps_its_place_until_it_returns() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let (gate, told, runs) = (
        Gate::default(),
        Arc::<AtomicBool>::default(),
        Arc::<AtomicU32>::default(),
    );
    let first = Worker::builder()
        .store(shop.store.clone())
        .concurrency(1)
        .lease(LEASE)
        .poll(Duration::from_millis(20))
        .build()
        .unwrap();
    let (passes, tells, counts) = (gate.clone(), Arc::clone(&told), Arc::clone(&runs));
    let first = Run::of(first.handle_blocking(move |context: Context, _: Say| {
        if counts.fetch_add(1, Ordering::SeqCst) == 0 {
            until_told(&context);
            assert!(!context.is_valid());
            tells.store(true, Ordering::SeqCst);
            passes.pass();
        }
        Ok("the first")
    }));
    until("begun", || runs.load(Ordering::SeqCst) == 1).await;
    shop.store.0.cut_off.store(true, Ordering::SeqCst);
    until("told", || told.load(Ordering::SeqCst)).await;
    let other = shop.other();
    let second = Run::of(worker(&other).handle(|_, _: Say| async { Ok("the second") }));
    shop.until(id, State::Succeeded).await;
    second.stop().await;

    shop.store.0.cut_off.store(false, Ordering::SeqCst);
    let next = shop.add(say("b")).await;
    sleep(Duration::from_millis(300)).await;
    assert_eq!(
        runs.load(Ordering::SeqCst),
        1,
        "two handlers at the same time"
    );
    gate.open();
    shop.until(next, State::Succeeded).await;
    assert_eq!(shop.task(id).await.output, Some(json!("the second")));
    first.stop().await;
    assert_eq!(
        shop.store.0.endings.load(Ordering::SeqCst),
        1,
        "that of the second task"
    );
}

#[tokio::test]
async fn blocking_handler_that_takes_too_long_is_told_and_has_failed() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let worker = Worker::builder()
        .store(shop.store.clone())
        .lease(LONG)
        .timeout(Duration::from_millis(50))
        .build()
        .unwrap();
    let run = Run::of(worker.handle_blocking(|context: Context, _: Say| {
        until_told(&context);
        Ok("late")
    }));
    let task = shop.until(id, State::Scheduled).await;
    assert_eq!(
        (task.attempt, task.errors[0].error.as_str()),
        (1, "the handler took longer than 50ms")
    );
    run.stop().await;
}

/// A handler that never returns does not keep its task from other workers for longer than a lease.
#[tokio::test]
async fn task_of_a_blocking_handler_that_goes_on_is_taken_when_its_lease_ends() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let worker_with_limit = Worker::builder()
        .store(shop.store.clone())
        .lease(LEASE)
        .concurrency(1)
        // Longer than a busy machine takes to begin a handler: one that has not begun would be tried again.
        .timeout(LEASE / 3)
        .build()
        .unwrap();
    let gate = Gate::default();
    let (passes, kept) = (gate.clone(), Arc::<Mutex<Option<String>>>::default());
    let keeps = Arc::clone(&kept);
    let first = Run::of(
        worker_with_limit.handle_blocking(move |context: Context, _: Say| {
            until_told(&context);
            // A checkpoint would be a heartbeat.
            let runtime = tokio::runtime::Handle::current();
            let error = runtime.block_on(context.keep(&1)).unwrap_err();
            *keeps.lock().unwrap() = Some(error.to_string());
            passes.pass();
            Ok("late")
        }),
    );
    until("told", || kept.lock().unwrap().is_some()).await;
    let second = Run::of(worker(&shop.other()).handle(|_, _: Say| async { Ok("the second") }));
    let task = shop.until(id, State::Succeeded).await;
    assert_eq!((task.output, task.attempt), (Some(json!("the second")), 2));
    assert!(kept.lock().unwrap().as_ref().unwrap().contains("is over"));
    gate.open();
    first.stop().await;
    assert_eq!(shop.task(id).await.output, Some(json!("the second")));
    second.stop().await;
}

/// The task of a handler that returns on the notification is given back; work that is done by then is kept.
#[tokio::test]
async fn blocking_handlers_are_told_when_the_grace_time_is_over() {
    let shop = Shop::new();
    let (gives_up, is_done) = (shop.add(say("gives up")).await, shop.add(say("done")).await);
    let begun = Arc::<AtomicU32>::default();
    let begins = Arc::clone(&begun);
    let run = Run::of(
        worker(&shop.store).handle_blocking(move |context: Context, say: Say| {
            begins.fetch_add(1, Ordering::SeqCst);
            let stop = until_told(&context);
            if say.word == "done" {
                Ok(())
            } else {
                Err(stop)
            }
        }),
    );
    until("begun", || begun.load(Ordering::SeqCst) == 2).await;
    let began = Instant::now();
    run.stop().await;
    assert!(began.elapsed() >= Duration::from_millis(300), "no grace");
    let task = shop.task(gives_up).await;
    assert_eq!(
        (task.state, task.attempt, task.errors.len()),
        (State::Ready, 0, 0)
    );
    assert_eq!(shop.task(is_done).await.state, State::Succeeded);
}

/// A handler that never returns does not keep the worker from ending, nor its task from others.
#[tokio::test]
async fn worker_ends_although_a_blocking_handler_does_not() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let gate = Gate::default();
    let passes = gate.clone();
    let run = Run::of(
        worker_for(&shop.store, LEASE).handle_blocking(move |_, _: Say| {
            passes.pass();
            Ok(())
        }),
    );
    shop.until(id, State::Running).await;
    run.stop().await;
    assert!(!gate.0.load(Ordering::SeqCst), "it has ended before");
    let again = Run::of(worker(&shop.other()).handle(|_, _: Say| async { Ok("again") }));
    let task = shop.until(id, State::Succeeded).await;
    gate.open();
    assert_eq!(task.output, Some(json!("again")));
    again.stop().await;
}

/// No other worker gets the task while it runs.
#[tokio::test]
async fn task_of_a_blocking_handler_whose_run_is_dropped_is_given_back_when_it_returns() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let (gate, told) = (Gate::default(), Arc::<AtomicBool>::default());
    let begun = Arc::<AtomicBool>::default();
    let (passes, tells, begins) = (gate.clone(), Arc::clone(&told), Arc::clone(&begun));
    let run = Run::of(
        worker(&shop.store).handle_blocking(move |context: Context, _: Say| {
            begins.store(true, Ordering::SeqCst);
            until_told(&context);
            tells.store(true, Ordering::SeqCst);
            passes.pass();
            Ok(())
        }),
    );
    until("begun", || begun.load(Ordering::SeqCst)).await;
    run.running.abort();
    until("told", || told.load(Ordering::SeqCst)).await;
    sleep(Duration::from_millis(200)).await;
    assert_eq!(shop.task(id).await.state, State::Running);
    gate.open();
    assert_eq!(shop.until(id, State::Ready).await.attempt, 0);
}

#[tokio::test]
async fn blocking_handler_is_told_that_its_task_is_to_be_cancelled() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let run = Run::of(worker_for(&shop.store, LEASE).handle_blocking(
        |context: Context, _: Say| {
            let stop = until_told(&context);
            assert!(context.is_valid());
            Err::<(), _>(stop)
        },
    ));
    shop.until(id, State::Running).await;
    shop.store.cancel(id, false).await.unwrap();
    shop.until(id, State::Cancelled).await;
    run.stop().await;
}
