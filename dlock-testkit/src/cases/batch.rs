//! `renew_many`: independent renewals, one answer each, in order.

use dlock_core::{
    ErrorKind, Provider, ProviderError,
    provider::{Acquire, Renew, RenewOutcome},
};
use tokio::task::JoinSet;

use crate::{
    Bench,
    slow::{in_time, joined},
    subject::unchanged,
};

pub(super) async fn batch_is_answered_in_order(bench: Bench) {
    let subject = bench.subject().await;
    // Unordered names with mixed fates: extended, unknown, repeated, released, held by another term.
    let labels = ["m", "a", "z", "k", "b", "y"];
    let terms: Vec<Acquire> = labels
        .iter()
        .map(|label| bench.term(&bench.name(label)))
        .collect();
    let [m, a, z, k, b, y] = &terms[..] else {
        unreachable!("six labels")
    };
    subject.grants(m).await;
    subject.grants(z).await;
    subject.renews(z, 5).await;
    let token = subject.grants(k).await;
    subject.releases(k, Some(token)).await;
    let stranger = bench.term(&b.name);
    subject.grants(&stranger).await;
    subject.grants(y).await;

    let requests =
        [(m, 1), (a, 1), (z, 3), (k, 1), (b, 1), (y, 2)].map(|(term, n)| renewal(term, n));
    let answers = answered(&**subject.provider(), &requests).await;
    assert_eq!(answers.len(), requests.len(), "an answer for each renewal");
    let renewed = RenewOutcome::Renewed { asked: false };
    assert_eq!(answers[0], renewed, "first in the batch");
    assert_eq!(answers[1], RenewOutcome::Lost(None), "never there");
    assert_eq!(answers[2], renewed, "overtaken");
    assert!(
        matches!(&answers[3], RenewOutcome::Lost(Some(record)) if record.released),
        "{:?}",
        answers[3]
    );
    assert!(matches!(&answers[4], RenewOutcome::Lost(Some(record)) if record.uuid == stranger.new));
    assert_eq!(answers[5], renewed, "last in the batch");

    let renewals = [m, z, y].map(|term| &term.name);
    for (name, expected) in renewals.into_iter().zip([1, 5, 2]) {
        assert_eq!(subject.record(name).await.renewals, expected, "{name}");
    }
    assert_eq!(
        subject.read(&a.name).await,
        None,
        "a renewal never creates a record"
    );
    assert!(subject.record(&k.name).await.released);
}

pub(super) async fn batch_may_name_a_lock_twice(bench: Bench) {
    // An old and a new term of one client.
    let subject = bench.subject().await;
    let name = bench.name("");
    let (old, new) = (bench.term(&name), bench.term(&name));
    let token = subject.grants(&old).await;
    subject.releases(&old, Some(token)).await;
    subject.grants(&new).await;
    for requests in [
        [renewal(&old, 1), renewal(&new, 1)],
        [renewal(&new, 2), renewal(&old, 2)],
    ] {
        let answers = answered(&**subject.provider(), &requests).await;
        assert_eq!(answers.len(), 2);
        for (request, answer) in requests.iter().zip(&answers) {
            let lost = matches!(answer, RenewOutcome::Lost(Some(record)) if record.uuid == new.new);
            let renewed = *answer == RenewOutcome::Renewed { asked: false };
            assert!(
                if request.uuid == new.new {
                    renewed
                } else {
                    lost
                },
                "{request:?} was answered {answer:?}"
            );
        }
    }
    assert_eq!(subject.record(&name).await.renewals, 2);
}

pub(super) async fn empty_batch_has_no_answers(bench: Bench) {
    let subject = bench.subject().await;
    assert!(subject.provider().renew_many(&[]).await.is_empty());
}

