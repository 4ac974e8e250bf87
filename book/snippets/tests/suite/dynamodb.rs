//! Fencing in DynamoDB, on a compatible store.

use aws_sdk_dynamodb::{
    Client,
    config::{BehaviorVersion, Credentials, Region},
    types::{
        AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement,
        KeyType, ScalarAttributeType,
    },
};
use dlock::dynamodb::fence::FenceError;
use dlock_book_snippets::fencing::dynamodb::set_balance;

use crate::two_holders;

pub(crate) fn client() -> Client {
    let (endpoint, _) = dlock_test_servers::dynamodb::dynamodb().unwrap();
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .region(Region::new("eu-central-1"))
        .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
        .endpoint_url(endpoint)
        .build();
    Client::from_conf(config)
}

#[tokio::test]
async fn dynamodb_refuses_an_earlier_holder() {
    let client = client();
    let id = AttributeDefinition::builder()
        .attribute_name("id")
        .attribute_type(ScalarAttributeType::S);
    let key = KeySchemaElement::builder()
        .attribute_name("id")
        .key_type(KeyType::Hash);
    client
        .create_table()
        .table_name("accounts")
        .attribute_definitions(id.build().unwrap())
        .key_schema(key.build().unwrap())
        .billing_mode(BillingMode::PayPerRequest)
        .send()
        .await
        .unwrap();
    let (earlier, later) = two_holders();
    set_balance(&client, earlier, 90).await.unwrap();
    set_balance(&client, later, 80).await.unwrap();
    set_balance(&client, later, 70).await.unwrap();
    let refused = set_balance(&client, earlier, 60).await;
    assert!(matches!(refused, Err(FenceError::Stale(_))), "{refused:?}");
    let item = client
        .get_item()
        .table_name("accounts")
        .key("id", AttributeValue::S("7".into()));
    let item = item.send().await.unwrap().item.unwrap();
    assert_eq!(item["balance"], AttributeValue::N("70".into()));
}
