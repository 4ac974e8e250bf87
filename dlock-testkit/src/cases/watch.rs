//! Wake-ups, where a provider supports them: a release is hinted while a client listens.

use std::{sync::Arc, time::Duration};

use super::{admin::both, marks::marked};
use crate::{
    Bench,
    slow::{joined, within},
};
use dlock_core::{
    Name, Provider,
    provider::{AcquireOutcome, Wakeup, Wakeups},
};
use tokio::task::yield_now;

/// A hint that takes longer is useless.
const PATIENCE: Duration = Duration::from_secs(5);

/// The mark of a waiter.
const ANYONE: u32 = 1;

pub(super) async fn release_wakes_every_listener(bench: Bench) {
    let (subject, provider) = (bench.subject().await, bench.provider().await);
    let a = bench.term(&bench.name(""));
    let token = subject.grants(&a).await;
    let (mut here, mut there) = (listen(subject.provider()).await, listen(&provider).await);
    waits(&bench, subject.provider(), &a.name).await;
    waits(&bench, &provider, &a.name).await;
    subject.releases(&a, Some(token)).await;
    hears(&mut here, &a.name).await;
    hears(&mut there, &a.name).await;
}

pub(super) async fn release_right_after_watch_is_hinted(bench: Bench) {
    let subject = bench.subject().await;
    for round in 0..5 {
        let a = bench.term(&bench.name(&round.to_string()));
        let token = subject.grants(&a).await;
        let provider = bench.provider().await;
        let mut stream = listen(&provider).await;
        waits(&bench, &provider, &a.name).await;
        subject.releases(&a, Some(token)).await;
        hears(&mut stream, &a.name).await;
    }
}

pub(super) async fn every_release_is_hinted_under_its_own_name(bench: Bench) {
    let subject = bench.subject().await;
    let mut stream = listen(subject.provider()).await;
    for label in ["b", "a", "A b'\"%_", "gr\u{fc}n \u{1f512}"] {
        let a = bench.term(&bench.name(label));
        let token = subject.grants(&a).await;
        waits(&bench, subject.provider(), &a.name).await;
        subject.releases(&a, Some(token)).await;
        hears(&mut stream, &a.name).await;
    }
    let long = bench.name("").as_str().to_owned();
    let long = format!("{long}{}", "x".repeat(bench.name_bytes() - long.len()));
    let a = bench.term(&Name::new(long).unwrap_or_else(|error| panic!("{error}")));
    let token = subject.grants(&a).await;
    waits(&bench, subject.provider(), &a.name).await;
    subject.releases(&a, Some(token)).await;
    hears(&mut stream, &a.name).await;
}

pub(super) async fn watching_again_after_a_stream_was_dropped_works(bench: Bench) {
    let subject = bench.subject().await;
    let mut kept = listen(subject.provider()).await;
    for round in 0..3 {
        drop(listen(subject.provider()).await);
        let mut stream = listen(subject.provider()).await;
        let a = bench.term(&bench.name(&round.to_string()));
        let token = subject.grants(&a).await;
        waits(&bench, subject.provider(), &a.name).await;
        subject.releases(&a, Some(token)).await;
        hears(&mut stream, &a.name).await;
        hears(&mut kept, &a.name).await;
    }
}

/// The client that waits on behalf of others reads the record, and another client marks it.
pub(super) async fn release_of_a_name_that_was_looked_at_is_hinted(bench: Bench) {
    let (subject, provider) = (bench.subject().await, bench.provider().await);
    let a = bench.term(&bench.name(""));
    let token = subject.grants(&a).await;
    let mut stream = listen(&provider).await;
    waits(&bench, subject.provider(), &a.name).await;
    let seen = provider.read(&a.name).await;
    assert!(matches!(seen, Ok(Some(_))), "the lock is held: {seen:?}");
    subject.releases(&a, Some(token)).await;
    hears(&mut stream, &a.name).await;
}

