//! The provider passes the conformance suite: on a table with one key attribute, on one with a sort
//! key, and on a store that does not return the item a condition failed on.

#![expect(clippy::unwrap_used, reason = "test code")]

mod common;

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use dlock_core::{Admin, Capabilities, Discipline, Name};
use dlock_dynamodb::DynamoDbProvider;
use dlock_testkit::Fixture;

const CAPABILITIES: Capabilities = Capabilities::new("dynamodb", Discipline::Observer);

/// How the table is keyed, and how its store answers.
trait Kind: Send + Sync + 'static {
    fn client() -> Client {
        common::client()
    }

    fn provider(client: Client, table: &str, prefix: &str) -> DynamoDbProvider {
        let provider = common::provider_on(client, table);
        provider.with_prefix(prefix).unwrap()
    }

    /// The prefix of providers that were not asked for one.
    const PREFIX: &'static str = "";
}

struct Table<K> {
    name: String,
    kind: std::marker::PhantomData<K>,
}

impl<K: Kind> Table<K> {
    async fn start() -> Self {
        let name = common::table_name();
        let provider = K::provider(K::client(), &name, K::PREFIX);
        provider.create_table().await.unwrap();
        Self {
            name,
            kind: std::marker::PhantomData,
        }
    }

    fn provider(&self, prefix: &str) -> DynamoDbProvider {
        K::provider(K::client(), &self.name, prefix)
    }
}

/// The group `purge` is left out: without an expiry its rule can only be kept for released records,
/// which `tests/admin.rs` checks.
macro_rules! suite {
    ($module:ident, $kind:ident) => {
        mod $module {
            use super::*;

            struct Store(Table<$kind>);

            impl Fixture for Store {
                type Provider = DynamoDbProvider;

                const CAPABILITIES: Capabilities = CAPABILITIES;
                const NAME_BYTES: usize = Name::MAX_BYTES - $kind::PREFIX.len();

                async fn start() -> Self {
                    Self(Table::start().await)
                }

                async fn provider(&self) -> DynamoDbProvider {
                    self.0.provider($kind::PREFIX)
                }

                fn admin(provider: &DynamoDbProvider) -> Option<Arc<dyn Admin>> {
                    Some(Arc::new(provider.clone()))
                }

                async fn prefixed(&self, prefix: &str) -> Option<DynamoDbProvider> {
                    Some(self.0.provider(prefix))
                }
            }

            dlock_testkit::conformance!(Store, without [watch, purge]);
        }
    };
}

struct OneKey;

impl Kind for OneKey {}

suite!(one_key, OneKey);

struct SortKey;

impl Kind for SortKey {
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

suite!(sort_key, SortKey);
