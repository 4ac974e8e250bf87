//! The two ends of an entry, and what the next in line and the task learn when one end goes.

use super::*;
use crate::{
    Clock, DLock,
    tests::{poll_once, scripted::Scripted},
    waiting::{
        Wait,
        rendezvous::rendezvous,
        tests::{in_line, redeemer},
    },
};

fn door() -> DLock {
    Scripted::new().lock(Clock::manual().0)
}

/// Whether its turn comes now.
fn comes(entry: &QueueEntry) -> bool {
    poll_once(pin!(entry.turn())).is_some()
}

/// A redeemer whose ticket was refused joins the line when its caller may have gone.
#[tokio::test]
async fn turn_without_a_caller_asks_nothing() {
    let provider = Scripted::new();
    let lock = provider.lock(Clock::manual().0);
    let (entry, (sender, receiver)) = (QueueEntry::default(), rendezvous());
    drop((entry.caller(), receiver));
    let mut contender = redeemer(&lock, Wait::Limit(None));
    contender.ticket = None;
    entry.enqueue(&lock.0).await;
    let answer = contender.queue(&sender, &entry).await;
    assert!(answer.is_none());
    assert!(provider.acquired().is_empty());
}

#[tokio::test]
async fn next_has_its_turn_when_the_task_of_the_first_ends() {
    let lock = door();
    let (first, second) = (in_line(&lock).await, in_line(&lock).await);
    let _caller = first.caller();
    assert!(comes(&first));
    assert!(!comes(&second));
    drop(first);
    assert!(comes(&second));
}

#[tokio::test]
async fn next_has_its_turn_when_the_caller_of_the_first_goes_away() {
    let lock = door();
    let (first, second) = (in_line(&lock).await, in_line(&lock).await);
    assert!(comes(&first));
    drop(first.caller());
    assert!(comes(&second));
}

#[tokio::test]
async fn task_learns_that_its_caller_has_left_the_line() {
    let lock = door();
    let (first, second) = (in_line(&lock).await, in_line(&lock).await);
    assert!(comes(&first));
    for entry in [second, first] {
        let (caller, gone) = (entry.caller(), entry.gone());
        assert!(!gone.is_cancelled());
        drop(caller);
        assert!(gone.is_cancelled());
    }
}

/// No part of what it waits for is lost with its caller.
#[tokio::test]
async fn caller_in_no_line_stops_no_task() {
    let lock = door();
    let entry = QueueEntry::default();
    drop(entry.caller());
    assert!(!entry.gone().is_cancelled(), "it has not queued");
    let entry = in_line(&lock).await;
    let caller = entry.caller();
    entry.leave();
    drop(caller);
    assert!(!entry.gone().is_cancelled(), "it has an answer");
}
