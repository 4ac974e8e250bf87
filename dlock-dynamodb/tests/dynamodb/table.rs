//! The table helper: create, verify, wait, repeat, and the settings of a provider.

#![expect(clippy::unwrap_used, reason = "test code")]

use crate::common::{
    PATIENCE,
    canned::{Canned, refusal},
    client, client_of, provider, provider_on, table_name, term, url,
};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType, TableStatus,
};
use dlock_core::{ErrorKind, Provider, provider::AcquireOutcome};
use dlock_dynamodb::{BuildError, DynamodbProvider, TableError};

/// Makes a table by hand, with these key attributes.
async fn made(keys: &[(&str, ScalarAttributeType, KeyType)]) -> String {
    let name = table_name();
    let mut request = client()
        .await
        .create_table()
        .table_name(&name)
        .billing_mode(BillingMode::PayPerRequest);
    for (attribute, kind, role) in keys {
        request = request
            .attribute_definitions(
                AttributeDefinition::builder()
                    .attribute_name(*attribute)
                    .attribute_type(kind.clone())
                    .build()
                    .unwrap(),
            )
            .key_schema(
                KeySchemaElement::builder()
                    .attribute_name(*attribute)
                    .key_type(role.clone())
                    .build()
                    .unwrap(),
            );
    }
    request.send().await.unwrap();
    name
}

#[tokio::test]
async fn created_table_is_active_paid_by_request_and_keyed_as_asked() {
    let client = client().await;
    for sort in [None, Some("sk")] {
        let provider = DynamodbProvider::builder()
            .client(client.clone())
            .table_name(table_name())
            .prefix("p")
            .partition_key("pk")
            .attempt_timeout(PATIENCE)
            .call_timeout(PATIENCE)
            .sort_key_opt(sort.map(str::to_owned))
            .build()
            .unwrap();
        provider.create_table().await.unwrap();
        // Usable at once.
        assert!(matches!(
            provider.acquire(&term("a")).await.unwrap(),
            AcquireOutcome::Acquired(_)
        ));
        let described = client
            .describe_table()
            .table_name(provider.table_name())
            .send()
            .await;
        let table = described.unwrap().table.unwrap();
        assert_eq!(table.table_status(), Some(&TableStatus::Active));
        let mode = table
            .billing_mode_summary()
            .and_then(|summary| summary.billing_mode());
        assert_eq!(mode, Some(&BillingMode::PayPerRequest));
        let mut expected = vec![("pk", &KeyType::Hash)];
        expected.extend(sort.map(|sort| (sort, &KeyType::Range)));
        let keys: Vec<_> = table
            .key_schema()
            .iter()
            .map(|key| (key.attribute_name(), key.key_type()))
            .collect();
        assert_eq!(keys, expected);
        assert!(
            table
                .attribute_definitions()
                .iter()
                .all(|definition| *definition.attribute_type() == ScalarAttributeType::S)
        );
    }
}

#[tokio::test]
async fn creating_again_changes_nothing_and_many_may_do_it_at_once() {
    let table = table_name();
    let mut creating = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let provider = provider_on(client().await, &table);
        creating.spawn(async move { provider.create_table().await });
    }
    while let Some(created) = creating.join_next().await {
        created.unwrap().unwrap();
    }
    let provider = provider_on(client().await, &table);
    let a = term("a");
    provider.acquire(&a).await.unwrap();
    provider.create_table().await.unwrap();
    provider.verify_table().await.unwrap();
    let record = provider.read(&a.name).await.unwrap().unwrap();
    assert_eq!(record.uuid, a.new, "creating again emptied the table");
}

#[tokio::test]
async fn creation_waits_until_the_table_is_active() {
    let described = |status: &str| {
        (
            200,
            format!(
                r#"{{"Table":{{"TableName":"locks","TableStatus":"{status}",
                "KeySchema":[{{"AttributeName":"name","KeyType":"HASH"}}],
                "AttributeDefinitions":[{{"AttributeName":"name","AttributeType":"S"}}]}}}}"#
            ),
        )
    };
    // A new table is not known everywhere at once.
    let mut looks = vec![
        described("ACTIVE"),
        described("CREATING"),
        described("CREATING"),
        refusal(400, "ResourceNotFoundException"),
    ];
    let store = Canned::scripted(move |request| {
        if request.contains("DynamoDB_20120810.CreateTable") {
            Some((200, "{}".to_owned()))
        } else if looks.len() > 1 {
            looks.pop()
        } else {
            looks.first().cloned()
        }
    })
    .await;
    let provider = provider_on(client_of(store.url()), "locks");
    provider.create_table().await.unwrap();
    assert!(store.requests() >= 5);

    let store = Canned::start([described("DELETING")]).await;
    let provider = provider_on(client_of(store.url()), "locks");
    let error = provider.verify_table().await.unwrap_err();
    assert!(
        matches!(&error, TableError::NotActive { status, .. } if status == "DELETING"),
        "{error}"
    );
}

