//! T1, T2, T6: fencing tokens only ever grow, follow the clock and the floor, and end where doubles stop being exact.

use std::time::Duration;

use dlock_core::{FencingToken, Name, provider::Acquire};

use crate::{Bench, Subject, slow::in_time, subject::unchanged};

/// 2024-01-01 and 2100-01-01 in microseconds since 1970.
const SANE: std::ops::Range<u64> = 1_704_067_200_000_000..4_102_444_800_000_000;

pub(super) async fn token_grows_across_release(bench: Bench) {
    let subject = bench.subject().await;
    let name = bench.name("");
    let mut last = None;
    for _ in 0..20 {
        let a = bench.term(&name);
        let token = subject.grants(&a).await;
        assert!(Some(token) > last, "{token} does not follow {last:?}");
        last = Some(token);
        subject.releases(&a, last).await;
    }
}

pub(super) async fn token_grows_across_expiry(bench: Bench) {
    let subject = bench.subject().await;
    let name = bench.name("");
    let mut last = None;
    for _ in 0..3 {
        let prev = subject.read(&name).await.map(|record| record.version());
        // Where no clock ends the lease, the observation does.
        let a = bench.term_of(&name, Duration::from_millis(100));
        let a = if bench.store_clock() { a } else { a.prev(prev) };
        let token = subject.grants(&a).await;
        assert!(Some(token) > last, "{token} does not follow {last:?}");
        last = Some(token);
        bench.outlast(a.duration).await;
    }
}

pub(super) async fn token_grows_across_takeover(bench: Bench) {
    let subject = bench.subject().await;
    let name = bench.name("");
    let mut last = subject.grants(&bench.term(&name)).await;
    for _ in 0..20 {
        let seen = subject.record(&name).await;
        let token = subject
            .grants(&bench.term(&name).prev(Some(seen.version())))
            .await;
        assert!(token > last, "{token} does not follow {last}");
        last = token;
    }
}

pub(super) async fn first_token_is_the_time_in_microseconds(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench.term(&bench.name("a"));
    let token = subject.grants(&a).await;
    assert!(
        SANE.contains(&token.get()),
        "{token} is no time of this century in microseconds"
    );
    // So a name that was purged or lost continues above its old tokens.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let later = subject.grants(&bench.term(&bench.name("b"))).await;
    let passed = later.get().saturating_sub(token.get());
    assert!(
        passed >= 50_000,
        "100 ms later the first token is {passed} higher"
    );
    in_time(
        passed < 60_000_000,
        "the first token of a name a minute later",
    );
}

pub(super) async fn token_follows_the_stores_clock(bench: Bench) {
    let subject = bench.subject().await;
    let name = bench.name("");
    let a = bench.term(&name);
    let token = subject.grants(&a).await;
    subject.releases(&a, Some(token)).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let next = subject.grants(&bench.term(&name)).await;
    let passed = next.get() - token.get();
    if bench.store_clock() {
        assert!(
            passed >= 50_000,
            "100 ms later the token is {passed} higher"
        );
        in_time(passed < 60_000_000, "the next token a minute later");
    } else {
        assert!(passed >= 1);
    }
}

pub(super) async fn token_is_at_least_the_floor(bench: Bench) {
    let subject = bench.subject().await;
    // Far above any clock, with digits that a double could lose.
    let floor = ahead(1_234_567);
    let absent = bench.term(&bench.name("absent")).floor(floor);
    is_granted(&subject, &absent, floor).await;

    let released = bench.name("released");
    let a = bench.term(&released);
    let token = subject.grants(&a).await;
    subject.releases(&a, Some(token)).await;
    is_granted(&subject, &bench.term(&released).floor(floor), floor).await;

    let claimed = bench.name("claimed");
    subject.grants(&bench.term(&claimed)).await;
    let seen = subject.record(&claimed).await.version();
    is_granted(
        &subject,
        &bench.term(&claimed).floor(floor).prev(Some(seen)),
        floor,
    )
    .await;
}

pub(super) async fn floor_below_the_next_token_changes_nothing(bench: Bench) {
    let subject = bench.subject().await;
    let name = bench.name("");
    let high = ahead(13);
    is_granted(&subject, &bench.term(&name).floor(high), high).await;
    for (floor, expected) in [
        (0, high + 1),
        (1, high + 2),
        (high, high + 3),
        (high + 4, high + 4),
        (high + 6, high + 6),
    ] {
        let seen = subject.record(&name).await.version();
        is_granted(
            &subject,
            &bench.term(&name).floor(floor).prev(Some(seen)),
            expected,
        )
        .await;
    }
}

pub(super) async fn token_ahead_of_the_clock_goes_on_one_by_one(bench: Bench) {
    // After a clock was set back, or a restore: the last token decides.
    let subject = bench.subject().await;
    let name = bench.name("");
    let high = ahead(7_654_321);
    for expected in high..high + 4 {
        let a = bench
            .term(&name)
            .floor(if expected == high { high } else { 0 });
        is_granted(&subject, &a, expected).await;
        subject.releases(&a, FencingToken::new(expected)).await;
    }
}

pub(super) async fn tokens_end_below_two_to_the_53(bench: Bench) {
    let subject = bench.subject().await;
    let name = bench.name("");
    let last = FencingToken::MAX.get();
    is_granted(&subject, &bench.term(&name).floor(last - 1), last - 1).await;
    let (seen, next) = (subject.record(&name).await.version(), bench.term(&name));
    is_granted(&subject, &next.clone().prev(Some(seen)), last).await;
    let before = subject.record(&name).await;
    assert_eq!((before.uuid, before.token.get()), (next.new, last));

    // Nothing wraps, and the failed try writes nothing.
    subject
        .fails(&bench.term(&name).prev(Some(before.version())))
        .await;
    unchanged(&before, &subject.record(&name).await);
    // Its holder keeps it, and can release it.
    assert_eq!(subject.grants(&next).await, FencingToken::MAX);
    subject.renews(&next, 1).await;
    subject.releases(&next, Some(FencingToken::MAX)).await;
    let before = subject.record(&name).await;
    subject.fails(&bench.term(&name)).await;
    assert_eq!(subject.record(&name).await, before);
}

pub(super) async fn floor_beyond_all_tokens_is_refused(bench: Bench) {
    let subject = bench.subject().await;
    for (label, floor) in [("next", 1 << 53), ("signed", 1 << 63), ("all", u64::MAX)] {
        let name: Name = bench.name(label);
        subject.fails(&bench.term(&name).floor(floor)).await;
        assert_eq!(subject.read(&name).await, None, "{label}");
    }
    // An existing record stays as it is.
    let name = bench.name("released");
    let a = bench.term(&name);
    let token = subject.grants(&a).await;
    subject.releases(&a, Some(token)).await;
    let before = subject.record(&name).await;
    subject.fails(&bench.term(&name).floor(1 << 53)).await;
    assert_eq!(subject.record(&name).await, before);
}

/// A floor ahead of any clock: the year 2200 and some microseconds.
pub(super) const fn ahead(more: u64) -> u64 {
    7_258_118_400_000_000 + more
}

async fn is_granted(subject: &Subject, request: &Acquire, expected: u64) {
    let token = subject.grants(request).await;
    assert_eq!(token.get(), expected, "floor {}", request.floor);
    assert_eq!(
        subject.record(&request.name).await.token,
        token,
        "the stored token is another"
    );
}
