//! The provider passes the conformance suite on a table with a sort key.

#![expect(clippy::unwrap_used, reason = "test code")]

use aws_sdk_dynamodb::Client;
use dlock_dynamodb::DynamodbProvider;

struct SortKey;

impl crate::common::table::Kind for SortKey {
    const PREFIX: &'static str = "plain";

    fn provider(client: Client, table: &str, prefix: &str) -> DynamodbProvider {
        DynamodbProvider::builder()
            .client(client)
            .table_name(table)
            .prefix(prefix)
            .partition_key("pk")
            .sort_key("sk")
            .attempt_timeout(crate::common::PATIENCE)
            .call_timeout(crate::common::PATIENCE)
            .build()
            .unwrap()
    }
}

crate::suite!(SortKey);
