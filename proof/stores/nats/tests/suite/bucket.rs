//! The provider refuses buckets that could lose a lock, and says what to do.

use std::time::Duration;

use dlock_core::{ErrorKind, Provider, provider::Durability};
use dlock_nats::{BucketError, CasProvider, NatsStore, provider};
use dlock_nats_proof::{Server, client};
use dlock_proof::stores::{granted, renewed, term};
use serde_json::json;

use super::{ask, create};

const LIMIT: Duration = Duration::from_secs(20);

#[tokio::test]
async fn bucket_that_could_lose_a_lock_is_refused() {
    let server = Server::bare("").await;
    let client = client(server.address(), LIMIT).await;
    create(&client, "origin", json!({})).await;
    let flaws = [
        ("max_age", json!({ "max_age": 60_000_000_000_u64 })),
        ("memory", json!({ "storage": "memory" })),
        ("history", json!({ "max_msgs_per_subject": 5 })),
        (
            "discard",
            json!({ "discard": "old", "max_bytes": 1_000_000 }),
        ),
        ("discard", json!({ "discard": "old", "max_msgs": 1000 })),
        (
            "discard_new_per_subject",
            json!({ "discard_new_per_subject": true }),
        ),
        ("retention", json!({ "retention": "workqueue" })),
        ("retention", json!({ "retention": "interest" })),
        ("no_ack", json!({ "no_ack": true })),
        ("subjects", json!({ "subjects": ["$KV.BUCKET.dlock.>"] })),
        ("copy", json!({ "sources": [{ "name": "KV_origin" }] })),
        ("max_msg_size", json!({ "max_msg_size": 4096 })),
        ("async", json!({ "persist_mode": "async" })),
        (
            "subjects",
            json!({ "subject_transform": { "src": "$KV.BUCKET.>", "dest": "$KV.BUCKET.x.>" } }),
        ),
    ];
    for (number, (word, settings)) in flaws.into_iter().enumerate() {
        let bucket = format!("flaw-{number}");
        let settings = settings.to_string().replace("BUCKET", &bucket);
        let settings = serde_json::from_str(&settings).unwrap();
        let made = create(&client, &bucket, settings).await;
        assert!(made.get("error").is_none(), "{word}: {made}");
        let provider = provider(client.clone(), &*bucket, "dlock").unwrap();
        let error = provider.store().verify().await.unwrap_err();
        assert!(
            matches!(error, BucketError::Unfit { .. }),
            "{word}: {error:?}"
        );
        let because = error.to_string();
        assert!(because.contains(word), "{word}: {because}");
        // The same without an earlier check.
        let a = term("door");
        for error in [
            provider.acquire(&a).await.unwrap_err(),
            provider.read(&a.name).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
            assert_eq!(error.to_string(), because);
        }
        let info = ask(&client, &format!("STREAM.INFO.KV_{bucket}"), json!({})).await;
        assert_eq!(
            info["state"]["last_seq"], 0,
            "{word}: something was written"
        );
    }
}

/// A bucket with the defaults of NATS' own tools: direct reads, which the provider does not use, and no deletion.
#[tokio::test]
async fn bucket_of_the_tools_will_do() {
    let server = Server::bare("").await;
    let client = client(server.address(), LIMIT).await;
    let settings = json!({
        "allow_direct": true, "deny_delete": true, "allow_rollup_hdrs": true, "max_bytes": 1_000_000,
    });
    create(&client, "tools", settings).await;
    let provider = provider(client, "tools", "dlock").unwrap();
    provider.store().verify().await.unwrap();
    granted(&provider, &term("door")).await;
}

#[tokio::test]
async fn bucket_is_made_once_and_has_what_locks_need() {
    let server = Server::bare("").await;
    let client = client(server.address(), LIMIT).await;
    let of = |bucket: &str| provider(client.clone(), bucket, "dlock").unwrap();
    let locks = of("locks");
    let error = locks.store().verify().await.unwrap_err();
    assert!(matches!(error, BucketError::Missing { .. }), "{error:?}");
    let error = locks.acquire(&term("door")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    assert!(error.to_string().contains("set_up"), "{error}");

    let makers: Vec<_> = (0..8)
        .map(|_| {
            let locks = of("locks");
            tokio::spawn(async move { locks.store().set_up(1).await })
        })
        .collect();
    for maker in makers {
        maker.await.unwrap().unwrap();
    }
    let a = term("door");
    locks.acquire(&a).await.unwrap();
    locks.store().set_up(1).await.unwrap();
    assert_eq!(
        of("locks").read(&a.name).await.unwrap().unwrap().uuid,
        a.new
    );
    let info = ask(&client, "STREAM.INFO.KV_locks", json!({})).await;
    for (name, value) in [
        ("storage", json!("file")),
        ("max_age", json!(0)),
        ("max_msgs_per_subject", json!(1)),
        ("allow_direct", json!(false)),
        ("discard", json!("new")),
        ("deny_delete", json!(false)),
    ] {
        assert_eq!(info["config"][name], value, "{name}");
    }

    for name in ["", "a.b", "a b", "a*", "\u{e9}"] {
        let error = of(name).store().verify().await.unwrap_err();
        assert!(
            matches!(error, BucketError::Name { .. }),
            "{name:?}: {error:?}"
        );
    }
    let error = of("three").store().set_up(3).await.unwrap_err();
    let BucketError::Store(error) = error else {
        panic!("{error:?}");
    };
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
}

#[tokio::test]
async fn bucket_in_memory_is_taken_if_it_is_asked_for() {
    let server = Server::bare("").await;
    let client = client(server.address(), LIMIT).await;
    let store = NatsStore::new(client.clone(), "volatile").in_memory(true);
    store.set_up(1).await.unwrap();
    let info = ask(&client, "STREAM.INFO.KV_volatile", json!({})).await;
    assert_eq!(info["config"]["storage"], "memory");
    let provider = CasProvider::new(store);
    assert_eq!(provider.capabilities().durability, Durability::Volatile);
    granted(&provider, &term("door")).await;
}

#[tokio::test]
async fn full_bucket_refuses_new_locks_and_keeps_those_that_are_held() {
    let server = Server::bare("").await;
    let client = client(server.address(), LIMIT).await;
    create(&client, "small", json!({ "max_bytes": 2000 })).await;
    let provider = provider(client, "small", "dlock").unwrap();
    let first = term("first");
    provider.acquire(&first).await.unwrap();
    let mut locks = 0;
    let error = loop {
        locks += 1;
        match provider.acquire(&term(&format!("lock-{locks}"))).await {
            Ok(_) => assert!(locks < 100, "it is never full"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error:?}");
    let record = provider.read(&first.name).await.unwrap().unwrap();
    assert_eq!(record.uuid, first.new);
    renewed(&provider, &first, 1).await;
}
