//! Heartbeats keep a task, and a handler ends before its lease does.

use std::{
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use dlock_tasks::{Context, State, Stop, TaskStore};
use futures_util::FutureExt;
use serde_json::json;
use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, advance, sleep, timeout},
};

use crate::support::{LEASE, LONG, PATIENCE, Run, Say, Shop, say, worker_for};

/// A handler may take longer than its lease.
#[tokio::test(start_paused = true)]
async fn long_task_is_kept_by_heartbeats() {
    let shop = Shop::new();
    let id = shop.add(say("slow")).await;
    let runs = Arc::<AtomicUsize>::default();
    let handler = |runs: &Arc<AtomicUsize>| {
        let runs = Arc::clone(runs);
        move |_: Context, _: Say| {
            runs.fetch_add(1, Ordering::SeqCst);
            async {
                sleep(LEASE * 3 / 2).await;
                Ok(())
            }
        }
    };
    let first = Run::of(worker_for(&shop.store, LEASE).handle(handler(&runs)));
    let second = Run::of(worker_for(&shop.other(), LEASE).handle(handler(&runs)));
    let task = shop.until(id, State::Succeeded).await;
    assert_eq!((task.attempt, runs.load(Ordering::SeqCst)), (1, 1));
    first.stop().await;
    second.stop().await;
}

/// The handler ends before another worker can begin, and no ending of it is written.
#[tokio::test(start_paused = true)]
async fn task_that_is_lost_is_dropped_before_another_worker_has_it() {
    struct Dropped(Arc<Mutex<Option<Instant>>>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = Some(Instant::now());
        }
    }
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let dropped = Arc::<Mutex<Option<Instant>>>::default();
    let begun = Arc::new(Notify::new());
    let (drops, begins) = (Arc::clone(&dropped), Arc::clone(&begun));
    let first = Run::of(worker_for(&shop.store, LEASE).handle(move |_, _: Say| {
        let (dropped, begins) = (Dropped(Arc::clone(&drops)), Arc::clone(&begins));
        async move {
            let _dropped = dropped;
            begins.notify_one();
            pending::<()>().await;
            Ok(())
        }
    }));
    begun.notified().await;
    let token = shop.task(id).await.holder.unwrap().token;
    shop.store.0.cut_off.store(true, Ordering::SeqCst);
    let (sender, other) = oneshot::channel();
    let sender = Mutex::new(Some(sender));
    let second = Run::of(worker_for(&shop.other(), LONG).handle(
        move |context: Context, _: Say| {
            let sender = sender.lock().unwrap().take().unwrap();
            async move {
                assert!(
                    sender
                        .send((Instant::now(), context.token(), context.attempt()))
                        .is_ok()
                );
                Ok(())
            }
        },
    ));
    let (began, newer, attempt) = timeout(PATIENCE, other).await.unwrap().unwrap();
    let dropped = dropped
        .lock()
        .unwrap()
        .expect("it goes on beside the other");
    assert!(dropped < began, "{:?} beside the other", dropped - began);
    assert!(newer > token && attempt == 2);
    shop.until(id, State::Succeeded).await;
    assert_eq!(
        shop.store.0.endings.load(Ordering::SeqCst),
        0,
        "nothing is written"
    );
    shop.store.0.cut_off.store(false, Ordering::SeqCst);
    first.stop().await;
    second.stop().await;
}

/// An answer that comes after the lease has ended is not written, even if the handler blocked its thread until then.
#[tokio::test(start_paused = true)]
async fn answer_after_the_end_of_the_lease_is_none() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let runs = Arc::<AtomicUsize>::default();
    let run = Run::of(worker_for(&shop.store, LEASE).handle(move |_, _: Say| {
        let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
        async move {
            if run == 1 {
                // Time passes, and no other future is polled.
                assert!(advance(2 * LEASE).now_or_never().is_none());
            }
            Ok(run)
        }
    }));
    let task = shop.until(id, State::Succeeded).await;
    assert_eq!(task.output, Some(json!(2)));
    run.stop().await;
    let endings = shop.store.0.endings.load(Ordering::SeqCst);
    assert_eq!(endings, 1, "that of the second run");
}

/// A handler learns that its lease is in doubt while the task is still its own.
#[tokio::test(start_paused = true)]
async fn handler_is_told_that_its_lease_is_unsure_before_it_is_lost() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let run = Run::of(worker_for(&shop.store, LEASE).handle(
        |context: Context, _: Say| async move {
            context.unsure().await;
            Ok(context.is_valid())
        },
    ));
    shop.until(id, State::Running).await;
    shop.store.0.cut_off.store(true, Ordering::SeqCst);
    let task = shop.until(id, State::Succeeded).await;
    assert_eq!((task.output, task.attempt), (Some(json!(true)), 1));
    shop.store.0.cut_off.store(false, Ordering::SeqCst);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn cancelled_task_is_told_within_a_heartbeat() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let run = Run::of(worker_for(&shop.store, LEASE).handle(
        |context: Context, _: Say| async move {
            context.cancelled().await;
            assert!(context.is_valid());
            Err::<(), _>(Stop::from("stopped halfway"))
        },
    ));
    shop.until(id, State::Running).await;
    let asked = Instant::now();
    shop.store.cancel(id, false).await.unwrap();
    let task = shop.until(id, State::Cancelled).await;
    assert!(asked.elapsed() < LEASE, "{:?}", asked.elapsed());
    assert_eq!(task.attempt, 1);
    run.stop().await;
}
