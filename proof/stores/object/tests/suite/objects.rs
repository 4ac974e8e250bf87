//! What else may be among the objects, and what names become as their keys.

use std::collections::BTreeSet;

use dlock_core::{
    ErrorKind, Provider,
    provider::{AcquireOutcome, Admin, List, Release, Renew, RenewOutcome},
};
use dlock_object_proof::{User, over};
use dlock_object_store::ObjectProvider;
use futures_util::TryStreamExt;
use object_store::{ObjectStore, ObjectStoreExt, path::Path};

use crate::{fresh, term};

async fn names(provider: &ObjectProvider, start: &str, limit: usize) -> (Vec<String>, Vec<String>) {
    let (mut listed, mut unreadable, mut after) = (Vec::new(), Vec::new(), None);
    loop {
        let request = List::new(start).after(after).limit(limit);
        let page = provider.list(&request).await.unwrap();
        assert!(page.records.len() <= limit);
        listed.extend(page.records.into_iter().map(|(name, _)| name.to_string()));
        unreadable.extend(
            page.unreadable
                .into_iter()
                .map(|(name, _)| name.to_string()),
        );
        after = page.next;
        assert!(listed.len() <= 100, "pages repeat: {listed:?}");
        if after.is_none() {
            return (listed, unreadable);
        }
    }
}

/// Names that services, or the library, merge or refuse when they are keys as they are.
#[tokio::test]
async fn hostile_names_are_locks_of_their_own() {
    let server = crate::server().await;
    let prefix = fresh("hostile");
    let provider = server.provider().with_prefix(&prefix).unwrap();
    let longest = "x".repeat(950);
    let hostile = [
        "a/b",
        "a//b",
        "/a/b",
        "a/b/",
        "a",
        "A",
        "a/",
        "/",
        "//",
        ".",
        "..",
        "../a",
        "a/../b",
        "./a",
        "a.",
        "a.1b",
        "a.0",
        "a%2Fb",
        "a%252Fb",
        "%",
        "a\\b",
        "a]0b",
        "a b",
        "a+b",
        "a%20b",
        "a?b",
        "a#b",
        "a&b=c",
        "a<b>\"c'",
        "~",
        "a~2D",
        "a\u{7f}",
        "a\nb",
        "a\tb",
        "a\rb",
        "\u{e4}",
        "a\u{308}",
        "\u{ffff}",
        "\u{10ffff}",
        ".verify-1",
        longest.as_str(),
    ];
    let mut tries = Vec::new();
    for name in hostile {
        let a = term(name);
        let granted = provider.acquire(&a).await.unwrap();
        assert!(
            matches!(granted, AcquireOutcome::Acquired(_)),
            "{name:?}: {granted:?}"
        );
        tries.push(a);
    }
    // As another process has it, which has seen nothing.
    let other = over(server.bucket(User::LOCKER));
    let other = other.with_prefix(&prefix).unwrap();
    for a in &tries {
        let record = other.read(&a.name).await.unwrap().unwrap();
        assert_eq!(record.uuid, a.new, "{:?}", a.name);
    }
    let sorted: BTreeSet<String> = hostile.iter().map(ToString::to_string).collect();
    let sorted = Vec::from_iter(sorted);
    for limit in [1, 7, 100] {
        assert_eq!(
            names(&other, "", limit).await,
            (sorted.clone(), vec![]),
            "pages of {limit}"
        );
    }
    let start: Vec<_> = sorted
        .iter()
        .filter(|name| name.starts_with("a/"))
        .cloned()
        .collect();
    assert_eq!(names(&other, "a/", 2).await, (start, vec![]));
}

#[tokio::test]
async fn name_that_is_too_long_for_a_key_is_refused() {
    let provider = crate::server().await.provider();
    let a = term(&"\u{e4}".repeat(200));
    let error = provider.acquire(&a).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    assert!(error.to_string().contains("shorter name"), "{error}");
}