pub(super) async fn batch_extends_every_lease(bench: Bench) {
    let subject = bench.subject().await;
    let lease = bench.lease();
    let terms: Vec<Acquire> = (0..20)
        .map(|i| bench.term_of(&bench.name(&i.to_string()), lease * 2))
        .collect();
    let granted = tokio::time::Instant::now();
    for term in &terms {
        subject.grants(term).await;
    }
    tokio::time::sleep(lease).await;
    let requests: Vec<Renew> = terms.iter().map(|term| renewal(term, 1)).collect();
    let asked = tokio::time::Instant::now();
    let answers = answered(&**subject.provider(), &requests).await;
    in_time(granted.elapsed() < lease * 2, "a lease may have ended");
    assert_eq!(answers, vec![RenewOutcome::Renewed { asked: false }; 20]);
    tokio::time::sleep((lease * 3 / 2).saturating_sub(asked.elapsed())).await;
    let mut contenders = Vec::new();
    for term in &terms {
        contenders.push(subject.acquire(&bench.term(&term.name)).await);
    }
    in_time(asked.elapsed() < lease * 2, "a lease may have ended");
    assert!(
        contenders
            .iter()
            .all(|outcome| matches!(outcome, dlock_core::provider::AcquireOutcome::Held(_))),
        "a lease that the batch renewed was taken: {contenders:?}"
    );
}

pub(super) async fn one_loss_in_a_batch_leaves_the_others(bench: Bench) {
    let subject = bench.subject().await;
    let (lost, held) = (bench.term(&bench.name("a")), bench.term(&bench.name("b")));
    let winner = bench.term(&lost.name);
    subject.grants(&winner).await;
    subject.grants(&held).await;
    let before = subject.record(&winner.name).await;
    let answers = answered(
        &**subject.provider(),
        &[renewal(&lost, 1), renewal(&held, 1)],
    )
    .await;
    assert!(
        matches!(
            &answers[..],
            [
                RenewOutcome::Lost(Some(_)),
                RenewOutcome::Renewed { asked: false }
            ]
        ),
        "{answers:?}"
    );
    unchanged(&before, &subject.record(&winner.name).await);
    assert_eq!(subject.record(&held.name).await.renewals, 1);
}

pub(super) async fn batches_in_opposite_orders_do_not_block_each_other(bench: Bench) {
    let (one, two) = (bench.subject().await, bench.subject().await);
    let terms: Vec<Acquire> = (0..16)
        .map(|i| bench.term(&bench.name(&i.to_string())))
        .collect();
    for term in &terms {
        one.grants(term).await;
    }
    let mut batches = JoinSet::new();
    for (subject, backwards) in [(one.clone(), false), (two, true)] {
        let terms = terms.clone();
        batches.spawn(async move {
            for n in 1..=10 {
                let mut requests: Vec<Renew> = terms.iter().map(|term| renewal(term, n)).collect();
                if backwards {
                    requests.reverse();
                }
                let answers = answered(&**subject.provider(), &requests).await;
                assert_eq!(
                    answers,
                    vec![RenewOutcome::Renewed { asked: false }; requests.len()]
                );
            }
        });
    }
    while let Some(done) = batches.join_next().await {
        joined(done);
    }
    for term in &terms {
        assert_eq!(one.record(&term.name).await.renewals, 10);
    }
}

fn renewal(term: &Acquire, n: u64) -> Renew {
    Renew::new(term.name.clone(), term.new, n)
}

/// The answers; items without an answer are sent again.
pub(super) async fn answered(provider: &dyn Provider, requests: &[Renew]) -> Vec<RenewOutcome> {
    let mut answers: Vec<Result<RenewOutcome, ProviderError>> = provider.renew_many(requests).await;
    for _ in 0..3 {
        let open: Vec<usize> = (0..answers.len().min(requests.len()))
            .filter(|&i| answers[i].is_err())
            .collect();
        for i in open {
            if answers[i]
                .as_ref()
                .is_err_and(|error| error.kind() != ErrorKind::Fatal)
            {
                answers[i] = provider.renew(&requests[i]).await;
            }
        }
    }
    let answers: Result<Vec<RenewOutcome>, ProviderError> = answers.into_iter().collect();
    answers.unwrap_or_else(|error| panic!("a renewal in a batch failed: {error:?}"))
}