#[tokio::test]
async fn table_that_cannot_keep_locks_is_refused_and_named() {
    let (hash, range) = (KeyType::Hash, KeyType::Range);
    let (string, number) = (ScalarAttributeType::S, ScalarAttributeType::N);
    for (keys, found) in [
        (vec![("id", string.clone(), hash.clone())], "id (S)"),
        (vec![("name", number, hash.clone())], "name (N)"),
        (
            vec![("name", string.clone(), hash), ("sk", string, range)],
            "name (S), sk (S)",
        ),
    ] {
        let table = made(&keys).await;
        let provider = provider_on(client().await, &table);
        for error in [
            provider.verify_table().await.unwrap_err(),
            provider.create_table().await.unwrap_err(),
        ] {
            assert!(
                matches!(&error, TableError::Key { found: shown, .. } if shown == found),
                "{error}"
            );
            assert!(error.to_string().contains(&table), "{error}");
        }
    }
    let nowhere = provider_on(client().await, &table_name());
    let error = nowhere.verify_table().await.unwrap_err();
    assert!(matches!(error, TableError::Missing { .. }), "{error}");

    let store = Canned::start([refusal(400, "AccessDeniedException")]).await;
    let denied = provider_on(client_of(store.url()), "locks");
    let error = denied.create_table().await.unwrap_err();
    assert!(
        matches!(&error, TableError::Store(error) if error.kind() == ErrorKind::Fatal),
        "{error}"
    );
}

#[tokio::test]
async fn time_to_live_is_switched_on_only_where_it_was_asked_for() {
    let client = client().await;
    let with_expiry = |table: &str, attribute: &str| {
        DynamodbProvider::builder()
            .client(client.clone())
            .table_name(table)
            .expire_released(true)
            .ttl_attribute(attribute)
            .attempt_timeout(PATIENCE)
            .call_timeout(PATIENCE)
            .build()
            .unwrap()
    };
    let plain = provider().await;
    let expiring = with_expiry(plain.table_name(), "delete_at");
    let error = expiring.verify_table().await.unwrap_err();
    assert!(matches!(error, TableError::TimeToLive { .. }), "{error}");
    expiring.create_table().await.unwrap();
    expiring.verify_table().await.unwrap();
    // Again, and by a provider that does not use the time to live.
    expiring.create_table().await.unwrap();
    plain.create_table().await.unwrap();
    // Only one attribute can be the time to live.
    let error = with_expiry(plain.table_name(), "another")
        .verify_table()
        .await
        .unwrap_err();
    assert!(
        matches!(&error, TableError::TimeToLive { attribute, .. } if attribute == "another"),
        "{error}"
    );
}

#[tokio::test]
async fn settings_that_no_provider_can_have_are_refused() {
    let client = client_of(url().await);
    let builder = || DynamodbProvider::builder().client(client.clone());
    let long = "x".repeat(1024);
    for (what, built) in [
        ("no table", builder().table_name("").build()),
        ("NUL", builder().table_name("t").prefix("a\0b").build()),
        (
            "long prefix",
            builder().table_name("t").prefix(long).build(),
        ),
        (
            "no partition",
            builder().table_name("t").sort_key("sk").build(),
        ),
        (
            "key of a record",
            builder().table_name("t").partition_key("token").build(),
        ),
        (
            "same keys",
            builder()
                .table_name("t")
                .prefix("p")
                .sort_key("name")
                .build(),
        ),
        (
            "ttl is a key",
            builder().table_name("t").ttl_attribute("name").build(),
        ),
        (
            "ttl of a record",
            builder().table_name("t").ttl_attribute("since").build(),
        ),
        (
            "an attempt longer than all",
            builder()
                .table_name("t")
                .attempt_timeout(std::time::Duration::from_secs(9))
                .build(),
        ),
        (
            "no time",
            builder()
                .table_name("t")
                .attempt_timeout(std::time::Duration::ZERO)
                .build(),
        ),
    ] {
        let error = built.map(|_| ()).unwrap_err();
        assert!(!error.to_string().is_empty(), "{what}");
        assert_eq!(matches!(error, BuildError::Table), what == "no table");
    }
}
