//! A stream that was replaced by an older state of itself: its sequences begin again where the backup ends, so an old
//! sequence may now belong to another record.

use std::{fs, path::Path, time::Duration};

use dlock_core::Provider;
use dlock_nats::NatsProvider;
use dlock_nats_proof::{Server, client};
use dlock_proof::stores::{granted, is_held, released, renewed, term, until_answered};
use serde_json::json;

use super::{ask, create};

/// Lets a process see a lock, replaces the stream, and brings another holder's record to the very sequence that the
/// process has seen. The process must not mistake that record for the one that it remembers.
async fn is_not_mistaken(ours: &NatsProvider, others: &NatsProvider, name: &str, last: u64) {
    let b = term(name);
    granted(others, &b).await;
    for n in 1..=last {
        renewed(others, &b, n).await;
    }
    assert!(is_held(ours, name).await);
    renewed(others, &b, last + 1).await;
}

#[tokio::test]
async fn stream_that_was_made_anew_is_noticed() {
    let server = Server::start().await;
    let (ours, others) = (server.provider().await, server.provider().await);
    let raw = client(server.address(), Duration::from_secs(20)).await;
    let a = term("door");
    // Sequences 1 to 4; after the last one the lock is free, and the process remembers that.
    granted(&ours, &a).await;
    for n in 1..=2 {
        renewed(&ours, &a, n).await;
    }
    released(&ours, &a).await;
    ask(&raw, "STREAM.DELETE.KV_locks", json!(null)).await;
    // One request for another lock while the stream is gone.
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
    granted(&ours, &a).await;
    released(&ours, &a).await;
    let data = server.place().dir().join("jetstream");
    let backup = tempfile::tempdir().unwrap();
    server.signal("STOP");
    copied(&data, backup.path());
    server.signal("CONT");
    // Sequences 3 to 6.
    let a = term("door");
    granted(&ours, &a).await;
    for n in 1..=2 {
        renewed(&ours, &a, n).await;
    }
    released(&ours, &a).await;
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
