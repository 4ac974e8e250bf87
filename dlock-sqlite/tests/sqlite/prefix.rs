//! Prefixes separate, and nothing of them can be confused with a name.

use std::time::Duration;

use dlock_core::{
    DLock, ErrorKind, Name, Provider, TryAcquire,
    provider::{Admin, List},
};
use dlock_sqlite::SqliteProvider;

use crate::support::{Scratch, block_on, refused, request, take};

const LONG: Duration = Duration::from_secs(60);

#[test]
fn the_border_between_prefix_and_name_counts() {
    let scratch = Scratch::new();
    block_on(async {
        let plain = scratch.provider();
        for (prefix, name) in [
            ("ab", "c"),
            ("a", "bc"),
            ("", "abc"),
            ("abc", "x"),
            ("a/", "b"),
            ("a", "/b"),
        ] {
            take(&plain.with_prefix(prefix).unwrap(), name, LONG).await;
        }
        refused(&plain, "abc").await;
    });
    assert_eq!(scratch.count(), 6);
}

#[test]
fn a_prefix_is_kept_readable_and_not_shown_with_the_name() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = SqliteProvider::builder()
            .path(scratch.path())
            .prefix("billing")
            .build()
            .unwrap();
        take(&provider, "run", LONG).await;
        let page = provider.list(&List::new("")).await.unwrap();
        assert_eq!(page.records[0].0.as_str(), "run");
        assert!(
            scratch
                .provider()
                .list(&List::new(""))
                .await
                .unwrap()
                .records
                .is_empty()
        );
    });
    let key: (String, String) = scratch
        .raw()
        .query_row("SELECT prefix, name FROM lock", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!(key, ("billing".to_owned(), "run".to_owned()));
}

#[test]
fn prefix_and_name_share_the_limit() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = scratch.provider().with_prefix("12345").unwrap();
        let fits = "x".repeat(Name::MAX_BYTES - 5);
        take(&provider, &fits, LONG).await;
        refused(&provider, &fits).await;
        let error = provider
            .acquire(&request(&format!("{fits}x"), LONG))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Fatal);
        assert!(error.to_string().contains("shorten"), "{error}");
    });
}

#[test]
fn clones_share_their_client_and_changed_clones_do_not() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = scratch.provider();
        let lock = |provider: &SqliteProvider| {
            DLock::builder()
                .name("a")
                .duration(LONG)
                .provider(provider.clone())
                .build()
                .unwrap()
        };
        let first = lock(&provider);
        let TryAcquire::Acquired(lease) = first.try_acquire().await.unwrap() else {
            panic!("it was free")
        };
        // The same lock three times: only a client that knows the lease calls it its own.
        for (provider, ours) in [
            (provider.clone(), true),
            (provider.with_prefix("").unwrap(), false),
            (scratch.provider(), false),
        ] {
            match lock(&provider).try_acquire().await.unwrap() {
                TryAcquire::Held(holder) => assert_eq!(holder.ours, ours),
                other => panic!("{other:?}"),
            }
        }
        lease.release().await.unwrap();
    });
}
