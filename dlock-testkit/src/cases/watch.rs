//! Wake-ups, where a provider has them: what is released while somebody listens is hinted.

use std::{sync::Arc, time::Duration};

use crate::{Bench, slow::within};
use dlock_core::{
    Name, Provider,
    provider::{AcquireOutcome, Wakeup, Wakeups},
};

/// A hint that takes longer is of no use to anybody.
const PATIENCE: Duration = Duration::from_secs(5);

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

/// Those who wait on behalf of others look, and ask once.
pub(super) async fn release_of_a_name_that_was_looked_at_is_hinted(bench: Bench) {
    let (subject, provider) = (bench.subject().await, bench.provider().await);
    let a = bench.term(&bench.name(""));
    let token = subject.grants(&a).await;
    let mut stream = listen(&provider).await;
    let seen = provider.read(&a.name).await;
    assert!(matches!(seen, Ok(Some(_))), "somebody holds it: {seen:?}");
    subject.releases(&a, Some(token)).await;
    hears(&mut stream, &a.name).await;
}

async fn listen(provider: &Arc<dyn Provider>) -> Wakeups {
    match provider.watch().await {
        Ok(Some(stream)) => stream,
        Ok(None) => panic!("the provider has no wake-ups: leave the group `watch` out"),
        Err(error) => panic!("watch failed: {error:?}"),
    }
}

/// Is refused, as every waiter is: only waiters need a hint.
async fn waits(bench: &Bench, provider: &Arc<dyn Provider>, name: &Name) {
    let refused = provider.acquire(&bench.term(name)).await;
    assert!(
        matches!(refused, Ok(AcquireOutcome::Held(_))),
        "somebody holds {name}, but the answer is {refused:?}"
    );
}

/// A hint for this name or for everyone, or the end of the stream (its listener wakes everyone).
async fn hears(stream: &mut Wakeups, name: &Name) {
    within(
        PATIENCE,
        format!("the hint of the release of {name}"),
        async {
            loop {
                match stream.next().await {
                    Some(Wakeup::Name(hinted)) if hinted == *name => return,
                    Some(Wakeup::Everyone) => return,
                    Some(Wakeup::Name(_)) => {}
                    None => panic!("the stream ended, with the store in good health"),
                }
            }
        },
    )
    .await;
}
