//! A1 to A3 and A7: the record of a first grant, repeats of an acquire, refusals.

use std::time::Duration;

use dlock_core::provider::Version;
use uuid::Uuid;

use crate::{
    Bench,
    slow::in_time,
    subject::{began, unchanged},
};

pub(super) async fn absent_record_is_created(bench: Bench) {
    let subject = bench.subject().await;
    let name = bench.name("");
    assert_eq!(subject.read(&name).await, None);
    let a = bench
        .term(&name)
        .owner("worker-7")
        .data(Some(b"payload".to_vec()));
    let token = subject.grants(&a).await;
    began(&subject.record(&name).await, &a, token);
}

pub(super) async fn repeated_acquire_finds_its_own_grant(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench.term(&bench.name("")).data(Some(vec![1]));
    let token = subject.grants(&a).await;
    let before = subject.record(&a.name).await;
    for _ in 0..3 {
        assert_eq!(
            subject.grants(&a).await,
            token,
            "the repeat of a lost reply minted another token"
        );
    }
    unchanged(&before, &subject.record(&a.name).await);
}

pub(super) async fn repeated_acquire_finds_its_own_grant_after_a_renewal(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench.term(&bench.name(""));
    let token = subject.grants(&a).await;
    subject.renews(&a, 3).await;
    let before = subject.record(&a.name).await;
    assert_eq!(subject.grants(&a).await, token);
    let after = subject.record(&a.name).await;
    assert_eq!(
        after.renewals, 3,
        "a late copy of the acquire set the renewal number back"
    );
    unchanged(&before, &after);
}

pub(super) async fn repeated_acquire_does_not_extend_the_lease(bench: Bench) {
    let subject = bench.subject().await;
    let lease = bench.lease();
    let name = bench.name("");
    let (a, b) = (bench.term_of(&name, lease), bench.term(&name));
    let asked = tokio::time::Instant::now();
    subject.grants(&a).await;
    let granted = tokio::time::Instant::now();
    tokio::time::sleep(lease / 2).await;
    let outcome = subject.acquire(&a).await;
    in_time(asked.elapsed() < lease, "the lease may have ended");
    assert!(
        matches!(outcome, dlock_core::provider::AcquireOutcome::Acquired(_)),
        "{outcome:?}"
    );
    bench.outlast(lease.saturating_sub(granted.elapsed())).await;
    if bench.store_clock() {
        subject.grants(&b).await;
    } else {
        subject.refuses(&b).await;
    }
}

pub(super) async fn acquire_of_a_released_term_is_spent(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench.term(&bench.name(""));
    let token = subject.grants(&a).await;
    subject.releases(&a, Some(token)).await;
    let before = subject.record(&a.name).await;
    subject.spends(&a).await;
    // Whatever version the try claims (`prev`).
    let claiming = a.clone().prev(Some(before.version()));
    subject.spends(&claiming).await;
    unchanged(&before, &subject.record(&a.name).await);
}

pub(super) async fn acquire_of_an_expired_term_is_spent(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench.term_of(&bench.name(""), bench.lease());
    let token = subject.grants(&a).await;
    bench.outlast(a.duration).await;
    let before = subject.record(&a.name).await;
    if bench.store_clock() {
        subject.spends(&a).await;
    } else {
        assert_eq!(
            subject.grants(&a).await,
            token,
            "without a store clock nothing expires, so this is A2"
        );
    }
    unchanged(&before, &subject.record(&a.name).await);
}

pub(super) async fn held_lock_refuses_newcomers(bench: Bench) {
    let (subject, other) = (bench.subject().await, bench.subject().await);
    let name = bench.name("");
    let a = bench
        .term(&name)
        .owner("worker-7")
        .data(Some(b"payload".to_vec()));
    let token = subject.grants(&a).await;
    for _ in 0..3 {
        let shown = other.refuses(&bench.term(&name)).await;
        began(&shown, &a, token);
        if bench.store_clock() {
            let remaining = shown.remaining.unwrap_or_default();
            assert!(
                remaining > a.duration / 2,
                "of {:?} only {remaining:?} is left at once",
                a.duration
            );
        }
    }
}

