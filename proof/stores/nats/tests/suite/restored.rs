//! A stream that was replaced by an older state of itself: its sequences begin again where the backup ends, so an old
//! one may be another record's by now.

use std::{fs, path::Path, time::Duration};

use dlock_core::{
    Provider,
    provider::{AcquireOutcome, Release, ReleaseOutcome, Renew, RenewOutcome},
};
use dlock_nats::NatsProvider;
use dlock_nats_proof::{Server, client};
use serde_json::json;

use super::{ask, create, term, until_answered};

/// Lets a process see a lock, replaces the stream, and brings another holder's record to the very sequence that the
/// process has seen. What it remembers must not be taken for that record.
async fn is_not_mistaken(ours: &NatsProvider, others: &NatsProvider, name: &str, last: u64) {
    let b = term(name);
    let granted = others.acquire(&b).await.unwrap();
    assert!(
        matches!(granted, AcquireOutcome::Acquired(_)),
        "{granted:?}"
    );
    let mut n = 0;
    loop {
        n += 1;
        others
            .renew(&Renew::new(b.name.clone(), b.new, n))
            .await
            .unwrap();
        if n == last {
            break;
        }
    }
    let refused = ours.acquire(&term(name)).await.unwrap();
    assert!(matches!(refused, AcquireOutcome::Held(_)), "{refused:?}");
    let renewed = others
        .renew(&Renew::new(b.name.clone(), b.new, n + 1))
        .await;
    assert_eq!(renewed.unwrap(), RenewOutcome::Renewed { asked: false });
}

#[tokio::test]
async fn stream_that_was_made_anew_is_noticed() {
    let server = Server::start().await;
    let (ours, others) = (server.provider().await, server.provider().await);
    let raw = client(server.address(), Duration::from_secs(20)).await;
    let a = term("door");
    // Sequences 1 to 4; the last is free, and remembered as such.
    ours.acquire(&a).await.unwrap();
    for n in 1..=2 {
        ours.renew(&Renew::new(a.name.clone(), a.new, n))
            .await
            .unwrap();
    }
    let release = Release::new(a.name.clone(), a.new, None);
    assert_eq!(
        ours.release(&release).await.unwrap(),
        ReleaseOutcome::Released
    );
    ask(&raw, "STREAM.DELETE.KV_locks", json!(null)).await;
    // One request while it is gone, of another lock.
    ours.read(&term("window").name).await.unwrap_err();
    create(&raw, "locks", json!({})).await;
    is_not_mistaken(&ours, &others, "door", 3).await;
}

#[tokio::test]
async fn data_that_was_put_back_is_noticed() {
    let mut server = Server::start().await;
    let (ours, others) = (server.provider().await, server.provider().await);
    let a = term("door");
    // Sequences 1 and 2, and a backup.
    ours.acquire(&a).await.unwrap();
    let release = Release::new(a.name.clone(), a.new, None);
    ours.release(&release).await.unwrap();
    let data = server.place().dir().join("jetstream");
    let backup = tempfile::tempdir().unwrap();
    server.signal("STOP");
    copied(&data, backup.path());
    server.signal("CONT");
    // Sequences 3 to 6.
    let a = term("door");
    ours.acquire(&a).await.unwrap();
    for n in 1..=2 {
        ours.renew(&Renew::new(a.name.clone(), a.new, n))
            .await
            .unwrap();
    }
    let release = Release::new(a.name.clone(), a.new, None);
    ours.release(&release).await.unwrap();
    server
        .restart_after(|| {
            fs::remove_dir_all(&data).unwrap();
            copied(backup.path(), &data);
        })
        .await;
    until_answered(&ours).await;
    until_answered(&others).await;
    is_not_mistaken(&ours, &others, "door", 3).await;
}

fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for found in fs::read_dir(from).unwrap() {
        let found = found.unwrap();
        let target = to.join(found.file_name());
        if found.file_type().unwrap().is_dir() {
            copied(&found.path(), &target);
        } else {
            fs::copy(found.path(), target).unwrap();
        }
    }
}
