//! L1 to L3: a release keeps the record, may be repeated, and affects no other term.

use dlock_core::FencingToken;

use crate::{
    Bench,
    subject::{began, unchanged},
};

pub(super) async fn release_keeps_everything_but_the_hold(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench
        .term(&bench.name(""))
        .owner("worker-7")
        .data(Some(b"payload".to_vec()));
    let token = subject.grants(&a).await;
    subject.renews(&a, 2).await;
    let mut before = subject.record(&a.name).await;
    subject.releases(&a, Some(token)).await;
    before.released = true;
    before.remaining = None;
    assert_eq!(subject.record(&a.name).await, before);
}

pub(super) async fn repeated_release_is_a_success(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench.term(&bench.name(""));
    let token = subject.grants(&a).await;
    subject.releases(&a, Some(token)).await;
    let before = subject.record(&a.name).await;
    for _ in 0..3 {
        subject.releases(&a, Some(token)).await;
    }
    assert_eq!(subject.record(&a.name).await, before);
}

pub(super) async fn release_of_a_strangers_term_changes_nothing(bench: Bench) {
    let subject = bench.subject().await;
    let name = bench.name("");
    let (a, b) = (bench.term(&name), bench.term(&name));
    let old = subject.grants(&a).await;
    subject.renews(&a, 1).await;
    let seen = subject.refuses(&b).await;
    let b = b.prev(Some(seen.version()));
    let token = subject.grants(&b).await;
    // The paused holder wakes up and releases a lock that it no longer holds.
    let shown = subject
        .holds_not(&a)
        .await
        .unwrap_or_else(|| panic!("the release does not say who holds it"));
    began(&shown, &b, token);
    assert!(token > old);
    began(&subject.record(&name).await, &b, token);
    // Nor does it once the successor is gone.
    subject.releases(&b, Some(token)).await;
    let before = subject.record(&name).await;
    assert_eq!(subject.holds_not(&a).await.as_ref(), Some(&before));
    assert_eq!(subject.record(&name).await, before);
}

pub(super) async fn release_without_a_record_creates_none(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench.term(&bench.name(""));
    assert_eq!(subject.holds_not(&a).await, None);
    assert_eq!(subject.read(&a.name).await, None);
}

pub(super) async fn expired_term_can_still_be_released(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench.term_of(&bench.name(""), bench.lease());
    let token = subject.grants(&a).await;
    bench.outlast(a.duration).await;
    subject.releases(&a, Some(token)).await;
    let record = subject.record(&a.name).await;
    assert!(record.released && record.uuid == a.new, "{record:?}");
}

pub(super) async fn token_of_a_release_decides_nothing(bench: Bench) {
    let subject = bench.subject().await;
    for (label, shift) in [("none", None), ("lower", Some(-1_i64)), ("higher", Some(1))] {
        let a = bench.term(&bench.name(label));
        let token = subject.grants(&a).await;
        let presented =
            shift.and_then(|shift| FencingToken::new(token.get().saturating_add_signed(shift)));
        subject.releases(&a, presented).await;
        let record = subject.record(&a.name).await;
        assert!(
            record.released && record.token == token,
            "{label}: {record:?}"
        );
    }
}

pub(super) async fn release_does_not_depend_on_the_renewals(bench: Bench) {
    // A renewal may be applied although its holder never received the answer.
    let subject = bench.subject().await;
    let a = bench.term(&bench.name(""));
    let token = subject.grants(&a).await;
    subject.renews(&a, 9).await;
    subject.releases(&a, Some(token)).await;
    let before = subject.record(&a.name).await;
    assert!(before.released);
    // A renewal that arrives after the release does not revive the term.
    subject.loses(&a, 10).await;
    unchanged(&before, &subject.record(&a.name).await);
}
