//! The settings of a provider, and which of them are refused.

use std::{sync::Arc, time::Duration};

use deadpool_postgres::{
    Pool,
    tokio_postgres::{
        Config, Socket,
        tls::{MakeTlsConnect, TlsConnect},
    },
};
use dlock_core::provider::{Prefix, Sharing};
use typed_builder::TypedBuilder;

use crate::{
    connections::Connections,
    error::BuildError,
    provider::PostgresProvider,
    schema::Schema,
    wakeups::Hints,
    wakeups::{Connect, connector},
};

/// The settings of a provider.
#[derive(TypedBuilder)]
#[builder(
    builder_type(vis = "pub", name = PostgresProviderBuilder, doc = "Builds a [`PostgresProvider`]; made by [`PostgresProvider::builder`]."),
    build_method(into = Result<PostgresProvider, BuildError>, doc = "Checks the settings. Nothing is sent to the database yet.\n\n# Errors\n[`BuildError`] says which setting is not possible, and what is.")
)]
pub(crate) struct Settings {
    /// The pool to borrow connections from. Give the locks their own pool if other work may keep all connections of
    /// this one: a renewal that gets none in time is a lost lease. One connection is left to renewals and releases; a
    /// pool of a single connection has none to leave.
    pool: Pool,
    /// Separates the locks of one application from those of others in the same table: providers with different prefixes
    /// never meet. None by default. Prefix and name together have at most 1024 bytes.
    #[builder(default, setter(into))]
    prefix: String,
    /// The database schema that holds the table and its functions; `dlock` by default. Letters, digits, `_` and `-`,
    /// taken as written, at most 63 bytes.
    #[builder(
        default = "dlock".into(),
        setter(into)
    )]
    schema: String,
    /// The table; `lock` by default. Its functions are named after it. Letters, digits, `_` and `-`, taken as written,
    /// at most 51 bytes.
    #[builder(
        default = "lock".into(),
        setter(into)
    )]
    table: String,
    /// How long one call may take, the wait for a connection included; 5 s by default. The frontend allows a sixth of a
    /// lease at most; this limit also bounds calls that bypass the frontend.
    #[builder(default = Duration::from_secs(5))]
    call_timeout: Duration,
    /// Wakes waiters as soon as a lock is released, instead of letting them find out at their next poll. This takes one
    /// separate listening connection for each [`Client`](dlock_core::Client) that has waited, and a notification with
    /// each release of a term in which a waiter was refused.
    ///
    /// The settings must lead to the same database as the pool, and directly to the server: a pooler would lend the
    /// session to others. All programs that use the table must have the same setting, because a releaser cannot know
    /// who waits elsewhere. A program that should notify others but needs no wake-ups itself sets
    /// [`notify`](Self::notify). If the connection cannot be opened or breaks, waiters poll, and opening is retried.
    #[builder(default, setter(
        transform = |config: Config, tls: impl MakeTlsConnect<
            Socket,
            Stream: Send + 'static,
            TlsConnect: TlsConnect<Socket, Future: Send> + Send,
        > + Clone + Send + Sync + 'static| Some(connector(config, tls))))]
    listen: Option<Connect>,
    /// Notifies the listeners of each release of a term in which a waiter was refused, even if this provider does not
    /// listen itself; one that listens always does. Off by default.
    #[builder(default)]
    notify: bool,
    /// Whether each statement is prepared once per connection, after which the server neither parses nor plans it.
    /// Without this setting, statements are prepared if a connection has a session of the server to itself, which the
    /// first call over each connection queries in the same flight; in a session that a pooler lends, nothing is
    /// prepared. If a session has forgotten its statements (`DISCARD ALL`, `DEALLOCATE ALL`), or has others of their
    /// names, this is noticed, costs one round trip, and no more of them are sent to it.
    ///
    /// `true` prepares everywhere, each statement before its first call over a connection, in one more round trip.
    /// **Never through a pooler in transaction or statement mode**, unless it follows the protocol's prepared
    /// statements (PgBouncer does from 1.21 with `max_prepared_statements` above 0): the driver of every process
    /// numbers its statements alike, so a shared session may run another client's statement. `false` prepares nothing.
    #[builder(default, setter(strip_option(fallback_suffix = "_opt")))]
    prepared: Option<bool>,
}

impl PostgresProvider {
    /// Settings first, then `build()`.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use dlock_postgres::{
    ///     PostgresProvider,
    ///     deadpool_postgres::{Manager, Pool, tokio_postgres::{Config, NoTls}},
    /// };
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let database: Config = "host=localhost user=app dbname=app connect_timeout=3".parse()?;
    /// let pool = Pool::builder(Manager::new(database, NoTls)).max_size(8).build()?;
    /// let provider = PostgresProvider::builder()
    ///     .pool(pool)
    ///     .prefix("billing")
    ///     .call_timeout(Duration::from_secs(2))
    ///     .build()?;
    /// # Ok(()) }
    /// ```
    pub fn builder() -> PostgresProviderBuilder {
        Settings::builder()
    }
}

impl From<Settings> for Result<PostgresProvider, BuildError> {
    fn from(settings: Settings) -> Self {
        let Settings {
            pool,
            prefix,
            schema,
            table,
            call_timeout: timeout,
            listen,
            notify,
            prepared,
        } = settings;
        if !(Duration::from_millis(1)..=Duration::from_secs(60)).contains(&timeout) {
            return Err(BuildError::CallTimeout { timeout });
        }
        let schema = Schema::new(&schema, &table)?;
        let prefix = Prefix::new(&prefix)?;
        Ok(PostgresProvider {
            connections: Connections::new(pool, timeout, prepared),
            statements: Arc::new(schema.statements()),
            hints: Arc::new(Hints::new(&schema, &prefix)),
            notify: notify || listen.is_some(),
            listen,
            schema: Arc::new(schema),
            prefix,
            sharing: Sharing::default(),
        })
    }
}
