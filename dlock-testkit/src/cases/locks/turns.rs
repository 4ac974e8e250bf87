//! Contenders take turns: no process starves another, and two are never inside.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use dlock_core::{Client, DLock, FencingToken, Lease};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use super::{SOON, ok};
use crate::{
    Bench,
    slow::{in_time, joined},
};

pub(in crate::cases) async fn contenders_take_turns(bench: Bench) {
    turns_are_taken(bench, true).await;
}

pub(in crate::cases) async fn contenders_without_hints_take_turns(bench: Bench) {
    turns_are_taken(bench, false).await;
}

/// Four processes of two tasks each continue until each process has had its turns: no process starves another.
async fn turns_are_taken(bench: Bench, hints: bool) {
    const PROCESSES: usize = 4;
    const TURNS: usize = 4;
    let lease = (2 * bench.lease()).max(SOON / 2);
    let turns = Turns::default();
    let mut tasks = JoinSet::new();
    for process in 0..PROCESSES {
        let owner = format!("process {process}");
        let lock = lock!(bench, lease, wakeups = hints, owner = owner);
        for _ in 0..2 {
            tasks.spawn(turns.clone().contend(lock.clone(), process));
        }
    }
    let all_had_theirs = async {
        loop {
            if let Some(ended) = timeout(lease / 50, tasks.join_next()).await.ok().flatten() {
                joined(ended);
            }
            let turns = turns.taken();
            let had = |process| turns.iter().filter(|by| **by == process).count();
            if (0..PROCESSES).all(|process| had(process) >= TURNS) {
                break;
            }
        }
    };
    let limit = 2 * SOON + bench.lease();
    let in_turn = timeout(limit, all_had_theirs).await.is_ok();
    let Seen { terms, .. } = &*turns.seen();
    assert!(
        terms.is_sorted_by(|(_, before), (_, after)| before < after),
        "tokens grow (I3): {terms:?}"
    );
    in_time(
        in_turn,
        format_args!("{TURNS} turns of each of {PROCESSES} processes in {limit:?}: {terms:?}"),
    );
}

/// The terms of several contenders, one after the other.
#[derive(Clone, Default)]
struct Turns(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    /// Until when the current holder may believe in its lease.
    inside: Option<Instant>,
    /// The process and the token of each term.
    terms: Vec<(usize, FencingToken)>,
}

impl Turns {
    /// A turn consists of all terms of one process between those of others.
    fn taken(&self) -> Vec<usize> {
        let Seen { terms, .. } = &*self.seen();
        let mut turns: Vec<usize> = terms.iter().map(|(process, _)| *process).collect();
        turns.dedup();
        turns
    }

    async fn contend(self, lock: DLock, process: usize) {
        loop {
            let lease = ok(lock.acquire().await);
            self.enter(process, &lease);
            sleep(Duration::from_millis(10)).await;
            self.seen().inside = None;
            ok(lease.release().await);
        }
    }

    fn enter(&self, process: usize, lease: &Lease) {
        let now = Instant::now();
        let mut seen = self.seen();
        let before = seen.inside.replace(now + lease.remaining());
        assert!(
            before.is_none_or(|believed| now >= believed),
            "two are inside (I1)"
        );
        in_time(
            before.is_none() && lease.is_valid(),
            "a lease ended before its holder had left",
        );
        seen.terms.push((process, lease.token()));
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
