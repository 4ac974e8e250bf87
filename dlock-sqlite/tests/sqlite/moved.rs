//! The file disappears while a provider runs. Other processes that open the path see another file,
//! so this one must not continue to grant.

use std::{fs, time::Duration};

use dlock_core::{
    ErrorKind, Provider,
    provider::{Admin, List, Release, Renew},
};
use dlock_sqlite::SqliteProvider;

use crate::support::{Scratch, block_on, name, request, take};

const LONG: Duration = Duration::from_secs(60);

async fn every_request_is_refused(provider: &SqliteProvider, uuid: uuid::Uuid, how: &str) {
    let errors = [
        provider.acquire(&request("a", LONG)).await.unwrap_err(),
        provider.acquire(&request("free", LONG)).await.unwrap_err(),
        provider
            .renew(&Renew::new(name("a"), uuid, 1))
            .await
            .unwrap_err(),
        provider
            .renew_many(&[Renew::new(name("a"), uuid, 1)])
            .await
            .remove(0)
            .unwrap_err(),
        provider
            .release(&Release::new(name("a"), uuid, None))
            .await
            .unwrap_err(),
        provider.read(&name("a")).await.unwrap_err(),
        provider.list(&List::new("")).await.unwrap_err(),
        provider.purge(1).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Fatal, "{how}: {error}");
        assert!(
            error.to_string().contains("start them again"),
            "{how}: {error}"
        );
    }
}

#[test]
fn a_file_that_is_deleted_renamed_or_replaced_grants_nothing_more() {
    type Move = fn(&Scratch);
    let moves: [(&str, Move); 6] = [
        ("the file deleted", |scratch| {
            fs::remove_file(scratch.path()).unwrap();
        }),
        ("its log deleted", |scratch| {
            fs::remove_file(scratch.directory().join("locks.db-wal")).unwrap();
        }),
        ("its index deleted", |scratch| {
            fs::remove_file(scratch.directory().join("locks.db-shm")).unwrap();
        }),
        ("the file renamed", |scratch| {
            fs::rename(scratch.path(), scratch.directory().join("old.db")).unwrap();
        }),
        ("another file in its place", |scratch| {
            let other = Scratch::new();
            drop(other.provider());
            let copy = scratch.directory().join("copy");
            fs::copy(other.path(), &copy).unwrap();
            fs::rename(copy, scratch.path()).unwrap();
        }),
        ("all files deleted, and a newcomer", |scratch| {
            for suffix in ["", "-wal", "-shm"] {
                fs::remove_file(scratch.directory().join(format!("locks.db{suffix}"))).unwrap();
            }
            newcomer(scratch);
        }),
    ];
    for (how, go) in moves {
        let scratch = Scratch::new();
        let provider = scratch.provider();
        let (uuid, _) = block_on(take(&provider, "a", LONG));
        go(&scratch);
        block_on(every_request_is_refused(&provider, uuid, how));
    }
}

/// The view of a process that starts after the deletion: it finds no lock.
fn newcomer(scratch: &Scratch) {
    let provider = scratch.provider();
    block_on(take(&provider, "a", LONG));
}

#[test]
fn a_directory_that_goes_away_grants_nothing_more() {
    let scratch = Scratch::new();
    let inner = scratch.directory().join("inner");
    fs::create_dir(&inner).unwrap();
    let provider = SqliteProvider::open(inner.join("locks.db")).unwrap();
    let (uuid, _) = block_on(take(&provider, "a", LONG));
    fs::rename(&inner, scratch.directory().join("elsewhere")).unwrap();
    block_on(every_request_is_refused(
        &provider,
        uuid,
        "the directory renamed",
    ));
    fs::rename(scratch.directory().join("elsewhere"), &inner).unwrap();
    // Back in its place it is the same file.
    assert!(block_on(provider.read(&name("a"))).unwrap().is_some());
}

#[test]
fn a_link_that_leads_elsewhere_grants_nothing_more() {
    let scratch = Scratch::new();
    let link = scratch.directory().join("link");
    std::os::unix::fs::symlink(scratch.path(), &link).unwrap();
    drop(scratch.provider());
    let provider = SqliteProvider::open(&link).unwrap();
    let (uuid, _) = block_on(take(&provider, "a", LONG));
    let other = Scratch::new();
    drop(other.provider());
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(other.path(), &link).unwrap();
    block_on(every_request_is_refused(
        &provider,
        uuid,
        "the link changed",
    ));
}

#[test]
fn a_file_with_a_second_name_grants_nothing_more_until_it_is_gone() {
    let scratch = Scratch::new();
    let provider = scratch.provider();
    block_on(take(&provider, "a", LONG));
    let other = scratch.directory().join("other.db");
    fs::hard_link(scratch.path(), &other).unwrap();
    let error = block_on(provider.acquire(&request("b", LONG))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error}");
    assert!(error.to_string().contains("hard link"), "{error}");
    fs::remove_file(&other).unwrap();
    block_on(take(&provider, "b", LONG));
}

#[test]
fn what_sqlite_does_to_its_own_files_is_no_move() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = scratch.provider();
        let other = scratch.provider();
        take(&provider, "a", LONG).await;
        let raw = scratch.raw();
        raw.execute_batch(
            "PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(RESTART)",
        )
        .unwrap();
        drop((raw, other));
        for number in 0..2000 {
            take(&provider, &format!("lock {number}"), LONG).await;
        }
        // The first provider to be opened and the last to be dropped.
        drop(provider);
        take(&scratch.provider(), "b", LONG).await;
    });
}
