//! With `aws-sdk-dynamodb`.

// ANCHOR: update
use aws_sdk_dynamodb::{Client, types::AttributeValue};
use dlock::{
    FencingToken,
    dynamodb::fence::{Fence, FenceError},
};

pub async fn set_balance(
    client: &Client,
    token: FencingToken,
    balance: i64,
) -> Result<(), FenceError> {
    let write = client
        .update_item()
        .table_name("accounts")
        .key("id", AttributeValue::S("7".into()))
        .update_expression("SET balance = :b")
        .expression_attribute_values(":b", AttributeValue::N(balance.to_string()));
    // Adds a condition and an assignment to the update, which stays one atomic
    // write.
    Fence::default().update(write, token).await?;
    Ok(())
}
// ANCHOR_END: update