/// N3, for a store that decides itself which releases it hints.
pub(super) async fn unmarked_release_tells_nobody(bench: Bench) {
    if !bench.capabilities().marks {
        return;
    }
    let (subject, provider) = (bench.subject().await, bench.provider().await);
    let mut stream = listen(&provider).await;
    let waiter = bench.asked(Arc::clone(&provider));
    for round in 0..5 {
        let a = bench.term(&bench.name(&format!("unmarked-{round}")));
        let token = subject.grants(&a).await;
        waiter.refuses(&bench.term(&a.name)).await;
        let b = bench.term(&bench.name(&round.to_string()));
        let next = subject.grants(&b).await;
        waits(&bench, &provider, &b.name).await;
        assert!(!subject.releases(&a, Some(token)).await, "nothing marked");
        assert!(subject.releases(&b, Some(next)).await, "it was marked");
        let told = heard(&mut stream, &[&a.name, &b.name]).await;
        assert_ne!(told, Some(a.name), "the release of a term without a mark");
    }
}

/// The release reports the mark that a refusal shows, whichever comes first.
pub(super) async fn mark_beside_a_release_loses_no_hint(bench: Bench) {
    let (subject, provider) = (bench.subject().await, bench.provider().await);
    let mut stream = listen(&provider).await;
    let waiter = bench.asked(Arc::clone(&provider));
    for round in 0..40 {
        let a = bench.term(&bench.name(&round.to_string()));
        let token = subject.grants(&a).await;
        let (holder, term) = (subject.clone(), a.clone());
        let releasing = tokio::spawn(async move { holder.releases(&term, Some(token)).await });
        if round % 2 == 0 {
            yield_now().await;
        }
        let outcome = waiter.acquire(&bench.term(&a.name).marks(ANYONE)).await;
        joined(releasing.await);
        match outcome {
            AcquireOutcome::Held(shown) if shown.wanted != 0 => hears(&mut stream, &a.name).await,
            _ => {}
        }
    }
}

pub(super) async fn forced_release_of_a_marked_term_is_hinted(bench: Bench) {
    if !bench.capabilities().watch {
        return;
    }
    let (admin, subject) = both(&bench).await;
    let provider = bench.provider().await;
    let a = bench.term(&bench.name(""));
    subject.grants(&a).await;
    let mut stream = listen(&provider).await;
    waits(&bench, &provider, &a.name).await;
    let seen = subject.record(&a.name).await;
    let forced = subject.force(&*admin, &a.name, &seen).await;
    assert!(forced.is_released(), "{forced:?}");
    hears(&mut stream, &a.name).await;
}

async fn listen(provider: &Arc<dyn Provider>) -> Wakeups {
    match provider.watch().await {
        Ok(Some(stream)) => stream,
        Ok(None) => panic!("the provider has no wake-ups: leave the group `watch` out"),
        Err(error) => panic!("watch failed: {error:?}"),
    }
}

/// Is refused, as every waiter is, and marks the term: only waiters need a hint.
async fn waits(bench: &Bench, provider: &Arc<dyn Provider>, name: &Name) {
    marked(bench, &bench.asked(Arc::clone(provider)), name).await;
}

/// A hint for this name or for every waiter, or the end of the stream (at which its listener wakes every waiter).
async fn hears(stream: &mut Wakeups, name: &Name) {
    heard(stream, &[name]).await;
}

/// The first hint for one of these names; none, if the first is for every waiter.
async fn heard(stream: &mut Wakeups, names: &[&Name]) -> Option<Name> {
    let told = async {
        loop {
            match stream.next().await {
                Some(Wakeup::Name(hinted)) if names.contains(&&hinted) => return Some(hinted),
                Some(Wakeup::Everyone) => return None,
                Some(Wakeup::Name(_)) => {}
                None => panic!("the stream ended, with the store in good health"),
            }
        }
    };
    within(
        PATIENCE,
        format!("the hint of the release of {names:?}"),
        told,
    )
    .await
}
