//! The provider passes the conformance suite on a table with a sort key.

#![expect(clippy::unwrap_used, reason = "test code")]

mod common;

use aws_sdk_dynamodb::Client;
use dlock_dynamodb::DynamoDbProvider;

struct SortKey;

impl common::table::Kind for SortKey {
    const PREFIX: &'static str = "plain";

    fn provider(client: Client, table: &str, prefix: &str) -> DynamoDbProvider {
        DynamoDbProvider::builder()
            .client(client)
            .table(table)
            .prefix(prefix)
            .partition_key("pk")
            .sort_key("sk")
            .attempt_timeout(common::PATIENCE)
            .operation_timeout(common::PATIENCE)
            .build()
            .unwrap()
    }
}

suite!(SortKey);
