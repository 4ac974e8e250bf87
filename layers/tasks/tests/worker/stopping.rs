//! A worker that is stopped or dropped: tasks that can end do so, and the others are given back.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dlock_tasks::{Context, State};
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

use crate::support::{LEASE, LONG, PATIENCE, Run, Say, Shop, say, worker, worker_for};

/// Tasks that can end within the grace time do so; the others are given back, and the attempt does not count.
#[tokio::test(start_paused = true)]
async fn worker_that_stops_ends_or_gives_back_all_its_tasks() {
    let shop = Shop::new();
    let quick = shop.add(say("quick")).await;
    let slow = shop.add(say("slow")).await;
    let begun = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&begun);
    let run = Run::of(
        worker(&shop.store).handle(move |context: Context, say: Say| {
            counted.fetch_add(1, Ordering::SeqCst);
            async move {
                context.stopping().await;
                if say.word == "slow" {
                    pending::<()>().await;
                }
                Ok(())
            }
        }),
    );
    let began = Instant::now();
    while begun.load(Ordering::SeqCst) < 2 {
        assert!(began.elapsed() < PATIENCE);
        sleep(Duration::from_millis(5)).await;
    }
    let later = shop.add(say("quick")).await;
    let began = Instant::now();
    run.stop().await;
    assert!(began.elapsed() >= Duration::from_millis(300), "no grace");
    assert_eq!(shop.task(quick).await.state, State::Succeeded);
    let slow = shop.task(slow).await;
    assert_eq!(
        (slow.state, slow.attempt, slow.errors.len()),
        (State::Ready, 0, 0)
    );
    let later = shop.task(later).await.state;
    assert!(matches!(later, State::Ready | State::Succeeded), "{later}");
}

/// A claim that is repeated for longer than the grace time may still hold tasks.
#[tokio::test(start_paused = true)]
async fn worker_that_stops_gives_back_what_a_late_claim_got() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    for _ in 0..4 {
        shop.store.lose("claim");
    }
    let run = Run::of(worker(&shop.store).handle(|_, _: Say| async { Ok(()) }));
    shop.until(id, State::Running).await;
    run.stop().await;
    let task = shop.task(id).await;
    assert_eq!((task.state, task.attempt), (State::Ready, 0));
}

/// A store that is gone does not keep the process from ending.
#[tokio::test(start_paused = true)]
async fn worker_stops_although_its_store_is_down() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let run = Run::of(worker_for(&shop.store, LEASE).handle(|_, _: Say| async { Ok(()) }));
    shop.store.0.down.store(true, Ordering::SeqCst);
    let began = Instant::now();
    while shop.store.0.endings.load(Ordering::SeqCst) == 0 {
        assert!(began.elapsed() < PATIENCE);
        sleep(Duration::from_millis(5)).await;
    }
    let began = Instant::now();
    run.stop().await;
    let grace = Duration::from_millis(300);
    assert!(began.elapsed() >= LEASE + grace, "it could have come back");
    shop.store.0.down.store(false, Ordering::SeqCst);
    let again = Run::of(worker_for(&shop.store, LEASE).handle(|_, _: Say| async { Ok(()) }));
    assert_eq!(shop.until(id, State::Succeeded).await.attempt, 2);
    again.stop().await;
}

/// The queue of endings that wait for the store is full, and more come.
#[tokio::test(start_paused = true)]
async fn worker_whose_endings_cannot_leave_stops_nevertheless() {
    let shop = Shop::new();
    for _ in 0..40 {
        shop.add(say("a")).await;
    }
    shop.store.0.down.store(true, Ordering::SeqCst);
    let runs = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&runs);
    let run = Run::of(worker_for(&shop.store, LEASE).handle(move |_, _: Say| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok(()) }
    }));
    // Four in the failing call, four waiting, and at least one more.
    let began = Instant::now();
    while runs.load(Ordering::SeqCst) < 9 {
        assert!(began.elapsed() < PATIENCE);
        sleep(Duration::from_millis(5)).await;
    }
    run.stop().await;
}

/// A session that keeps the row of a task locked can stay for hours. The task's worker continues with the other tasks.
#[tokio::test(start_paused = true)]
async fn task_that_cannot_be_ended_keeps_no_other_waiting() {
    let shop = Shop::new();
    let stuck = shop.add(say("stuck")).await;
    *shop.store.0.locked.lock().unwrap() = Some(stuck);
    let mut others = Vec::new();
    for _ in 0..40 {
        others.push(shop.add(say("a")).await);
    }
    let run = Run::of(worker(&shop.store).handle(|_, _: Say| async { Ok(()) }));
    for id in others {
        assert_eq!(shop.until(id, State::Succeeded).await.attempt, 1);
    }
    assert_eq!(shop.task(stuck).await.state, State::Running);
    *shop.store.0.locked.lock().unwrap() = None;
    assert_eq!(shop.until(stuck, State::Succeeded).await.attempt, 1);
    run.stop().await;
}

/// A run that is dropped gives its tasks back in the background.
#[tokio::test(start_paused = true)]
async fn tasks_of_a_run_that_is_dropped_are_given_back() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let begun = Arc::new(Notify::new());
    let begins = Arc::clone(&begun);
    let run = Run::of(worker(&shop.store).handle(move |_, _: Say| {
        begins.notify_one();
        async {
            pending::<()>().await;
            Ok(())
        }
    }));
    begun.notified().await;
    let began = Instant::now();
    run.running.abort();
    let task = shop.until(id, State::Ready).await;
    assert!(began.elapsed() < LONG / 2, "its lease ran out");
    assert_eq!(task.attempt, 0);
}
