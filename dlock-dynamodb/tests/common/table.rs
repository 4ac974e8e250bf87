//! A table for the conformance suite: its key attributes, and how its store answers.

use std::marker::PhantomData;

use aws_sdk_dynamodb::Client;
use dlock_core::provider::{Capabilities, Discipline};
use dlock_dynamodb::DynamodbProvider;

use super::{client_of, provider_on, table_name, url};

pub const CAPABILITIES: Capabilities = Capabilities::new("dynamodb", Discipline::Observer)
    .closing(true)
    .marks(true)
    .cheap_reads(true);

/// The differences between one suite and the others.
pub trait Kind: Send + Sync + 'static {
    /// The prefix of providers made without one.
    const PREFIX: &'static str = "";

    fn client(url: &str) -> Client {
        client_of(url)
    }

    fn provider(client: Client, table: &str, prefix: &str) -> DynamodbProvider {
        provider_on(client, table).with_prefix(prefix).unwrap()
    }
}

pub struct Table<K> {
    url: &'static str,
    name: String,
    kind: PhantomData<K>,
}

impl<K: Kind> Table<K> {
    pub async fn start() -> Self {
        let table = Self {
            url: url().await,
            name: table_name(),
            kind: PhantomData,
        };
        let provider = table.provider(K::PREFIX);
        provider.create_table().await.unwrap();
        table
    }

    pub fn provider(&self, prefix: &str) -> DynamodbProvider {
        K::provider(K::client(self.url), &self.name, prefix)
    }
}

/// The suite on a table of this kind. The group `purge` is left out: without an expiry its rule can
/// only be kept for released records, which `tests/dynamodb/admin.rs` checks.
#[macro_export]
macro_rules! suite {
    ($kind:ident) => {
        use std::sync::Arc;

        use dlock_core::{Name, provider::{Admin, Capabilities}};
        use dlock_testkit::Fixture;

        struct Store($crate::common::table::Table<$kind>);

        impl Fixture for Store {
            type Provider = dlock_dynamodb::DynamodbProvider;

            const CAPABILITIES: Capabilities = $crate::common::table::CAPABILITIES;
            const LEASE: std::time::Duration = std::time::Duration::from_secs(1);
            const NAME_BYTES: usize = Name::MAX_BYTES - <$kind as $crate::common::table::Kind>::PREFIX.len();

            const BLOCKS: bool = true;

            const FUTURE_BYTES: usize = 3584;

            // Other tests keep the machine busy.
            const UNANSWERED: u32 = 2;

            async fn start() -> Self {
                Self($crate::common::table::Table::start().await)
            }

            async fn provider(&self) -> Self::Provider {
                self.0.provider(<$kind as $crate::common::table::Kind>::PREFIX)
            }

            fn admin(provider: &Self::Provider) -> Option<Arc<dyn Admin>> {
                Some(Arc::new(provider.clone()))
            }

            async fn prefixed(&self, prefix: &str) -> Option<Self::Provider> {
                Some(self.0.provider(prefix))
            }
        }

        dlock_testkit::conformance!(Store, without [watch, purge]);
    };
}
