//! T1, T2, T6, A2 where a grant requests more than one token: the record shows the last, no other grant receives any of
//! them, and the answer claims no token that was not minted. A provider that always mints one passes.

use std::num::NonZeroU8;

use dlock_core::{
    FencingToken, Name,
    provider::{Acquire, Tokens},
};

use super::{
    admin::both,
    list::{DAY, purge_until_gone},
    tokens::ahead,
};
use crate::{Bench, Subject, subject::unchanged};

/// The most tokens that a grant may carry.
const MOST: u8 = Tokens::MOST.get();

pub(super) async fn block_ends_at_the_token_of_the_record(bench: Bench) {
    let subject = bench.subject().await;
    for count in [1, 2, MOST - 1, MOST] {
        let name = bench.name(&count.to_string());
        let first = asking(&bench, &name, count);
        // An absent, a released and a claimed record.
        is_shown(&subject, &first).await;
        subject.releases(&first, None).await;
        is_shown(&subject, &asking(&bench, &name, count)).await;
        let seen = subject.record(&name).await.version();
        is_shown(&subject, &asking(&bench, &name, count).prev(Some(seen))).await;
    }
}

pub(super) async fn block_is_as_long_as_was_asked_for(bench: Bench) {
    let subject = bench.subject().await;
    // Where a grant may carry fewer tokens, a single one is right as well, but more than were requested are always
    // wrong.
    let right = |brought: NonZeroU8, count| brought.get() == count || !bench.blocks();
    for (label, count) in [("two", 2), ("most", MOST)] {
        let mut brought = Vec::new();
        // A grant whose reply was lost is requested once more, and then carries one token.
        for attempt in 0..3 {
            let name = bench.name(&format!("{label} {attempt}"));
            let absent = asking(&bench, &name, count);
            brought.push(subject.mints(&absent).await.count());
            subject.releases(&absent, None).await;
            let released = asking(&bench, &name, count);
            brought.push(subject.mints(&released).await.count());
            let seen = subject.record(&name).await.version();
            let claimed = asking(&bench, &name, count)
                .floor(ahead(0))
                .prev(Some(seen));
            brought.push(subject.mints(&claimed).await.count());
            if brought.iter().all(|brought| right(*brought, count)) {
                break;
            }
            assert!(
                attempt < 2,
                "asked for {count} tokens, grants brought {brought:?}"
            );
            brought.clear();
        }
    }
}

pub(super) async fn next_grant_begins_above_the_whole_block(bench: Bench) {
    let subject = bench.subject().await;
    // One floor follows the clock; the other is ahead of it, as after a clock was set back.
    for (label, floor) in [("now", 0), ("ahead", ahead(4_711))] {
        let name = bench.name(label);
        let mut last: Option<FencingToken> = None;
        for (round, count) in [MOST, MOST, 1, 1, 3, MOST, 2].into_iter().enumerate() {
            let floor = if round == 0 { floor } else { 0 };
            let prev = subject.read(&name).await.map(|record| record.version());
            let request = asking(&bench, &name, count).floor(floor).prev(prev);
            let tokens = subject.mints(&request).await;
            assert!(
                Some(tokens.first()) > last,
                "{tokens:?} do not follow {last:?}"
            );
            last = Some(tokens.last());
            if round % 2 == 1 {
                subject.releases(&request, last).await;
            }
        }
    }
}

pub(super) async fn block_begins_at_the_floor_or_above(bench: Bench) {
    let subject = bench.subject().await;
    let name = bench.name("");
    let floor = ahead(2_345_678);
    let absent = asking(&bench, &name, MOST).floor(floor);
    let tokens = subject.mints(&absent).await;
    begins_at(tokens, floor);
    // A floor within the block, at its end, just beyond it, and far beyond it.
    let mut last = tokens.last().get();
    for more in [-3, 0, 1, 2, 7, 1_000] {
        let floor = last.saturating_add_signed(more);
        let seen = subject.record(&name).await.version();
        let request = asking(&bench, &name, MOST).floor(floor).prev(Some(seen));
        let tokens = subject.mints(&request).await;
        begins_at(tokens, floor.max(last + 1));
        last = tokens.last().get();
    }
}

