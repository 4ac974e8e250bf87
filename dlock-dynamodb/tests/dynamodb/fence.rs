//! Storage that refuses a stale token (T3): in one item, and over several.

#![expect(clippy::unwrap_used, reason = "test code")]

use async_trait::async_trait;
use aws_sdk_dynamodb::{
    Client, Error as StoreError,
    types::{AttributeValue, Get, Put, TransactGetItem, TransactWriteItem},
};
use dlock_core::{FencingToken, Stale};
use dlock_dynamodb::fence::{Fence, FenceError};
use dlock_testkit::storage::{self, Storage};

use crate::common::{Item, client, item, key, provider, provider_on, put, table_name};

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
    Fence::default().update(update, token).await.map(|_| ())
}

/// Writes two items of a resource; a third one remembers the token.
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
    Fence::default()
        .transact(transaction, table, key("fence of both"), token)
        .await
        .map(|_| ())
}

/// One writer of a story: of a resource of one item, or of two and a third one for the fence.
#[derive(Clone)]
struct Pages {
    client: Client,
    table: String,
    both: bool,
}

impl Pages {
    async fn new(both: bool) -> Self {
        Self {
            client: client().await,
            table: provider().await.table_name().to_owned(),
            both,
        }
    }
}

#[async_trait]
impl Storage for Pages {
    async fn another(&self) -> Self {
        self.clone()
    }

    async fn write(&self, token: FencingToken, value: u64) -> Result<(), Stale> {
        let (client, table, page) = (&self.client, &self.table, value.to_string());
        // Two transactions cannot run on one item: DynamoDB cancels the later one, and leaves it to
        // its sender to repeat it.
        for _ in 0..1_000 {
            let written = if self.both {
                write_both(client, table, token, &page).await
            } else {
                write(client, table, token, &page).await
            };
            match written {
                Ok(()) => return Ok(()),
                Err(FenceError::Stale(stale)) => return Err(stale),
                Err(FenceError::Store(error)) if collided(&error) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        panic!("others are always in the way");
    }

    async fn read(&self) -> Option<(u64, FencingToken)> {
        let number = |item: &Item, attribute: &str| -> Option<u64> {
            match item.get(attribute)? {
                AttributeValue::N(text) | AttributeValue::S(text) => text.parse().ok(),
                other => panic!("{other:?}"),
            }
        };
        if !self.both {
            let page = item(&self.client, &self.table, "page").await?;
            return Some((number(&page, "page")?, token(number(&page, "fence")?)));
        }
        let get = |name| {
            let get = Get::builder()
                .table_name(&self.table)
                .set_key(Some(key(name)))
                .build()
                .unwrap();
            TransactGetItem::builder().get(get).build()
        };
        let all = loop {
            let read = self
                .client
                .transact_get_items()
                .transact_items(get("left"))
                .transact_items(get("right"))
                .transact_items(get("fence of both"));
            match read.send().await {
                Ok(read) => break read,
                Err(error) => {
                    let error = StoreError::from(error);
                    assert!(collided(&error), "{error:?}");
                }
            }
        };
        let items: Vec<&Item> = all
            .responses()
            .iter()
            .filter_map(|got| got.item())
            .collect();
        let [left, right, fence] = items[..] else {
            assert!(items.is_empty(), "{items:?}");
            return None;
        };
        assert_eq!(left["page"], right["page"], "of one write");
        Some((number(left, "page")?, token(number(fence, "fence")?)))
    }
}

/// Whether a transaction met another one.
fn collided(error: &StoreError) -> bool {
    match error {
        StoreError::TransactionCanceledException(cancelled) => cancelled
            .cancellation_reasons()
            .iter()
            .any(|reason| reason.code() == Some("TransactionConflict")),
        StoreError::TransactionConflictException(_) => true,
        _ => false,
    }
}

#[tokio::test]
async fn equal_and_greater_tokens_pass_and_a_lower_one_changes_nothing() {
    for both in [false, true] {
        storage::only_lower_tokens_are_refused(&Pages::new(both).await).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_with_random_tokens_leave_the_highest() {
    for both in [false, true] {
        storage::random_tokens_leave_the_highest(Pages::new(both).await).await;
    }
}

/// The holder is paused past the end of its lease; another takes over and writes; the first wakes up and writes with
/// its old token.
#[tokio::test]
async fn paused_holder_is_refused_by_the_storage() {
    let table = provider().await.table_name().to_owned();
    let provider = move || {
        let table = table.clone();
        async move { provider_on(client().await, &table) }
    };
    for both in [false, true] {
        storage::paused_holder_is_refused(provider.clone(), &Pages::new(both).await).await;
    }
}

#[tokio::test]
async fn refused_holder_raises_its_floor_and_gets_above() {
    let table = table_name();
    let locks = provider_on(client().await, &table);
    locks.create_table().await.unwrap();
    let provider = async || provider_on(client().await, &table);
    storage::refused_holder_gets_above(provider, &Pages::new(false).await).await;
}

#[tokio::test]
async fn writers_own_condition_still_counts_and_is_not_called_stale() {
    let (provider, client) = (provider().await, client().await);
    let table = provider.table_name();
    let update = |expected: &str, token| {
        let update = client
            .update_item()
            .table_name(table)
            .set_key(Some(key("page")))
            .update_expression("SET page = :new")
            .condition_expression("attribute_not_exists(page) OR page = :expected")
            .expression_attribute_values(":new", text("new"))
            .expression_attribute_values(":expected", text(expected));
        async move { Fence::default().update(update, token).await }
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
    // An update refused by its own condition has not raised the token.
    update("new", token(8)).await.unwrap();
    // The fence's condition counts in addition to each part of the update's own, which would hold
    // here.
    let stale = client
        .update_item()
        .table_name(table)
        .set_key(Some(key("page")))
        .update_expression("SET page = :new")
        .condition_expression("attribute_exists(page) OR attribute_exists(draft)")
        .expression_attribute_values(":new", text("late"));
    let error = Fence::default().update(stale, token(7)).await.unwrap_err();
    assert!(matches!(error, FenceError::Stale(_)), "{error:?}");
    // Both conditions refuse the update; the writer has to learn of the fence's.
    let error = update("old", token(7)).await.unwrap_err();
    assert!(matches!(error, FenceError::Stale(_)), "{error:?}");

    // In a transaction the reasons of the other items belong to those items.
    let only_once = Put::builder()
        .table_name(table)
        .set_item(Some(key("page")))
        .condition_expression("attribute_not_exists(page)")
        .build()
        .unwrap();
    let transaction = client
        .transact_write_items()
        .transact_items(TransactWriteItem::builder().put(only_once).build());
    let error = Fence::default()
        .transact(transaction, table, key("fence of another"), token(5))
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
    let table = provider.table_name();
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
            Err(FenceError::Foreign { place }) => {
                assert!(place.contains("\"fence\""), "{place}");
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
    let elsewhere = Fence::default().attribute("token of the writer");
    elsewhere.update(update, token(7)).await.unwrap();
    let page = item(&client, table, "page").await.unwrap();
    assert_eq!(page["token of the writer"], AttributeValue::N("7".into()));
}
