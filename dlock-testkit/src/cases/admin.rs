//! B1 to B3: revoking, asking, forcing.

use std::sync::Arc;

use dlock_core::{
    Name,
    provider::{
        Acquire, Admin, Ask, AskOutcome, ReleaseOutcome, Renew, RenewOutcome, Revoke,
        RevokeOutcome, Version,
    },
};
use uuid::Uuid;

use crate::{
    Bench, Subject,
    slow::in_time,
    subject::{began, unchanged},
};

use super::batch::answered;

pub(super) async fn revoke_takes_the_term_away_and_gives_it_to_nobody(bench: Bench) {
    let (admin, subject) = both(&bench).await;
    let a = bench.term(&bench.name("")).data(Some(vec![1]));
    let token = subject.grants(&a).await;
    subject.renews(&a, 3).await;
    let seen = subject.record(&a.name).await;
    let request = revocation(a.name.clone(), seen.version());
    assert_eq!(
        subject.revoke(&*admin, &request).await,
        RevokeOutcome::Revoked
    );
    let revoked = subject.record(&a.name).await;
    assert_eq!(
        revoked.version(),
        Version {
            uuid: request.new,
            renewals: 0
        }
    );
    // All else stays: the others are kept out as long as the holder may believe in its lease.
    let mut expected = seen.clone();
    (expected.uuid, expected.renewals) = (request.new, 0);
    unchanged(&expected, &revoked);
    assert!(matches!(subject.loses(&a, 4).await, Some(record) if record.uuid == request.new));
    assert!(matches!(subject.holds_not(&a).await, Some(record) if record.uuid == request.new));
    subject.refuses(&bench.term(&a.name)).await;
    // An observation of its old version no longer allows a claim; one of the new version does.
    subject
        .refuses(&bench.term(&a.name).prev(Some(seen.version())))
        .await;
    assert!(
        subject
            .grants(&bench.term(&a.name).prev(Some(revoked.version())))
            .await
            > token
    );
}

pub(super) async fn revoked_lease_ends_when_it_would_have_ended(bench: Bench) {
    let (admin, subject) = both(&bench).await;
    let lease = bench.lease();
    let name = bench.name("");
    let (a, b) = (bench.term_of(&name, lease), bench.term(&name));
    let asked = tokio::time::Instant::now();
    subject.grants(&a).await;
    let granted = tokio::time::Instant::now();
    tokio::time::sleep(lease / 2).await;
    let outcome = subject
        .revoke(
            &*admin,
            &revocation(
                name.clone(),
                Version {
                    uuid: a.new,
                    renewals: 0,
                },
            ),
        )
        .await;
    let refused = subject.acquire(&b).await;
    in_time(asked.elapsed() < lease, "the lease may have ended");
    assert_eq!(outcome, RevokeOutcome::Revoked);
    assert!(
        matches!(refused, dlock_core::provider::AcquireOutcome::Held(_)),
        "free at once, like B2: {refused:?}"
    );
    bench.outlast(lease.saturating_sub(granted.elapsed())).await;
    if bench.store_clock() {
        subject.grants(&b).await;
    } else {
        subject.refuses(&b).await;
    }
}

pub(super) async fn repeated_revoke_is_a_success(bench: Bench) {
    let (admin, subject) = both(&bench).await;
    let a = bench.term(&bench.name(""));
    subject.grants(&a).await;
    let request = revocation(
        a.name.clone(),
        Version {
            uuid: a.new,
            renewals: 0,
        },
    );
    assert_eq!(
        subject.revoke(&*admin, &request).await,
        RevokeOutcome::Revoked
    );
    let before = subject.record(&a.name).await;
    assert_eq!(
        subject.revoke(&*admin, &request).await,
        RevokeOutcome::Revoked
    );
    unchanged(&before, &subject.record(&a.name).await);
}

pub(super) async fn revoke_of_another_version_changes_nothing(bench: Bench) {
    let (admin, subject) = both(&bench).await;
    let name = bench.name("");
    let a = bench.term(&name);
    assert_eq!(
        subject
            .revoke(
                &*admin,
                &revocation(
                    name.clone(),
                    Version {
                        uuid: a.new,
                        renewals: 0
                    }
                )
            )
            .await,
        RevokeOutcome::Changed(None)
    );
    assert_eq!(subject.read(&name).await, None);
    let token = subject.grants(&a).await;
    subject.renews(&a, 1).await;
    let before = subject.record(&name).await;
    for other in [
        // Renewed since it was read: the holder is alive.
        Version {
            uuid: a.new,
            renewals: 0,
        },
        Version {
            uuid: a.new,
            renewals: 2,
        },
        Version {
            uuid: Uuid::new_v4(),
            renewals: 1,
        },
    ] {
        match subject
            .revoke(&*admin, &revocation(name.clone(), other))
            .await
        {
            RevokeOutcome::Changed(Some(shown)) => unchanged(&before, &shown),
            outcome => panic!("{other:?}: {outcome:?}"),
        }
    }
    unchanged(&before, &subject.record(&name).await);
    subject.renews(&a, 2).await;
    // A released record has no holder.
    subject.releases(&a, Some(token)).await;
    let before = subject.record(&name).await;
    let outcome = subject
        .revoke(&*admin, &revocation(name.clone(), before.version()))
        .await;
    assert_eq!(outcome, RevokeOutcome::Changed(Some(before.clone())));
    assert_eq!(subject.record(&name).await, before);
}

