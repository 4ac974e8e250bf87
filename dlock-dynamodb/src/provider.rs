//! The provider: settings, clones, and the contract, one rule each. The rules themselves are in
//! `requests.rs`.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use dlock_core::{
    Acquire, AcquireOutcome, Admin, Ask, AskOutcome, Capabilities, Discipline, Durability, List,
    Name, Page, Provider, ProviderError, Record, Release, ReleaseOutcome, Renew, RenewOutcome,
    Revoke, RevokeOutcome, Sharing,
};
use futures_util::{StreamExt, stream};
use typed_builder::TypedBuilder;

use crate::{
    admin,
    call::Calls,
    clock::Wall,
    error::{BuildError, TableError},
    key::{Keys, Layout, check_attribute},
    requests,
    store::Store,
    table,
};

/// How many renewals of one batch are under way at once: requests of some milliseconds keep 1,000
/// locks well below a second, and one batch does not take all of a client's connections.
const AT_ONCE: usize = 32;

/// Locks in one DynamoDB table, over the user's own client.
///
/// Cheap to clone; clones share one [`Client`](dlock_core::Client). What the store guarantees, what
/// it costs and how it can lose a lock is said in the [documentation of the crate](crate).
///
/// # Panics
/// The methods of [`Provider`] and [`Admin`] need a tokio runtime with its time driver, and panic
/// outside one.
///
/// # Cancel safety
/// A call whose future is dropped may have been applied; the client closes a connection that has
/// not answered.
#[derive(Clone)]
pub struct DynamoDbProvider {
    store: Arc<Store>,
    keys: Keys,
    sharing: Sharing,
}

/// What a provider is made with.
#[derive(TypedBuilder)]
#[builder(
    builder_type(vis = "pub", name = DynamoDbProviderBuilder, doc = "Makes a [`DynamoDbProvider`]; made by [`DynamoDbProvider::builder`]."),
    build_method(into = Result<DynamoDbProvider, BuildError>, doc = "Checks the settings. Sends nothing; see [`DynamoDbProvider::verify_table`].")
)]
pub(crate) struct Settings {
    #[builder(setter(
        doc = "The client of `aws-sdk-dynamodb`, with its region, credentials and HTTP client. Its time limits and retries are overridden for each request, its other settings are kept."
    ))]
    client: Client,
    #[builder(setter(
        into,
        doc = "The table, by name or ARN. It may have other items too: keep them apart with a prefix."
    ))]
    table: String,
    #[builder(
        default,
        setter(
            into,
            doc = "Separates the locks of one application from those of others in the same table: providers with different prefixes never meet. None by default. With the name at most 1024 bytes. In a table with a sort key it is the value of the partition key, and must be set."
        )
    )]
    prefix: String,
    #[builder(default = "name".to_owned(), setter(
        into,
        doc = "The attribute that is the table's partition key, a string; `name` by default."
    ))]
    partition_key: String,
    #[builder(
        default,
        setter(
            strip_option,
            into,
            doc = "The attribute that is the table's sort key, a string, if the table has one. Then the sort key holds the lock's name, and the partition key the prefix."
        )
    )]
    sort_key: Option<String>,
    #[builder(
        default,
        setter(
            doc = "Lets DynamoDB delete the records of locks that were released 30 days ago and not taken since, by its time to live. Off by default. All providers on a table should agree on this and on the attribute."
        )
    )]
    expire_released: bool,
    #[builder(default = "ttl".to_owned(), setter(
        into,
        doc = "The attribute that is the table's time to live; `ttl` by default. Only a release writes it, and every acquire removes it, also where `expire_released` is off."
    ))]
    ttl_attribute: String,
    #[builder(default = Duration::from_secs(1), setter(
        doc = "How long one attempt at a request may take; 1 s by default."
    ))]
    attempt_timeout: Duration,
    #[builder(default = Duration::from_millis(2500), setter(
        doc = "How long a request may take with all of its up to three attempts; 2.5 s by default, a sixth of the default lease. A lock's own calls end after a sixth of its lease in any case."
    ))]
    operation_timeout: Duration,
}

impl DynamoDbProvider {
    /// Settings first, then `build()`.
    ///
    /// ```
    /// use aws_sdk_dynamodb::Client;
    /// use dlock_dynamodb::DynamoDbProvider;
    ///
    /// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let provider = DynamoDbProvider::builder()
    ///     .client(client)
    ///     .table("locks")
    ///     .prefix("billing")
    ///     .build()?;
    /// provider.create_table().await?;
    /// # Ok(()) }
    /// ```
    pub fn builder() -> DynamoDbProviderBuilder {
        Settings::builder()
    }

    /// The same table over the same client with another prefix: other locks, so another
    /// [`Client`](dlock_core::Client).
    ///
    /// # Errors
    /// [`BuildError::Prefix`] if the text cannot be one.
    pub fn with_prefix(&self, prefix: &str) -> Result<Self, BuildError> {
        Ok(Self {
            store: Arc::clone(&self.store),
            keys: Keys::new(Arc::clone(&self.store.layout), prefix)?,
            sharing: Sharing::default(),
        })
    }

