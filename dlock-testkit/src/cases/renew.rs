//! R1 to R3: what a renewal extends, what it repeats, and what it can never revive.

use dlock_core::provider::RenewOutcome;
use tokio::time::Instant;

use crate::{Bench, slow::in_time, subject::unchanged};

/// The largest possible renewal number.
const LAST: u64 = (1 << 53) - 1;

pub(super) async fn renewal_extends_the_lease(bench: Bench) {
    let subject = bench.subject().await;
    let lease = bench.lease();
    let name = bench.name("");
    let (a, b) = (bench.term_of(&name, lease), bench.term(&name));
    let acquired = Instant::now();
    subject.grants(&a).await;
    tokio::time::sleep((lease * 6 / 10).saturating_sub(acquired.elapsed())).await;
    let asked = Instant::now();
    let renewal = subject.renew(&a, 1).await;
    let renewed = Instant::now();
    in_time(acquired.elapsed() < lease, "the lease may have ended");
    assert_eq!(renewal, RenewOutcome::Renewed { asked: false });
    tokio::time::sleep(lease * 6 / 10).await;
    subject.refuses_until(asked + lease, &b).await;
    if bench.store_clock() {
        // By one lease, and no further.
        bench.outlast(lease.saturating_sub(renewed.elapsed())).await;
        subject.grants(&b).await;
    }
}

pub(super) async fn renewal_changes_nothing_but_number_and_expiry(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench
        .term(&bench.name(""))
        .owner("worker-7")
        .data(Some(vec![7; 100]));
    subject.grants(&a).await;
    let mut before = subject.record(&a.name).await;
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    subject.renews(&a, 1).await;
    let after = subject.record(&a.name).await;
    before.renewals = 1;
    before.remaining = after.remaining;
    assert_eq!(before, after);
}

pub(super) async fn renewal_numbers_may_be_skipped(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench.term(&bench.name(""));
    subject.grants(&a).await;
    for n in [1, 2, 5, 1_000, LAST - 1, LAST] {
        assert!(!subject.renews(&a, n).await);
        assert_eq!(subject.record(&a.name).await.renewals, n);
    }
}

pub(super) async fn repeated_renewal_is_a_success(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench.term(&bench.name(""));
    subject.grants(&a).await;
    subject.renews(&a, 4).await;
    let before = subject.record(&a.name).await;
    for _ in 0..3 {
        subject.renews(&a, 4).await;
    }
    unchanged(&before, &subject.record(&a.name).await);
}

pub(super) async fn overtaken_renewal_is_a_success_that_changes_nothing(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench.term(&bench.name(""));
    subject.grants(&a).await;
    subject.renews(&a, LAST).await;
    let before = subject.record(&a.name).await;
    // The last of these differs from the applied number only beyond the precision of a double or of a 32-bit integer.
    for late in [1, 2, 1 << 32, LAST - 1] {
        subject.renews(&a, late).await;
    }
    unchanged(&before, &subject.record(&a.name).await);
}

pub(super) async fn repeated_renewal_does_not_extend_the_lease(bench: Bench) {
    let subject = bench.subject().await;
    let lease = bench.lease();
    let name = bench.name("");
    let (a, b) = (bench.term_of(&name, lease), bench.term(&name));
    let asked = Instant::now();
    subject.grants(&a).await;
    let mut answers = vec![subject.renew(&a, 2).await];
    let renewed = Instant::now();
    tokio::time::sleep(lease / 2).await;
    for copy in [2, 1] {
        answers.push(subject.renew(&a, copy).await);
    }
    in_time(asked.elapsed() < lease, "the lease may have ended");
    assert_eq!(answers, vec![RenewOutcome::Renewed { asked: false }; 3]);
    bench.outlast(lease.saturating_sub(renewed.elapsed())).await;
    if bench.store_clock() {
        subject.grants(&b).await;
    }
}

pub(super) async fn repeated_renewal_of_an_expired_term_is_still_answered(bench: Bench) {
    // R2 does not check the expiry: the answer belongs to an attempt that was applied in time, and a caller that gets
    // it late gains nothing by it. Any other answer would report a loss that did not happen.
    let subject = bench.subject().await;
    let lease = bench.lease();
    let a = bench.term_of(&bench.name(""), lease);
    let asked = Instant::now();
    subject.grants(&a).await;
    let renewal = subject.renew(&a, 1).await;
    in_time(asked.elapsed() < lease, "the lease may have ended");
    assert_eq!(renewal, RenewOutcome::Renewed { asked: false });
    bench.outlast(lease).await;
    let before = subject.record(&a.name).await;
    subject.renews(&a, 1).await;
    unchanged(&before, &subject.record(&a.name).await);
}

pub(super) async fn renewal_of_a_released_term_is_lost(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench.term(&bench.name(""));
    let token = subject.grants(&a).await;
    subject.renews(&a, 1).await;
    subject.releases(&a, Some(token)).await;
    let before = subject.record(&a.name).await;
    for n in [1, 2] {
        let shown = subject.loses(&a, n).await;
        assert_eq!(shown.as_ref(), Some(&before), "the loss shows the record");
    }
    assert_eq!(subject.record(&a.name).await, before);
    subject.grants(&bench.term(&a.name)).await;
}

pub(super) async fn renewal_of_an_expired_term_is_lost(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench.term_of(&bench.name(""), bench.lease());
    subject.grants(&a).await;
    // In paused time this is exactly the instant of the expiry: acquire and renew must agree on it.
    bench.outlast(a.duration).await;
    if bench.store_clock() {
        let before = subject.record(&a.name).await;
        assert!(matches!(subject.loses(&a, 1).await, Some(shown) if shown.uuid == a.new));
        unchanged(&before, &subject.record(&a.name).await);
        subject.grants(&bench.term(&a.name)).await;
    } else {
        subject.renews(&a, 1).await;
        subject.refuses(&bench.term(&a.name)).await;
    }
}

pub(super) async fn renewal_without_a_record_is_lost_and_creates_none(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench.term(&bench.name(""));
    assert_eq!(subject.loses(&a, 1).await, None);
    assert_eq!(subject.read(&a.name).await, None);
    subject.grants(&bench.term(&a.name)).await;
}

pub(super) async fn renewal_of_a_strangers_term_is_lost(bench: Bench) {
    let subject = bench.subject().await;
    let (a, b) = (bench.term(&bench.name("")), bench.term(&bench.name("")));
    subject.grants(&a).await;
    subject.renews(&a, 1).await;
    let before = subject.record(&a.name).await;
    for n in [0, 1, 2] {
        assert!(matches!(subject.loses(&b, n).await, Some(shown) if shown.uuid == a.new));
    }
    unchanged(&before, &subject.record(&a.name).await);
}

pub(super) async fn renewals_and_replays_keep_the_token(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench.term(&bench.name(""));
    let token = subject.grants(&a).await;
    for n in 1..=5 {
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        subject.renews(&a, n).await;
        subject.renews(&a, n).await;
        assert_eq!(subject.grants(&a).await, token);
        assert_eq!(subject.record(&a.name).await.token, token);
    }
}
