//! B4: a release that leaves the name closed, for every client and for its own time.

use std::time::Duration;

use dlock_core::{
    FencingToken, Record,
    provider::{Acquire, Closing, ReleaseOutcome},
};
use tokio::time::Instant;

use crate::{
    Bench, Subject,
    subject::{began, unchanged},
};

pub(super) const LONG: Duration = Duration::from_secs(300);

pub(super) async fn closing_ends_a_term_and_keeps_everybody_out(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench
        .term(&bench.name(""))
        .owner("worker-7")
        .data(Some(b"payload".to_vec()));
    let token = subject.grants(&a).await;
    subject.renews(&a, 3).await;
    let mut expected = subject.record(&a.name).await;
    let closing = closing(LONG);
    closes(&subject, &a, Some(token), closing).await;
    let closed = subject.record(&a.name).await;
    assert!(closed.is_closed(), "{closed:?}");
    // Everything else stays, so that people can see which term closed the name.
    (expected.uuid, expected.renewals) = (closing.uuid(), 0);
    expected.duration = LONG;
    expected.remaining = expected.remaining.map(|_| LONG);
    unchanged(&expected, &closed);
    // The holder is refused like any stranger.
    assert!(matches!(subject.loses(&a, 4).await, Some(record) if record.uuid == closing.uuid()));
    assert!(matches!(subject.holds_not(&a).await, Some(record) if record.uuid == closing.uuid()));
    subject.refuses(&a).await;
    let b = bench.term(&a.name);
    subject.refuses(&b).await;
    let mut before = closed.version();
    (before.uuid, before.renewals) = (a.new, 3);
    subject
        .refuses(&bench.term(&a.name).prev(Some(before)))
        .await;
    // The closing has no holder, so an observation of it permits a claim like any other.
    let b = b.prev(Some(closed.version()));
    let next = subject.grants(&b).await;
    assert!(next > token);
    began(&subject.record(&a.name).await, &b, next);
}

pub(super) async fn closed_name_opens_when_its_own_time_is_over(bench: Bench) {
    let subject = bench.subject().await;
    // A closing that lasts longer than the lease that it ends, and one that is shorter.
    for (label, longer) in [("longer", true), ("shorter", false)] {
        opens_in_time(&bench, &subject, label, longer).await;
    }
}

async fn opens_in_time(bench: &Bench, subject: &Subject, label: &str, longer: bool) {
    let lasts = bench.lease();
    let name = bench.name(label);
    let lease = if longer { lasts / 2 } else { 60 * lasts };
    let a = bench.term_of(&name, lease.max(Duration::from_millis(100)));
    let token = subject.grants(&a).await;
    let began = Instant::now();
    closes(subject, &a, Some(token), closing(lasts)).await;
    let closed = Instant::now();
    tokio::time::sleep(lasts * 2 / 3).await;
    let early = bench.term(&name);
    subject.refuses_until(began + lasts, &early).await;
    bench.outlast(lasts.saturating_sub(closed.elapsed())).await;
    if bench.store_clock() {
        subject.grants(&bench.term(&name)).await;
    } else {
        subject.refuses(&bench.term(&name)).await;
    }
}

pub(super) async fn expired_term_can_still_be_closed(bench: Bench) {
    // The holder finished in time, and its release came late; no other term has begun meanwhile.
    let subject = bench.subject().await;
    let a = bench.term_of(&bench.name(""), bench.lease());
    let token = subject.grants(&a).await;
    bench.outlast(a.duration).await;
    closes(&subject, &a, Some(token), closing(LONG)).await;
    subject.refuses(&bench.term(&a.name)).await;
}

pub(super) async fn repeated_closing_is_a_success_that_changes_nothing(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench.term(&bench.name(""));
    let token = subject.grants(&a).await;
    let ours = closing(LONG);
    closes(&subject, &a, Some(token), ours).await;
    let before = subject.record(&a.name).await;
    tokio::time::sleep(Duration::from_millis(30)).await;
    for token in [Some(token), None] {
        closes(&subject, &a, token, ours).await;
    }
    unchanged(&before, &subject.record(&a.name).await);
    if bench.store_clock() {
        let left = subject.record(&a.name).await.remaining;
        assert!(left < Some(LONG), "the repeat closed it anew: {left:?}");
    }
    // Another closing is not a repeat.
    closes_not(&subject, &a, closing(LONG), |shown| {
        unchanged(
            &before,
            &shown.unwrap_or_else(|| panic!("it was shown nothing")),
        );
    })
    .await;
}

pub(super) async fn closing_of_what_is_not_held_changes_nothing(bench: Bench) {
    let subject = bench.subject().await;
    let name = bench.name("");
    let (a, b) = (bench.term(&name), bench.term(&name));
    closes_not(&subject, &a, closing(LONG), |shown| {
        assert_eq!(shown, None, "there is no record");
    })
    .await;
    assert_eq!(subject.read(&name).await, None);
    // A stranger's term.
    let token = subject.grants(&a).await;
    let before = subject.record(&name).await;
    closes_not(&subject, &b, closing(LONG), |shown| {
        unchanged(
            &before,
            &shown.unwrap_or_else(|| panic!("it was shown nothing")),
        );
    })
    .await;
    unchanged(&before, &subject.record(&name).await);
    // A term that was already released: its name is free, and stays free.
    subject.releases(&a, Some(token)).await;
    let before = subject.record(&name).await;
    closes_not(&subject, &a, closing(LONG), |shown| {
        assert_eq!(shown.as_ref(), Some(&before));
    })
    .await;
    assert_eq!(subject.record(&name).await, before);
    subject.grants(&b).await;
}

pub(super) async fn tokens_grow_across_a_closing(bench: Bench) {
    let subject = bench.subject().await;
    let name = bench.name("");
    let mut last: Option<FencingToken> = None;
    for _ in 0..3 {
        let prev = subject.read(&name).await.map(|record| record.version());
        let a = bench.term(&name).prev(prev);
        let token = subject.grants(&a).await;
        assert!(
            last.is_none_or(|last| token > last),
            "{token} after {last:?}"
        );
        last = Some(token);
        closes(&subject, &a, Some(token), closing(LONG)).await;
        assert_eq!(subject.record(&name).await.token, token);
    }
}

pub(super) fn closing(lasts: Duration) -> Closing {
    Closing::new(lasts).unwrap_or_else(|error| panic!("no uuid to close with: {error:?}"))
}

async fn closes(subject: &Subject, term: &Acquire, token: Option<FencingToken>, closing: Closing) {
    let outcome = subject.close(term, token, closing).await;
    assert_eq!(
        outcome,
        ReleaseOutcome::Released { wanted: false },
        "the term should have been closed"
    );
}

async fn closes_not(
    subject: &Subject,
    term: &Acquire,
    closing: Closing,
    check: impl FnOnce(Option<Record>),
) {
    match subject.close(term, None, closing).await {
        ReleaseOutcome::NotHeld(shown) => check(shown),
        ReleaseOutcome::Released { .. } => panic!("what is not held was closed"),
    }
}