#[tokio::test]
async fn foreign_objects_are_left_alone_and_end_no_list() {
    let bucket = crate::server().await.bucket(User::LOCKER);
    let prefix = fresh("foreign");
    let provider = over(bucket.clone()).with_prefix(&prefix).unwrap();
    for name in ["a", "b", "c"] {
        provider.acquire(&term(name)).await.unwrap();
    }
    let huge = "x".repeat(1 << 20);
    for (key, contents) in [
        ("bb", "42"),
        ("bbb", huge.as_str()),
        ("empty", ""),
        ("a b", "42"),
        (".verify-1", "42"),
        ("sub/a", "42"),
        ("a%41", "42"),
    ] {
        let path = Path::parse(format!("{prefix}/{key}")).unwrap();
        bucket.put(&path, contents.to_owned().into()).await.unwrap();
    }
    bucket
        .put(&Path::from(format!("{prefix}0/a")), "42".into())
        .await
        .unwrap();
    for limit in 1..6 {
        let (listed, unreadable) = names(&provider, "", limit).await;
        assert_eq!(listed, ["a", "b", "c"], "pages of {limit}");
        assert_eq!(unreadable, ["bb", "bbb", "empty"], "pages of {limit}");
    }
    for name in ["bb", "bbb", "empty"] {
        let error = provider.acquire(&term(name)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Fatal, "{name}: {error:?}");
    }
    let path = Path::from(format!("{prefix}/bb"));
    let kept = bucket.get(&path).await.unwrap().bytes().await.unwrap();
    assert_eq!(kept, "42");
}

/// A record that is gone is no lock any more, and its tokens go on.
#[tokio::test]
async fn deleted_object_loses_the_lease_and_keeps_the_order_of_tokens() {
    let bucket = crate::server().await.bucket(User::LOCKER);
    let prefix = fresh("deleted");
    let provider = over(bucket.clone()).with_prefix(&prefix).unwrap();
    let a = term("door");
    let AcquireOutcome::Acquired(tokens) = provider.acquire(&a).await.unwrap() else {
        panic!("nobody else is here");
    };
    let first = tokens.last();
    let path = Path::from(format!("{prefix}/door"));
    bucket.delete(&path).await.unwrap();
    let renewed = provider.renew(&Renew::new(a.name.clone(), a.new, 1)).await;
    assert_eq!(renewed.unwrap(), RenewOutcome::Lost(None));
    let left: Vec<_> = bucket
        .list(Some(&Path::from(prefix)))
        .try_collect()
        .await
        .unwrap();
    assert!(left.is_empty(), "a renewal created {left:?}");
    let AcquireOutcome::Acquired(tokens) = provider.acquire(&term("door")).await.unwrap() else {
        panic!("nobody else is here");
    };
    let second = tokens.last();
    assert!(second > first);
}

#[tokio::test]
async fn purge_deletes_nothing_and_says_what_to_do_instead() {
    let bucket = crate::server().await.bucket(User::LOCKER);
    let prefix = fresh("purge");
    let provider = over(bucket.clone()).with_prefix(&prefix).unwrap();
    for name in ["old", "young"] {
        let a = term(name);
        provider.acquire(&a).await.unwrap();
        provider
            .release(&Release::new(a.name, a.new, None))
            .await
            .unwrap();
    }
    assert_eq!(provider.purge(10).await.unwrap(), 0);
    // Eight days ago, by its own account.
    let path = Path::from(format!("{prefix}/old"));
    let bytes = bucket.get(&path).await.unwrap().bytes().await.unwrap();
    let mut text = String::from_utf8(bytes.to_vec()).unwrap();
    for field in ["since", "token"] {
        let (before, rest) = text.split_once(&format!("\"{field}\":")).unwrap();
        let (micros, after) = rest.split_once(',').unwrap();
        let aged = micros.parse::<u64>().unwrap() - 8 * 24 * 60 * 60 * 1_000_000;
        text = format!("{before}\"{field}\":{aged},{after}");
    }
    bucket.put(&path, text.into()).await.unwrap();
    let error = provider.purge(10).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    assert!(error.to_string().contains("30 days"), "{error}");
    assert_eq!(
        provider.list(&List::new("")).await.unwrap().records.len(),
        2
    );
}