pub(super) async fn block_ends_below_two_to_the_53(bench: Bench) {
    let subject = bench.subject().await;
    let most = FencingToken::MAX.get();
    let behind = u64::from(MOST - 1);
    let name = bench.name("just");
    let tokens = subject
        .mints(&asking(&bench, &name, MOST).floor(most - behind))
        .await;
    begins_at(tokens, most - behind);

    if !bench.blocks() {
        return; // Only one token remains.
    }
    // The try requests one token more than remain.
    let absent = asking(&bench, &bench.name("absent"), MOST).floor(most - behind + 1);
    subject.fails(&absent).await;
    assert_eq!(subject.read(&absent.name).await, None);
    let held = asking(&bench, &bench.name("held"), 1).floor(most - behind);
    subject.mints(&held).await;
    let before = subject.record(&held.name).await;
    let claiming = asking(&bench, &held.name, MOST).prev(Some(before.version()));
    subject.fails(&claiming).await;
    unchanged(&before, &subject.record(&held.name).await);
}

pub(super) async fn repeat_claims_no_token_that_was_not_minted(bench: Bench) {
    let subject = bench.subject().await;
    let name = bench.name("");
    let mut last: Option<FencingToken> = None;
    // The copy that was granted may have requested fewer tokens than the repeat, or may have reached a process of an
    // older release, which mints one. The number just below its token is then that of the previous holder.
    for (granted, repeated) in [
        (1, 1),
        (1, MOST),
        (2, MOST),
        (MOST, MOST),
        (MOST, 1),
        (1, 2),
    ] {
        let seen = subject.read(&name).await.map(|record| record.version());
        let floor = if last.is_none() { ahead(99) } else { 0 };
        let first = asking(&bench, &name, granted).floor(floor).prev(seen);
        let tokens = subject.mints(&first).await;
        let before = subject.record(&name).await;
        let repeat = first.clone().tokens(count_of(repeated));
        for _ in 0..2 {
            let again = subject.mints(&repeat).await;
            assert_eq!(
                again.last(),
                tokens.last(),
                "the repeat minted another token"
            );
            assert!(
                again.count() <= tokens.count(),
                "{tokens:?} were minted, and a repeat claims {again:?}; before came {last:?}"
            );
        }
        unchanged(&before, &subject.record(&name).await);
        last = Some(tokens.last());
    }
}

pub(super) async fn purged_name_goes_on_above_its_block(bench: Bench) {
    let (admin, subject) = both(&bench).await;
    let name = bench.name("");
    let before = subject.mints(&asking(&bench, &name, MOST)).await;
    bench.age(&name, DAY * 8).await;
    purge_until_gone(&bench, &admin, &[&name]).await;
    let after = subject.mints(&asking(&bench, &name, MOST)).await;
    assert!(
        after.first() > before.last(),
        "{after:?} do not follow {before:?}"
    );
}

fn asking(bench: &Bench, name: &Name, count: u8) -> Acquire {
    bench.term(name).tokens(count_of(count))
}

fn count_of(count: u8) -> NonZeroU8 {
    NonZeroU8::new(count).unwrap_or(NonZeroU8::MIN)
}

async fn is_shown(subject: &Subject, request: &Acquire) {
    let tokens = subject.mints(request).await;
    let record = subject.record(&request.name).await;
    assert_eq!(
        (record.uuid, record.token),
        (request.new, tokens.last()),
        "the record does not show the last of {tokens:?}"
    );
}

/// The block begins here. The answer to a repeat reveals only the last token of the block.
#[track_caller]
fn begins_at(tokens: Tokens, expected: u64) {
    let most = expected + u64::from(MOST - 1);
    assert!(
        tokens.first().get() >= expected && tokens.last().get() <= most,
        "{tokens:?} should begin at {expected}"
    );
}
