//! Items that a former release has written, as they are in a table. They stay as they are here; a record that
//! changes gets tests beside these.

#![expect(clippy::unwrap_used, reason = "test code")]

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};
use dlock_core::{
    Provider,
    provider::{Acquire, AcquireOutcome, Release, ReleaseOutcome, Renew, RenewOutcome, Version},
};
use dlock_dynamodb::DynamodbProvider;
use uuid::Uuid;

use crate::common::{Item, client, key, provider_on, put, table_name, term};

const TERM: &str = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
const TOKEN: u64 = 1_795_253_490_374_226;

/// The record of a lock, as the first release writes it.
fn first(name: &str, released: bool) -> Item {
    let number = |number: u64| AttributeValue::N(number.to_string());
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let mut item = key(name);
    item.extend([
        ("uuid".to_owned(), text(TERM)),
        ("renewals".to_owned(), number(4)),
        ("owner".to_owned(), text("web-3:4711")),
        ("since".to_owned(), number(TOKEN)),
        ("token".to_owned(), number(TOKEN)),
        ("duration".to_owned(), number(600_000)),
        ("released".to_owned(), AttributeValue::Bool(released)),
        ("asked".to_owned(), AttributeValue::Bool(false)),
        ("data".to_owned(), AttributeValue::B(Blob::new(b"kept"))),
    ]);
    item
}

async fn table() -> DynamodbProvider {
    let (client, table) = (client().await, table_name());
    let provider = provider_on(client.clone(), &table);
    provider.create_table().await.unwrap();
    for (name, released) in [("held", false), ("dead", false), ("free", true)] {
        put(&client, &table, first(name, released)).await;
    }
    provider
}

async fn is_granted(provider: &DynamodbProvider, request: Acquire) {
    match provider.acquire(&request).await.unwrap() {
        AcquireOutcome::Acquired(tokens) => assert!(tokens.last().get() > TOKEN),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn records_of_the_first_release_are_used_with_their_holders() {
    let provider = table().await;
    provider.verify_table().await.unwrap();
    let uuid: Uuid = TERM.parse().unwrap();
    let held = provider.acquire(&term("held")).await.unwrap();
    let AcquireOutcome::Held(held) = held else {
        panic!("{held:?}")
    };
    assert_eq!(
        (held.uuid, held.renewals, held.token.get()),
        (uuid, 4, TOKEN)
    );
    assert_eq!(
        (held.owner.as_str(), held.data.as_deref()),
        ("web-3:4711", Some(&b"kept"[..]))
    );
    let name = term("held").name;
    let renewed = provider
        .renew(&Renew::new(name.clone(), uuid, 5))
        .await
        .unwrap();
    assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
    let release = Release::new(name, uuid, Some(held.token));
    assert_eq!(
        provider.release(&release).await.unwrap(),
        ReleaseOutcome::Released
    );
    is_granted(&provider, term("held")).await;

    // Its holder has not renewed it for as long as its lease lasts.
    let unchanged = Version { uuid, renewals: 4 };
    is_granted(&provider, term("dead").prev(Some(unchanged))).await;
    is_granted(&provider, term("free")).await;
}