pub(super) async fn refused_acquire_writes_nothing(bench: Bench) {
    let subject = bench.subject().await;
    let name = bench.name("");
    let a = bench.term(&name).data(Some(vec![1, 2, 3]));
    let token = subject.grants(&a).await;
    subject.renews(&a, 1).await;
    let before = subject.record(&name).await;
    // A longer lease, from another provider, with data, and requesting a higher token.
    let b = bench
        .term_of(&name, a.duration * 2)
        .owner("someone else")
        .data(Some(vec![9]))
        .floor(token.get() + 1_000_000)
        .prev(Some(Version {
            uuid: Uuid::new_v4(),
            renewals: 1,
        }));
    for _ in 0..3 {
        let shown = subject.refuses(&b).await;
        unchanged(&before, &shown);
    }
    unchanged(&before, &subject.record(&name).await);
    // Nor may a later try be affected.
    subject.releases(&a, Some(token)).await;
    let released = subject.record(&name).await;
    assert_eq!((released.uuid, released.token), (a.new, token));
}

pub(super) async fn refused_acquire_does_not_extend_the_lease(bench: Bench) {
    let subject = bench.subject().await;
    let lease = bench.lease();
    let name = bench.name("");
    let (a, b) = (bench.term_of(&name, lease), bench.term(&name));
    let asked = tokio::time::Instant::now();
    subject.grants(&a).await;
    let granted = tokio::time::Instant::now();
    tokio::time::sleep(lease / 2).await;
    subject.refuses_until(asked + lease, &b).await;
    bench.outlast(lease.saturating_sub(granted.elapsed())).await;
    if bench.store_clock() {
        subject.grants(&b).await;
    }
    // On every store, the renewal must see the holder's own state.
    let renewal = subject.renew(&a, 1).await;
    assert_eq!(
        matches!(renewal, dlock_core::provider::RenewOutcome::Lost(_)),
        bench.store_clock(),
        "{renewal:?}"
    );
}

pub(super) async fn owners_label_decides_nothing(bench: Bench) {
    let subject = bench.subject().await;
    let name = bench.name("");
    let a = bench.term(&name).owner("host-1:17");
    let token = subject.grants(&a).await;
    let b = bench.term(&name).owner("host-1:17");
    subject.refuses(&b).await;
    assert!(matches!(subject.loses(&b, 1).await, Some(record) if record.uuid == a.new));
    assert!(matches!(subject.holds_not(&b).await, Some(record) if record.uuid == a.new));
    began(&subject.record(&name).await, &a, token);
}

pub(super) async fn late_copy_of_an_acquire_does_not_disturb_the_next_term(bench: Bench) {
    let subject = bench.subject().await;
    let name = bench.name("");
    let (a, b) = (bench.term(&name), bench.term(&name));
    let token = subject.grants(&a).await;
    subject.renews(&a, 1).await;
    subject.releases(&a, Some(token)).await;
    let next = subject.grants(&b).await;
    // Every request that A ever sent arrives once more.
    let shown = subject.refuses(&a).await;
    began(&shown, &b, next);
    subject.loses(&a, 1).await;
    subject.holds_not(&a).await;
    began(&subject.record(&name).await, &b, next);
}

pub(super) async fn leases_of_every_length_are_kept_exactly(bench: Bench) {
    let subject = bench.subject().await;
    for millis in [100, 101, 999, 12_345, 86_400_000] {
        let a = bench.term_of(
            &bench.name(&millis.to_string()),
            Duration::from_millis(millis),
        );
        subject.grants(&a).await;
        let record = subject.record(&a.name).await;
        assert_eq!(record.duration, a.duration);
        if bench.store_clock() {
            let remaining = record.remaining.unwrap_or_default();
            assert!(remaining <= a.duration, "{remaining:?} of {:?}", a.duration);
            assert!(
                millis < 10_000 || remaining > a.duration / 2,
                "{remaining:?} of {:?}",
                a.duration
            );
        }
    }
}
