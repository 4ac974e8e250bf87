//! A replica that was mistaken for a primary, and a primary that became one.

use dlock_core::{ErrorKind, Provider, Release, Renew, RenewOutcome};

use crate::support::{LONG, ask, eventually, fresh_name, granted, replicated, try_for, words};

#[tokio::test]
async fn a_replica_grants_and_changes_nothing() {
    let (primary, replica) = replicated().await;
    let (writer, reader) = (primary.provider(), replica.provider());
    let absent = try_for(&fresh_name("absent"), LONG);
    let held = try_for(&fresh_name("held"), LONG);
    granted(&writer, &held).await;
    let (r, name) = (&reader, &held.name);
    eventually("the replica has it", || async move {
        matches!(r.read(name).await, Ok(Some(_)))
    })
    .await;
    let refused = |error: dlock_core::ProviderError| {
        assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
        assert!(error.to_string().contains("replica"), "{error}");
    };
    refused(reader.acquire(&absent).await.unwrap_err());
    let renew = Renew::new(held.name.clone(), held.new, 1);
    refused(reader.renew(&renew).await.unwrap_err());
    let release = Release::new(held.name.clone(), held.new, None);
    refused(reader.release(&release).await.unwrap_err());
    assert_eq!(writer.read(&absent.name).await.unwrap(), None);
    let record = writer.read(&held.name).await.unwrap().unwrap();
    assert_eq!((record.renewals, record.released), (0, false));
}

/// The roles change under a holder: its connection is refused, then it renews at the new primary.
#[tokio::test]
async fn a_lock_survives_an_orderly_failover() {
    let (primary, replica) = replicated().await;
    let before = primary.provider();
    let term = try_for(&fresh_name("failover"), LONG);
    let token = granted(&before, &term).await;
    let mut raw = primary.raw().await;
    eventually("the replica has it", || {
        let mut raw = raw.clone();
        async move { ask::<u64>(&mut raw, &words("WAIT 1 100")).await == 1 }
    })
    .await;
    replica.ask::<()>("REPLICAOF NO ONE").await;
    let follow = format!("REPLICAOF 127.0.0.1 {}", replica.port());
    ask::<()>(&mut raw, &words(&follow)).await;

    let renew = Renew::new(term.name.clone(), term.new, 1);
    let error = before.renew(&renew).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
    let after = replica.provider();
    let renewed = after.renew(&renew).await.unwrap();
    assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
    let release = Release::new(term.name.clone(), term.new, None);
    after.release(&release).await.unwrap();
    assert!(granted(&after, &try_for(&term.name, LONG)).await > token);
}