pub(super) async fn ask_is_seen_at_the_next_renewal(bench: Bench) {
    let (admin, subject) = both(&bench).await;
    let a = bench.term(&bench.name("")).data(Some(vec![1]));
    subject.grants(&a).await;
    assert!(
        !subject.renews(&a, 1).await,
        "asked before any request (B3)"
    );
    let mut before = subject.record(&a.name).await;
    assert_eq!(subject.ask(&*admin, &ask(&a)).await, AskOutcome::Asked);
    assert_eq!(subject.ask(&*admin, &ask(&a)).await, AskOutcome::Asked);
    let asked = subject.record(&a.name).await;
    before.asked = true;
    unchanged(&before, &asked);
    // The holder learns of it at every renewal, applied or repeated, alone or in a batch.
    assert!(subject.renews(&a, 2).await);
    assert!(subject.renews(&a, 2).await);
    let batch = [Renew::new(a.name.clone(), a.new, 3)];
    assert_eq!(
        answered(&**subject.provider(), &batch).await,
        [RenewOutcome::Renewed { asked: true }]
    );
    assert!(
        subject.record(&a.name).await.asked,
        "a renewal took the request back"
    );
}

pub(super) async fn ask_of_another_term_changes_nothing(bench: Bench) {
    let (admin, subject) = both(&bench).await;
    let name = bench.name("");
    let (a, b) = (bench.term(&name), bench.term(&name));
    assert_eq!(
        subject.ask(&*admin, &ask(&a)).await,
        AskOutcome::Changed(None)
    );
    assert_eq!(subject.read(&name).await, None);
    let token = subject.grants(&a).await;
    let before = subject.record(&name).await;
    match subject.ask(&*admin, &ask(&b)).await {
        AskOutcome::Changed(Some(shown)) => unchanged(&before, &shown),
        outcome => panic!("{outcome:?}"),
    }
    unchanged(&before, &subject.record(&name).await);
    subject.releases(&a, Some(token)).await;
    let before = subject.record(&name).await;
    assert_eq!(
        subject.ask(&*admin, &ask(&a)).await,
        AskOutcome::Changed(Some(before.clone()))
    );
    assert_eq!(subject.record(&name).await, before);
}

pub(super) async fn next_term_starts_unasked(bench: Bench) {
    let (admin, subject) = both(&bench).await;
    let name = bench.name("");
    let (a, b) = (bench.term(&name), bench.term(&name));
    let token = subject.grants(&a).await;
    assert_eq!(subject.ask(&*admin, &ask(&a)).await, AskOutcome::Asked);
    subject.releases(&a, Some(token)).await;
    assert!(
        subject.record(&name).await.asked,
        "release changes nothing else"
    );
    let token = subject.grants(&b).await;
    began(&subject.record(&name).await, &b, token);
    assert!(!subject.renews(&b, 1).await);
}

pub(super) async fn forced_release_frees_only_what_was_seen(bench: Bench) {
    let (admin, subject) = both(&bench).await;
    let name = bench.name("");
    let (a, b) = (bench.term(&name), bench.term(&name));
    subject.grants(&a).await;
    let seen = subject.record(&name).await;
    subject.renews(&a, 1).await;
    // Free at once, even if it was renewed since.
    assert_eq!(
        subject.force(&*admin, &name, &seen).await,
        ReleaseOutcome::Released { wanted: false }
    );
    let token = subject.grants(&b).await;
    assert!(token > seen.token);
    subject.loses(&a, 2).await;
    // The term that was seen is gone; its successor stays.
    match subject.force(&*admin, &name, &seen).await {
        ReleaseOutcome::NotHeld(Some(shown)) => began(&shown, &b, token),
        outcome => panic!("{outcome:?}"),
    }
    began(&subject.record(&name).await, &b, token);
}

/// One provider as an administrator and as a user.
pub(super) async fn both(bench: &Bench) -> (Arc<dyn Admin>, Subject) {
    let admin = bench.admin().await;
    let subject = bench.asked(Arc::clone(&admin) as Arc<dyn dlock_core::Provider>);
    (admin, subject)
}

fn revocation(name: Name, version: Version) -> Revoke {
    Revoke::new(name, version).unwrap_or_else(|error| panic!("no uuid to revoke with: {error:?}"))
}

fn ask(term: &Acquire) -> Ask {
    Ask::new(term.name.clone(), term.new)
}