    /// Makes the table if there is none: paid by request, with this provider's key attributes, and,
    /// with `expire_released`, with its time to live. Then waits until it is active, for at most two
    /// minutes, and checks it as [`verify_table`](Self::verify_table) does.
    ///
    /// Safe to call from many processes at once, and on a table that is there. Needs the permissions
    /// `dynamodb:CreateTable`, `dynamodb:DescribeTable` and, with `expire_released`,
    /// `dynamodb:UpdateTimeToLive` and `dynamodb:DescribeTimeToLive`; the locks themselves need
    /// `dynamodb:UpdateItem` and `dynamodb:GetItem` only.
    ///
    /// # Errors
    /// [`TableError`] says what is wrong with the table and what to do about it.
    ///
    /// # Cancel safety
    /// The table may be there, without its time to live; call it again.
    pub async fn create_table(&self) -> Result<(), TableError> {
        table::create(&self.store).await
    }

    /// Checks that the table is there and active, that its key attributes are the provider's, and,
    /// with `expire_released`, that it deletes by that attribute.
    ///
    /// # Errors
    /// [`TableError`] says what is wrong with the table and what to do about it.
    pub async fn verify_table(&self) -> Result<(), TableError> {
        table::verify(&self.store).await
    }

    /// The name of the table.
    #[must_use]
    pub fn table(&self) -> &str {
        &self.store.table
    }

    /// Reads another wall clock.
    #[cfg(test)]
    pub(crate) fn with_wall(&self, now: fn() -> std::time::SystemTime) -> Self {
        let mut store = Store::clone(&self.store);
        store.wall = Wall::fake(now);
        Self {
            store: Arc::new(store),
            keys: self.keys.clone(),
            sharing: Sharing::default(),
        }
    }
}

impl From<Settings> for Result<DynamoDbProvider, BuildError> {
    fn from(settings: Settings) -> Self {
        const LIMITS: std::ops::RangeInclusive<Duration> =
            Duration::from_millis(1)..=Duration::from_secs(60);
        let Settings {
            client,
            table,
            prefix,
            partition_key,
            sort_key,
            expire_released,
            ttl_attribute,
            attempt_timeout,
            operation_timeout,
        } = settings;
        if table.is_empty() {
            return Err(BuildError::Table);
        }
        if !LIMITS.contains(&attempt_timeout)
            || !LIMITS.contains(&operation_timeout)
            || attempt_timeout > operation_timeout
        {
            return Err(BuildError::Limits {
                attempt: attempt_timeout,
                operation: operation_timeout,
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
        Ok(DynamoDbProvider {
            keys: Keys::new(Arc::clone(&layout), &prefix)?,
            store: Arc::new(Store {
                client,
                table,
                layout,
                ttl_attribute,
                expire_released,
                calls: Calls::new(attempt_timeout, operation_timeout),
                wall: Wall::system(),
            }),
            sharing: Sharing::default(),
        })
    }
}

impl fmt::Debug for DynamoDbProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamoDbProvider")
            .field("table", &self.store.table)
            .field("prefix", &self.keys.prefix())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Provider for DynamoDbProvider {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new("dynamodb", Discipline::Observer)
            .closing(true)
            .durability(Durability::Durable)
            .cheap_reads(true)
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        requests::acquire(&self.store, &self.keys.key(&request.name)?, request).await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        requests::renew(&self.store, &self.keys.key(&request.name)?, request).await
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        requests::release(&self.store, &self.keys.key(&request.name)?, request).await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        self.store.read(&self.keys.key(name)?).await
    }

    /// DynamoDB has no batch of conditional writes: a transaction costs twice as much and fails as
    /// a whole. So they travel side by side, 32 at once. One that hangs keeps one of these places
    /// until its attempt's time is over, and nobody else waits for it. Dropping the future ends
    /// those that are under way and sends no others.
    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        let mut answers: Vec<_> = stream::iter(requests.iter().cloned().enumerate())
            .map(|(index, request)| async move { (index, self.renew(&request).await) })
            // As they come: in order, the places of those that have answered would stay taken
            // behind one that hangs.
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        answers.sort_unstable_by_key(|(index, _)| *index);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    fn sharing(&self) -> Option<&Sharing> {
        Some(&self.sharing)
    }
}

#[async_trait]
impl Admin for DynamoDbProvider {
    /// With a sort key this is one query. Without one DynamoDB keeps no order, so every page is a
    /// scan of the whole table.
    async fn list(&self, request: &List) -> Result<Page, ProviderError> {
        admin::list(&self.store, &self.keys, request).await
    }

    async fn revoke(&self, request: &Revoke) -> Result<RevokeOutcome, ProviderError> {
        requests::revoke(&self.store, &self.keys.key(&request.name)?, request).await
    }

    async fn ask(&self, request: &Ask) -> Result<AskOutcome, ProviderError> {
        requests::ask_holder(&self.store, &self.keys.key(&request.name)?, request).await
    }

    /// Deletes records that were **released** and whose term began more than 7 days and its lease
    /// ago. A record without an expiry that nobody released may be held by somebody who renews it,
    /// and no clock can tell; to be rid of it, acquire the lock and release it.
    ///
    /// Two clocks have to agree that the time has passed, this machine's and the one that DynamoDB
    /// sends with its replies; and a token must lie 7 days below both, so that the next first token
    /// is above it even if it is seeded by a clock that is days behind.
    ///
    /// Scans the table (or queries the prefix where there is a sort key).
    async fn purge(&self, limit: usize) -> Result<u64, ProviderError> {
        admin::purge(&self.store, &self.keys, limit).await
    }
}
