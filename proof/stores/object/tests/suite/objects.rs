//! Foreign objects among those of the locks, and the keys of names.

use std::collections::BTreeSet;

use dlock_core::{
    ErrorKind, Provider,
    provider::{Admin, List},
};
use dlock_object_proof::{User, over};
use dlock_proof::stores::{self, aged, granted, names, released, term};
use object_store::{ObjectStoreExt, path::Path};

use crate::fresh;

/// Names that services, or the library, merge or refuse if they are used as keys unchanged.
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
        "NoSuchBucket",
        "SlowDown",
        longest.as_str(),
    ];
    let mut tries = Vec::new();
    for name in hostile {
        let a = term(name);
        granted(&provider, &a).await;
        tries.push(a);
    }
    // A provider as in another process, which has seen nothing.
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
            names(&other, limit).await,
            (sorted.clone(), vec![]),
            "pages of {limit}"
        );
    }
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
        granted(&provider, &term(name)).await;
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
        let (listed, unreadable) = names(&provider, limit).await;
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

#[tokio::test]
async fn deleted_object_loses_the_lease_and_keeps_the_order_of_tokens() {
    let bucket = crate::server().await.bucket(User::LOCKER);
    let prefix = fresh("deleted");
    let provider = over(bucket.clone()).with_prefix(&prefix).unwrap();
    stores::deleted_record_loses_the_lease_and_keeps_the_order_of_tokens(&provider, async |name| {
        let path = Path::from(format!("{prefix}/{name}"));
        bucket.delete(&path).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn purge_deletes_nothing_and_says_what_to_do_instead() {
    let bucket = crate::server().await.bucket(User::LOCKER);
    let prefix = fresh("purge");
    let provider = over(bucket.clone()).with_prefix(&prefix).unwrap();
    for name in ["old", "young"] {
        let a = term(name);
        granted(&provider, &a).await;
        released(&provider, &a).await;
    }
    assert_eq!(provider.purge(10).await.unwrap(), 0);
    // Changes the record itself, so that it is eight days old.
    let path = Path::from(format!("{prefix}/old"));
    let bytes = bucket.get(&path).await.unwrap().bytes().await.unwrap();
    let old = aged(str::from_utf8(&bytes).unwrap());
    bucket.put(&path, old.into()).await.unwrap();
    let error = provider.purge(10).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    assert!(error.to_string().contains("30 days"), "{error}");
    assert_eq!(
        provider.list(&List::new("")).await.unwrap().records.len(),
        2
    );
}
