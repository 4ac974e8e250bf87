//! Concurrent tries: one winner, losers that learn of that winner, tokens in the order of the grants.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock_core::{
    FencingToken, Name,
    provider::{Acquire, AcquireOutcome},
};
use tokio::{sync::Barrier, task::JoinSet, time::sleep};

use crate::{Bench, Subject, slow::joined};

/// How many tries race for one name, and in how many rounds.
const RACERS: usize = 32;
const ROUNDS: usize = 4;

pub(super) async fn race_for_an_absent_record_has_one_winner(bench: Bench) {
    let subjects = subjects(&bench).await;
    for round in 0..ROUNDS {
        let name = bench.name(&round.to_string());
        one_wins(&subjects, racers(&bench, &name)).await;
    }
}

pub(super) async fn race_for_a_released_lock_has_one_winner(bench: Bench) {
    let subjects = subjects(&bench).await;
    let name = bench.name("");
    for _ in 0..ROUNDS {
        let a = bench.term(&name);
        let token = subjects[0].grants(&a).await;
        subjects[0].releases(&a, Some(token)).await;
        let (winner, next) = one_wins(&subjects, racers(&bench, &name)).await;
        assert!(next > token);
        subjects[0].releases(&winner, Some(next)).await;
    }
}

pub(super) async fn race_for_a_dead_holders_lock_has_one_winner(bench: Bench) {
    let subjects = subjects(&bench).await;
    for round in 0..2 {
        let name = bench.name(&round.to_string());
        let a = bench.term_of(&name, bench.lease());
        let token = subjects[0].grants(&a).await;
        bench.outlast(a.duration).await;
        let mut racers = racers(&bench, &name);
        if !bench.store_clock() {
            let seen = subjects[0].record(&name).await.version();
            racers = racers
                .into_iter()
                .map(|racer| racer.prev(Some(seen)))
                .collect();
        }
        let (_, next) = one_wins(&subjects, racers).await;
        assert!(next > token);
    }
}

pub(super) async fn race_of_claims_has_one_winner(bench: Bench) {
    let subjects = subjects(&bench).await;
    let name = bench.name("");
    let mut token = subjects[0].grants(&bench.term(&name)).await;
    for _ in 0..ROUNDS {
        let seen = subjects[0].record(&name).await.version();
        let racers = racers(&bench, &name)
            .into_iter()
            .map(|racer| racer.prev(Some(seen)))
            .collect();
        let (_, next) = one_wins(&subjects, racers).await;
        assert!(next > token);
        token = next;
    }
}

pub(super) async fn copies_of_one_acquire_at_once_grant_once(bench: Bench) {
    let subjects = subjects(&bench).await;
    for round in 0..ROUNDS {
        let a = bench.term(&bench.name(&round.to_string()));
        let outcomes = at_once(&subjects, vec![a.clone(); RACERS]).await;
        let token = subjects[0].record(&a.name).await.token;
        for (_, outcome) in outcomes {
            assert_eq!(
                outcome,
                AcquireOutcome::Acquired(token.into()),
                "a copy got another answer"
            );
        }
    }
}

pub(super) async fn renewals_racing_with_a_release_bring_nothing_back(bench: Bench) {
    let subjects = subjects(&bench).await;
    for round in 0..ROUNDS {
        let a = bench.term(&bench.name(&round.to_string()));
        let token = subjects[0].grants(&a).await;
        let mut work = JoinSet::new();
        for n in 1..=8_usize {
            let (subject, a) = (subjects[n % subjects.len()].clone(), a.clone());
            work.spawn(async move {
                subject.renew(&a, n as u64).await;
            });
        }
        let (subject, term) = (subjects[0].clone(), a.clone());
        work.spawn(async move {
            subject.releases(&term, Some(token)).await;
        });
        while let Some(done) = work.join_next().await {
            joined(done);
        }
        let record = subjects[0].record(&a.name).await;
        assert!(
            record.released && record.uuid == a.new && record.token == token,
            "a renewal brought back what was released, or changed more than its number: {record:?}"
        );
    }
}

