//! Storage that refuses a stale token (T3): in one item, and over several.

#![expect(clippy::unwrap_used, reason = "test code")]

mod common;

use std::{collections::HashMap, time::Duration};

use aws_sdk_dynamodb::{
    Client, Error as StoreError,
    types::{AttributeValue, Put, TransactWriteItem},
};
use common::{Item, client, item, key, provider, put};
use dlock_core::{DLock, Ended, FencingToken, Stale};
use dlock_dynamodb::fence::{Fence, FenceError};
use tokio::task::JoinSet;

fn token(value: u64) -> FencingToken {
    FencingToken::new(value).unwrap()
}

fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

/// Writes this page of a resource.
async fn write(
    client: &Client,
    table: &str,
    token: FencingToken,
    page: &str,
) -> Result<(), FenceError> {
    let update = client
        .update_item()
        .table_name(table)
        .set_key(Some(key("page")))
        .update_expression("SET page = :page REMOVE draft")
        .expression_attribute_values(":page", text(page));
    Fence::new(token).update(update).await.map(|_| ())
}

/// Writes two items of a resource, of which a third one remembers the token.
async fn write_both(
    client: &Client,
    table: &str,
    token: FencingToken,
    page: &str,
) -> Result<(), FenceError> {
    let row = |name: &str| {
        let row = Put::builder()
            .table_name(table)
            .set_item(Some(key(name)))
            .item("page", text(page))
            .build()
            .unwrap();
        TransactWriteItem::builder().put(row).build()
    };
    let transaction = client
        .transact_write_items()
        .transact_items(row("left"))
        .transact_items(row("right"));
    Fence::new(token)
        .transact(transaction, table, key("fence of both"))
        .await
        .map(|_| ())
}

async fn pages(client: &Client, table: &str, names: &[&str]) -> Vec<String> {
    let mut pages = Vec::new();
    for name in names {
        let page = item(client, table, name).await.unwrap();
        pages.push(page["page"].as_s().unwrap().clone());
    }
    pages
}

#[tokio::test]
async fn equal_and_greater_tokens_pass_and_a_lower_one_changes_nothing() {
    let (provider, client) = (provider().await, client().await);
    let table = provider.table();
    write(&client, table, token(7), "first").await.unwrap();
    write(&client, table, token(7), "second").await.unwrap();
    write(&client, table, token(9), "third").await.unwrap();
    let before = item(&client, table, "page").await;
    let error = write(&client, table, token(8), "late").await.unwrap_err();
    let stale = Stale {
        presented: token(8),
        highest: token(9),
    };
    assert!(
        matches!(&error, FenceError::Stale(told) if *told == stale),
        "{error:?}"
    );
    assert_eq!(item(&client, table, "page").await, before);
    assert_eq!(pages(&client, table, &["page"]).await, ["third"]);

    write_both(&client, table, token(7), "first").await.unwrap();
    write_both(&client, table, token(7), "second")
        .await
        .unwrap();
    write_both(&client, table, token(9), "third").await.unwrap();
    let error = write_both(&client, table, token(8), "late")
        .await
        .unwrap_err();
    assert!(
        matches!(&error, FenceError::Stale(told) if *told == stale),
        "{error:?}"
    );
    assert_eq!(
        pages(&client, table, &["left", "right"]).await,
        ["third", "third"]
    );
}

#[tokio::test]
async fn writers_own_condition_still_counts_and_is_not_called_stale() {
    let (provider, client) = (provider().await, client().await);
    let table = provider.table();
    let update = |expected: &str, token| {
        let update = client
            .update_item()
            .table_name(table)
            .set_key(Some(key("page")))
            .update_expression("SET page = :new")
            .condition_expression("attribute_not_exists(page) OR page = :expected")
            .expression_attribute_values(":new", text("new"))
            .expression_attribute_values(":expected", text(expected));
        async move { Fence::new(token).update(update).await }
    };
    update("", token(7)).await.unwrap();
    let error = update("old", token(9)).await.unwrap_err();
    let FenceError::Store(error) = error else {
        panic!("{error:?}");
    };
    assert!(
        matches!(*error, StoreError::ConditionalCheckFailedException(_)),
        "{error:?}"
    );
    // Refused by its own condition, it has raised nothing.
    update("new", token(8)).await.unwrap();
    // The fence counts beside each part of it: this one would hold.
    let stale = client
        .update_item()
        .table_name(table)
        .set_key(Some(key("page")))
        .update_expression("SET page = :new")
        .condition_expression("attribute_exists(page) OR attribute_exists(draft)")
        .expression_attribute_values(":new", text("late"));
    let error = Fence::new(token(7)).update(stale).await.unwrap_err();
    assert!(matches!(error, FenceError::Stale(_)), "{error:?}");
    // Both refuse it, and the fence is what the writer has to know.
    let error = update("old", token(7)).await.unwrap_err();
    assert!(matches!(error, FenceError::Stale(_)), "{error:?}");

    // In a transaction the other items' reasons are theirs.
    let only_once = Put::builder()
        .table_name(table)
        .set_item(Some(key("page")))
        .condition_expression("attribute_not_exists(page)")
        .build()
        .unwrap();
    let transaction = client
        .transact_write_items()
        .transact_items(TransactWriteItem::builder().put(only_once).build());
    let error = Fence::new(token(5))
        .transact(transaction, table, key("fence of another"))
        .await
        .unwrap_err();
    let FenceError::Store(error) = error else {
        panic!("{error:?}");
    };
    assert!(
        matches!(*error, StoreError::TransactionCanceledException(_)),
        "{error:?}"
    );
    assert_eq!(item(&client, table, "fence of another").await, None);
}

