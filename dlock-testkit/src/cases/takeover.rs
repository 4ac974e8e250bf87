//! A4 to A6: the conditions for taking a lock, and that taking it writes every field.

use std::time::Duration;

use dlock_core::provider::{Acquire, RenewOutcome, Version};
use tokio::time::Instant;
use uuid::Uuid;

use crate::{
    Bench, Subject,
    slow::in_time,
    subject::{began, unchanged},
};

pub(super) async fn released_lock_is_taken(bench: Bench) {
    let subject = bench.subject().await;
    let (a, b) = rich_then_plain(&bench, &bench.name(""));
    let token = subject.grants(&a).await;
    subject.renews(&a, 1).await;
    subject.releases(&a, Some(token)).await;
    takes_it_whole(&subject, &a, &b).await;
}

pub(super) async fn expired_lock_is_taken_by_a_newcomer(bench: Bench) {
    let subject = bench.subject().await;
    let (mut a, b) = rich_then_plain(&bench, &bench.name(""));
    a.duration = bench.lease();
    subject.grants(&a).await;
    bench.outlast(a.duration).await;
    if bench.store_clock() {
        takes_it_whole(&subject, &a, &b).await;
    } else {
        // However much time passes, only an observation ends it.
        tokio::time::sleep(a.duration).await;
        subject.refuses(&b).await;
        subject.renews(&a, 1).await;
    }
}

pub(super) async fn lock_is_refused_until_it_expires(bench: Bench) {
    let subject = bench.subject().await;
    let lease = bench.lease();
    let name = bench.name("");
    let (a, b) = (bench.term_of(&name, lease), bench.term(&name));
    let asked = Instant::now();
    subject.grants(&a).await;
    // As late as this clock can still distinguish from the end.
    tokio::time::sleep((lease * 3 / 4).saturating_sub(asked.elapsed())).await;
    subject.refuses_until(asked + lease, &b).await;
}

pub(super) async fn claimed_version_is_taken(bench: Bench) {
    let subject = bench.subject().await;
    let (a, b) = rich_then_plain(&bench, &bench.name(""));
    subject.grants(&a).await;
    let seen = subject.refuses(&b).await;
    takes_it_whole(&subject, &a, &b.prev(Some(seen.version()))).await;
}

pub(super) async fn claimed_version_is_taken_after_renewals(bench: Bench) {
    let subject = bench.subject().await;
    let (a, b) = rich_then_plain(&bench, &bench.name(""));
    subject.grants(&a).await;
    subject.renews(&a, 4).await;
    let seen = subject.refuses(&b).await;
    assert_eq!(
        seen.version(),
        Version {
            uuid: a.new,
            renewals: 4
        }
    );
    takes_it_whole(&subject, &a, &b.prev(Some(seen.version()))).await;
}

pub(super) async fn claim_of_a_renewed_version_is_refused(bench: Bench) {
    let subject = bench.subject().await;
    let name = bench.name("");
    let a = bench.term(&name);
    subject.grants(&a).await;
    let seen = subject.refuses(&bench.term(&name)).await;
    subject.renews(&a, 1).await;
    let before = subject.record(&name).await;
    subject
        .refuses(&bench.term(&name).prev(Some(seen.version())))
        .await;
    unchanged(&before, &subject.record(&name).await);
    subject.renews(&a, 2).await;
}

pub(super) async fn claim_of_another_version_is_refused(bench: Bench) {
    let subject = bench.subject().await;
    let name = bench.name("");
    let a = bench.term(&name);
    subject.grants(&a).await;
    subject.renews(&a, 1).await;
    let before = subject.record(&name).await;
    for other in [
        Version {
            uuid: a.new,
            renewals: 2,
        },
        Version {
            uuid: a.new,
            renewals: 0,
        },
        Version {
            uuid: Uuid::new_v4(),
            renewals: 1,
        },
        Version {
            uuid: Uuid::nil(),
            renewals: 1,
        },
    ] {
        subject.refuses(&bench.term(&name).prev(Some(other))).await;
    }
    unchanged(&before, &subject.record(&name).await);
}

pub(super) async fn claim_does_not_hinder_where_none_is_needed(bench: Bench) {
    let subject = bench.subject().await;
    let name = bench.name("");
    let wrong = Some(Version {
        uuid: Uuid::new_v4(),
        renewals: 7,
    });
    let a = bench.term_of(&name, bench.lease()).prev(wrong); // A1
    let first = subject.grants(&a).await;
    subject.releases(&a, Some(first)).await;
    let b = bench.term_of(&name, bench.lease()).prev(wrong); // A4
    let second = subject.grants(&b).await;
    assert!(second > first);
    if bench.store_clock() {
        bench.outlast(b.duration).await;
        let c = bench.term(&name).prev(wrong); // A5
        assert!(subject.grants(&c).await > second);
    }
}

pub(super) async fn takeover_lasts_for_the_new_lease(bench: Bench) {
    // A library that left the old lease in place let a third client steal a live one.
    let subject = bench.subject().await;
    let lease = bench.lease();
    let name = bench.name("");
    let (a, b, c) = (
        bench.term_of(&name, (lease / 4).max(Duration::from_millis(100))),
        bench.term_of(&name, lease * 2),
        bench.term(&name),
    );
    let token = subject.grants(&a).await;
    subject.releases(&a, Some(token)).await;
    let asked = Instant::now();
    subject.grants(&b).await;
    tokio::time::sleep(lease).await;
    subject.refuses_until(asked + b.duration, &c).await;
    // Its renewals extend it by the same duration.
    let again = Instant::now();
    let renewal = subject.renew(&b, 1).await;
    in_time(asked.elapsed() < b.duration, "the lease may have ended");
    assert!(
        matches!(renewal, RenewOutcome::Renewed { .. }),
        "the live lease was lost: {renewal:?}"
    );
    tokio::time::sleep(lease).await;
    subject.refuses_until(again + b.duration, &c).await;
}

/// A first term with a value in every field, and a second with none of them.
fn rich_then_plain(bench: &Bench, name: &dlock_core::Name) -> (Acquire, Acquire) {
    let a = bench
        .term(name)
        .owner("the first")
        .data(Some(b"of the first".to_vec()));
    let b = bench.term_of(name, a.duration * 2).owner("");
    (a, b)
}

/// No field of the old term remains, and its holder can no longer do anything.
async fn takes_it_whole(subject: &Subject, a: &Acquire, b: &Acquire) {
    let old = subject.record(&a.name).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let token = subject.grants(b).await;
    assert!(token > old.token, "{token} does not follow {}", old.token);
    let record = subject.record(&b.name).await;
    began(&record, b, token);
    assert_ne!(record.since, old.since, "`since` is still the old term's");
    assert!(matches!(subject.loses(a, 9).await, Some(shown) if shown.uuid == b.new));
    assert!(matches!(subject.holds_not(a).await, Some(shown) if shown.uuid == b.new));
    began(&subject.record(&b.name).await, b, token);
}