pub(super) async fn holders_exclude_each_other_and_tokens_follow_their_order(bench: Bench) {
    let subjects = subjects(&bench).await;
    let name = bench.name("");
    let inside = Arc::new(AtomicBool::new(false));
    let tokens: Arc<Mutex<Vec<FencingToken>>> = Arc::default();
    let (holders, turns) = (8, 5);
    let mut work = JoinSet::new();
    for holder in 0..holders {
        let subject = subjects[holder % subjects.len()].clone();
        let (bench, name, inside, tokens) = (
            bench.clone(),
            name.clone(),
            Arc::clone(&inside),
            Arc::clone(&tokens),
        );
        work.spawn(async move {
            for _ in 0..turns {
                let (a, token) = loop {
                    let a = bench.term(&name);
                    if let AcquireOutcome::Acquired(tokens) = subject.acquire(&a).await {
                        break (a, tokens.last());
                    }
                    sleep(Duration::from_millis(2)).await;
                };
                assert!(!inside.swap(true, Ordering::SeqCst), "two holders at once");
                tokens
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(token);
                sleep(Duration::from_millis(1)).await;
                assert!(inside.swap(false, Ordering::SeqCst), "two holders at once");
                subject.releases(&a, Some(token)).await;
                // Free for a moment, so that the others see that.
                sleep(Duration::from_millis(1)).await;
            }
        });
    }
    while let Some(done) = work.join_next().await {
        joined(done);
    }
    let tokens = tokens.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(tokens.len(), holders * turns);
    assert!(
        tokens.is_sorted_by(|earlier, later| earlier < later),
        "out of order: {tokens:?}"
    );
}

/// More than one provider, so that a lock inside one of them cannot order the racers.
pub(super) async fn subjects(bench: &Bench) -> Vec<Subject> {
    let mut subjects = Vec::new();
    for _ in 0..3 {
        subjects.push(bench.subject().await);
    }
    subjects
}

pub(super) fn racers(bench: &Bench, name: &Name) -> Vec<Acquire> {
    (0..RACERS).map(|_| bench.term(name)).collect()
}

/// The try that was granted, and its token. All others learn of it.
async fn one_wins(subjects: &[Subject], racers: Vec<Acquire>) -> (Acquire, FencingToken) {
    let mut winners = Vec::new();
    let mut shown = Vec::new();
    for (racer, outcome) in at_once(subjects, racers).await {
        match outcome {
            AcquireOutcome::Acquired(tokens) => winners.push((racer, tokens.last())),
            AcquireOutcome::Held(record) => shown.push(record),
            AcquireOutcome::Spent => panic!("a fresh uuid was called spent"),
        }
    }
    assert_eq!(
        winners.len(),
        1,
        "of {RACERS} racers {} were granted the lock",
        winners.len()
    );
    let (winner, token) = winners.remove(0);
    for record in shown {
        assert_eq!(
            (record.uuid, record.token),
            (winner.new, token),
            "a loser was shown another than the winner"
        );
    }
    assert_eq!(subjects[0].record(&winner.name).await.uuid, winner.new);
    (winner, token)
}

pub(super) async fn at_once(
    subjects: &[Subject],
    requests: Vec<Acquire>,
) -> Vec<(Acquire, AcquireOutcome)> {
    let start = Arc::new(Barrier::new(requests.len()));
    let mut racing = JoinSet::new();
    for (index, request) in requests.into_iter().enumerate() {
        let (subject, start) = (subjects[index % subjects.len()].clone(), Arc::clone(&start));
        racing.spawn(async move {
            start.wait().await;
            let outcome = subject.acquire(&request).await;
            (request, outcome)
        });
    }
    let mut outcomes = Vec::new();
    while let Some(done) = racing.join_next().await {
        outcomes.push(joined(done));
    }
    outcomes
}
