//! The settings of a provider, and which of them are refused.

use std::{ops::RangeInclusive, sync::Arc, time::Duration};

use aws_sdk_dynamodb::Client;
use dlock_core::provider::Sharing;
use typed_builder::TypedBuilder;

use crate::{
    call::Calls,
    clock::Wall,
    error::BuildError,
    key::{Keys, Layout, check_attribute},
    provider::DynamodbProvider,
    store::Store,
};

/// How long a request, or an attempt at one, may take.
const LIMITS: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(60);

/// The settings of a provider.
#[derive(TypedBuilder)]
#[builder(
    builder_type(vis = "pub", name = DynamodbProviderBuilder, doc = "Makes a [`DynamodbProvider`]; made by [`DynamodbProvider::builder`]."),
    build_method(into = Result<DynamodbProvider, BuildError>, doc = "Checks the settings. Sends nothing; see [`DynamodbProvider::verify_table`].")
)]
pub(crate) struct Settings {
    /// The client of `aws-sdk-dynamodb`, or an [`Arc`] of one, with its region, credentials and HTTP client. The
    /// provider overrides its time limits and retries for each request, and keeps its other settings.
    #[builder(setter(into))]
    client: Arc<Client>,
    /// The table, by name or ARN. It may have other items too: keep them apart with a prefix.
    #[builder(setter(into))]
    table_name: String,
    /// Separates the locks of one application from those of others in the same table: providers with different prefixes
    /// never meet. None by default. Prefix and name together have at most 1024 bytes. In a table with a sort key it is
    /// the value of the partition key, and must be set.
    #[builder(default, setter(into))]
    prefix: String,
    /// The attribute that is the table's partition key, a string; `name` by default.
    #[builder(default = "name".to_owned(), setter(into))]
    partition_key: String,
    /// The attribute that is the table's sort key, a string, if the table has one. Then the sort key holds the lock's
    /// name, and the partition key the prefix.
    #[builder(default, setter(strip_option(fallback_suffix = "_opt"), into))]
    sort_key: Option<String>,
    /// Lets DynamoDB delete, by its time to live, the records of locks that were released 30 days ago and not taken
    /// since. Off by default. All providers on a table should agree on this and on the attribute.
    #[builder(default)]
    expire_released: bool,
    /// The attribute that is the table's time to live; `ttl` by default. Only a release writes it, and every acquire
    /// removes it, even if `expire_released` is off.
    #[builder(default = "ttl".to_owned(), setter(into))]
    ttl_attribute: String,
    /// How long one attempt at a request may take; 1 s by default.
    #[builder(default = Duration::from_secs(1))]
    attempt_timeout: Duration,
    /// How long one call may take, with all of its attempts, three at most; 2.5 s by default, a sixth of the default
    /// lease. A lock's own calls end after a sixth of its lease in any case.
    #[builder(default = Duration::from_millis(2500))]
    call_timeout: Duration,
}

impl DynamodbProvider {
    /// Settings first, then `build()`.
    ///
    /// ```
    /// use aws_sdk_dynamodb::Client;
    /// use dlock_dynamodb::DynamodbProvider;
    ///
    /// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let provider = DynamodbProvider::builder()
    ///     .client(client)
    ///     .table_name("locks")
    ///     .prefix("billing")
    ///     .build()?;
    /// provider.create_table().await?;
    /// # Ok(()) }
    /// ```
    pub fn builder() -> DynamodbProviderBuilder {
        Settings::builder()
    }
}

impl From<Settings> for Result<DynamodbProvider, BuildError> {
    fn from(settings: Settings) -> Self {
        let Settings {
            client,
            table_name,
            prefix,
            partition_key,
            sort_key,
            expire_released,
            ttl_attribute,
            attempt_timeout,
            call_timeout,
        } = settings;
        if table_name.is_empty() {
            return Err(BuildError::Table);
        }
        if !LIMITS.contains(&attempt_timeout)
            || !LIMITS.contains(&call_timeout)
            || attempt_timeout > call_timeout
        {
            return Err(BuildError::Limits {
                attempt: attempt_timeout,
                call: call_timeout,
            });
        }
        let layout = Arc::new(Layout::new(partition_key, sort_key)?);
        check_attribute(&ttl_attribute)?;
        if layout.contains(&ttl_attribute) {
            return Err(BuildError::Attribute {
                attribute: ttl_attribute,
                reason: "it is a key of the table",
            });
        }
        Ok(DynamodbProvider {
            keys: Keys::new(Arc::clone(&layout), &prefix)?,
            store: Arc::new(Store {
                client: Arc::unwrap_or_clone(client),
                table: table_name,
                layout,
                ttl_attribute,
                expire_released,
                calls: Calls::new(attempt_timeout, call_timeout),
                wall: Wall::system(),
            }),
            sharing: Sharing::default(),
        })
    }
}