#[tokio::test]
async fn attribute_of_another_meaning_is_left_alone() {
    let (provider, client) = (provider().await, client().await);
    let table = provider.table();
    for value in [
        text("a picket one"),
        AttributeValue::N("0".into()),
        AttributeValue::N("1.5".into()),
    ] {
        let mut foreign: Item = key("page");
        foreign.insert("fence".into(), value.clone());
        put(&client, table, foreign).await;
        let before = item(&client, table, "page").await;
        match write(&client, table, token(7), "new").await {
            Err(FenceError::Foreign { attribute }) => {
                assert_eq!(attribute, "fence");
                assert_eq!(item(&client, table, "page").await, before);
            }
            // A number below any token is no more than a low one.
            Ok(()) => assert!(value.is_n()),
            other => panic!("{value:?}: {other:?}"),
        }
    }
    let update = client
        .update_item()
        .table_name(table)
        .set_key(Some(key("page")));
    let elsewhere = Fence::new(token(7)).attribute("token of the writer");
    elsewhere.update(update).await.unwrap();
    let page = item(&client, table, "page").await.unwrap();
    assert_eq!(page["token of the writer"], AttributeValue::N("7".into()));
}

#[tokio::test]
async fn many_writers_with_random_tokens_leave_the_highest_and_nothing_else() {
    const WRITERS: u64 = 2_000;
    let (provider, client) = (provider().await, client().await);
    let table = provider.table().to_owned();
    // Every token once, in an order that has nothing to do with their size.
    let tokens = (0..WRITERS).map(|index| 1 + index * 1_009 % WRITERS);
    let mut writers = JoinSet::new();
    let mut admitted: HashMap<u64, bool> = HashMap::new();
    for value in tokens {
        let (client, table) = (client.clone(), table.clone());
        writers.spawn(async move {
            let wrote = write(&client, &table, token(value), &value.to_string()).await;
            match wrote {
                Ok(()) => (value, true),
                Err(FenceError::Stale(stale)) => {
                    assert_eq!(stale.presented, token(value));
                    assert!(stale.highest > stale.presented);
                    (value, false)
                }
                Err(other) => panic!("{other:?}"),
            }
        });
        // So many at once.
        while writers.len() >= 64 {
            admitted.extend(writers.join_next().await.unwrap());
        }
    }
    while let Some(ended) = writers.join_next().await {
        admitted.extend([ended.unwrap()]);
    }
    assert_eq!(admitted.len(), usize::try_from(WRITERS).unwrap());
    assert!(admitted[&WRITERS], "the highest was refused");
    assert!(
        admitted.values().any(|admitted| !admitted),
        "nobody was refused"
    );
    let left = item(&client, &table, "page").await.unwrap();
    assert_eq!(left["fence"], AttributeValue::N(WRITERS.to_string()));
    assert_eq!(left["page"], text(WRITERS.to_string()));
}

/// 001-3: the holder is paused past the end of its lease; another takes over and writes; the first
/// wakes up and writes with its old token.
#[tokio::test]
async fn paused_holder_is_refused_by_the_storage() {
    let (provider, client) = (provider().await, client().await);
    let table = provider.table().to_owned();
    let lock = |owner: &str, provider| {
        DLock::builder()
            .name("nightly")
            .owner(owner)
            .duration(Duration::from_millis(600))
            .provider(provider)
            .build()
            .unwrap()
    };
    let first = lock("first", provider.clone());
    // Another process: a provider that does not share the first one's client.
    let second = lock("second", provider.with_prefix("").unwrap());

    let paused = first.acquire().await.unwrap();
    write(&client, &table, paused.token(), "of the first")
        .await
        .unwrap();
    // Nobody renews it: to the others it looks dead.
    let successor = second.acquire().await.unwrap();
    assert!(successor.token() > paused.token());
    assert!(!paused.is_valid());
    write(&client, &table, successor.token(), "of the second")
        .await
        .unwrap();

    let error = write(&client, &table, paused.token(), "too late")
        .await
        .unwrap_err();
    assert!(
        matches!(&error, FenceError::Stale(stale)
            if stale.presented == paused.token() && stale.highest == successor.token()),
        "{error:?}"
    );
    assert_eq!(pages(&client, &table, &["page"]).await, ["of the second"]);
    // Its release changes nothing, and says so.
    let successors = successor.uuid();
    let ended = paused.release().await.unwrap();
    assert!(
        matches!(&ended, Ended::NotHeld(Some(record)) if record.uuid == successors),
        "{ended:?}"
    );
    assert_eq!(successor.release().await.unwrap(), Ended::Released);
}
