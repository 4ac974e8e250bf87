//! What dlock adds to the store's own reply time: the SDK's call, the provider's and the frontend's
//! beside each other, in turns, on a DynamoDB-compatible server in this process (or the one that
//! `DLOCK_TEST_DYNAMODB_URL` names).
//!
//! `cargo bench -p dlock-dynamodb` prints the medians in microseconds, and fails if the frontend adds
//! more than the larger of 20 microseconds and 5 % to the provider's call.

#![expect(clippy::unwrap_used, reason = "a benchmark ends where it fails")]

#[path = "../tests/common/mod.rs"]
mod common;

use aws_sdk_dynamodb::types::{
    AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure::AllOld,
};
use common::{client, key, provider};
use dlock_core::provider::{Acquire, Renew};
use dlock_proof::overhead::{Overhead, report};

// One thread: on several, `main` itself is not on a worker, and each call would pay for its wake-up.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let (client, provider) = (client().await, provider().await);
    let table = provider.table_name().to_owned();
    let overhead = Overhead::new(provider).turns(1500);
    let text = |text: &dyn ToString| AttributeValue::S(text.to_string());
    let number = |number: u64| AttributeValue::N(number.to_string());
    let update = |name: &str| {
        client
            .update_item()
            .table_name(&table)
            .set_key(Some(key(name)))
            .expression_attribute_names("#u", "uuid")
            .expression_attribute_names("#r", "released")
            .expression_attribute_names("#n", "renewals")
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(AllOld)
    };

    let renewals = overhead.renewals(async |Renew { name, uuid, n, .. }| {
        update(name.as_str())
            .condition_expression("#u = :u AND #r = :f AND #n < :n")
            .update_expression("SET #n = :n")
            .expression_attribute_values(":u", text(uuid))
            .expression_attribute_values(":f", AttributeValue::Bool(false))
            .expression_attribute_values(":n", number(*n))
            .send()
            .await
            .unwrap();
    });
    let renewals = renewals.await.unwrap();
    let acquires = overhead.acquires(async |Acquire { name, new, .. }| {
        update(name.as_str())
            .condition_expression("attribute_not_exists(#k) OR #r = :t")
            .update_expression(
                "SET #u = :u, #n = :z, #o = :o, #s = :s, #d = :d, #r = :f, #a = :f, \
                 #t = if_not_exists(#t, :s) + :one",
            )
            .expression_attribute_names("#k", "name")
            .expression_attribute_names("#o", "owner")
            .expression_attribute_names("#s", "since")
            .expression_attribute_names("#d", "duration")
            .expression_attribute_names("#a", "asked")
            .expression_attribute_names("#t", "token")
            .expression_attribute_values(":u", text(new))
            .expression_attribute_values(":o", text(&"driver"))
            .expression_attribute_values(":z", number(0))
            .expression_attribute_values(":one", number(1))
            .expression_attribute_values(":s", number(1_767_225_600_000_000))
            .expression_attribute_values(":d", number(3_600_000))
            .expression_attribute_values(":f", AttributeValue::Bool(false))
            .expression_attribute_values(":t", AttributeValue::Bool(true))
            .send()
            .await
            .unwrap();
    });
    report(&[renewals, acquires.await.unwrap()]);
}
