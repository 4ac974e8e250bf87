//! A task that kills its worker, and the attempts that this costs its neighbours.

use std::{
    future::pending,
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use dlock_tasks::{Claim, Context, State, TaskId, TaskStore};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout},
};
use uuid::Uuid;

use crate::support::{LEASE, Run, Say, Shop, say, worker, worker_for};

/// Without suspects, all of them would be given out together after each death, until none had an attempt left.
#[tokio::test(start_paused = true)]
async fn task_that_kills_its_worker_costs_its_neighbours_two_attempts() {
    let shop = Shop::new();
    let mut neighbours = Vec::new();
    for word in ["a", "b"] {
        neighbours.push(shop.add(say(word)).await);
    }
    let killer = shop.add(say("kill")).await;
    neighbours.push(shop.add(say("c")).await);
    while shop.task(killer).await.state != State::Dead {
        let process = shop.other();
        let dies = Arc::new(Notify::new());
        let died = Arc::clone(&dies);
        let run = Run::of(
            worker_for(&process, LEASE).handle(move |_: Context, say: Say| {
                let dies = Arc::clone(&dies);
                async move {
                    sleep(Duration::from_millis(50)).await;
                    if say.word == "kill" {
                        dies.notify_one();
                        pending::<()>().await;
                    }
                    sleep(Duration::from_millis(50)).await;
                    Ok(())
                }
            }),
        );
        if timeout(LEASE * 2, died.notified()).await.is_err() {
            run.stop().await;
            break;
        }
        process.0.cut_off.store(true, Ordering::SeqCst);
        process.0.down.store(true, Ordering::SeqCst);
        run.running.abort();
    }
    assert_eq!(shop.task(killer).await.state, State::Dead);
    for id in neighbours {
        let task = shop.task(id).await;
        assert_eq!(task.state, State::Succeeded, "{:?}", task.errors);
        assert_eq!(task.attempt, 3, "{:?}", task.errors);
    }
}

/// The state after two power cuts.
async fn lost_twice(shop: &Shop, words: &[&str]) -> Vec<TaskId> {
    let mut ids = Vec::new();
    for word in words {
        ids.push(shop.add(say(word)).await);
    }
    for _ in 0..2 {
        let lease = Duration::from_millis(100);
        let claim = Claim::new("default", Uuid::new_v4(), lease).max(words.len());
        let got = shop.store.claim(&claim).await.unwrap().tasks.len();
        assert_eq!(got, words.len());
        sleep(lease).await;
    }
    ids
}

/// The handlers that have begun, and after which time.
type Begun = Arc<Mutex<Vec<(String, Duration)>>>;

fn run(shop: &Shop, begun: &Begun) -> Run {
    let (begun, start) = (Arc::clone(begun), Instant::now());
    Run::of(worker(&shop.store).handle(move |_: Context, say: Say| {
        let word = say.word.clone();
        begun.lock().unwrap().push((word, start.elapsed()));
        async move {
            if say.word == "long" {
                pending::<()>().await;
            }
            sleep(Duration::from_millis(700)).await;
            Ok(())
        }
    }))
}

/// Tasks that never end do not run one after the other.
#[tokio::test(start_paused = true)]
async fn suspects_without_guilt_soon_run_together() {
    let shop = Shop::new();
    lost_twice(&shop, &["long"; 3]).await;
    shop.add(say("other")).await;
    let begun = Begun::default();
    let run = run(&shop, &begun);
    sleep(Duration::from_secs(6)).await;
    shop.add(say("new")).await;
    sleep(Duration::from_secs(1)).await;
    let begun = begun.lock().unwrap().clone();
    let words: Vec<_> = begun.iter().map(|(word, _)| word.as_str()).collect();
    assert_eq!(words, ["other", "long", "long", "long", "new"]);
    // The first waits for the running tasks, each later one until the previous one has run alone.
    for (before, next, millis) in [(0, 1, 700), (1, 2, 2000), (2, 3, 2000), (3, 4, 2000)] {
        let apart = begun[next].1 - begun[before].1;
        let least = Duration::from_millis(millis);
        assert!(apart >= least && apart < least * 2, "{begun:?}");
    }
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn suspect_that_waits_for_its_turn_is_given_back_when_the_worker_stops() {
    let shop = Shop::new();
    let suspects = lost_twice(&shop, &["long"; 2]).await;
    let other = shop.add(say("other")).await;
    let begun = Begun::default();
    let run = run(&shop, &begun);
    shop.until(other, State::Running).await;
    sleep(Duration::from_millis(100)).await;
    let states = async || {
        let (first, second) = (shop.task(suspects[0]).await, shop.task(suspects[1]).await);
        [(first.state, first.attempt), (second.state, second.attempt)]
    };
    assert_eq!(states().await, [(State::Running, 3), (State::Ready, 2)]);
    run.stop().await;
    assert_eq!(states().await, [(State::Ready, 2); 2]);
    assert_eq!(begun.lock().unwrap().len(), 1, "{begun:?}");
}
