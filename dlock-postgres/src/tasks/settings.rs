//! The settings of a queue, and which of them are refused.

use std::{sync::Arc, time::Duration};

use deadpool_postgres::{
    Pool,
    tokio_postgres::{
        Config, Socket,
        tls::{MakeTlsConnect, TlsConnect},
    },
};
use typed_builder::TypedBuilder;

use super::{PostgresTasks, channel::Channel, heartbeats::Heartbeats, schema::Schema};
use crate::{
    connections::Connections,
    error::BuildError,
    wakeups::{Connect, connector},
};

/// The settings of a queue.
#[derive(TypedBuilder)]
#[builder(
    builder_type(vis = "pub", name = PostgresTasksBuilder, doc = "Builds a [`PostgresTasks`]; made by [`PostgresTasks::builder`]."),
    build_method(into = Result<PostgresTasks, BuildError>, doc = "Checks the settings. Nothing is sent to the database yet.\n\n# Errors\n[`BuildError`] says which setting is not possible, and what is.")
)]
pub(crate) struct Settings {
    /// The pool to borrow connections from. One connection is left to heartbeats, endings and releases; a pool of a
    /// single connection has none to leave.
    pool: Pool,
    /// The database schema that holds the tables and their functions; `dlock` by default. Letters, digits, `_` and `-`,
    /// taken as written, at most 63 bytes. Queues of different schemas never meet.
    #[builder(
        default = "dlock".into(),
        setter(into)
    )]
    schema: String,
    /// How long one call may take, the wait for a connection included; 5 s by default.
    #[builder(default = Duration::from_secs(5))]
    call_timeout: Duration,
    /// Whether each statement is prepared once per connection, after which the server neither parses nor plans it.
    /// Without this setting, statements are prepared if a connection has a session of the server to itself, which the
    /// first call over each connection queries in the same flight; in a session that a pooler lends, nothing is
    /// prepared. If a session has forgotten its statements (`DISCARD ALL`, `DEALLOCATE ALL`), or has others of their
    /// names, this is noticed, costs one round trip, and no more of them are sent to it.
    ///
    /// `true` prepares everywhere. **Never through a pooler in transaction or statement mode**, unless it follows the
    /// protocol's prepared statements (PgBouncer does from 1.21 with `max_prepared_statements` above 0): the driver of
    /// every process numbers its statements alike, so a shared session may run another client's statement. `false`
    /// prepares nothing.
    #[builder(default, setter(strip_option(fallback_suffix = "_opt")))]
    prepared: Option<bool>,
    /// Wakes idle workers as soon as there may be something for them, instead of letting them find out at their next
    /// poll: one separate listening connection for all workers of the store.
    ///
    /// The settings must lead to the same database as the pool, and directly to the server: a pooler would lend the
    /// session to others, and the worker would receive nothing while it takes the channel for open; tasks would wait
    /// for up to 5 s. Programs that enqueue need not configure anything. If the connection cannot be opened or breaks,
    /// the worker polls, and opening is retried.
    #[builder(default, setter(
        transform = |config: Config, tls: impl MakeTlsConnect<
            Socket,
            Stream: Send + 'static,
            TlsConnect: TlsConnect<Socket, Future: Send> + Send,
        > + Clone + Send + Sync + 'static| Some(connector(config, tls))))]
    listen: Option<Connect>,
}

impl PostgresTasks {
    /// Settings first, then `build()`.
    ///
    /// ```
    /// use dlock_postgres::{
    ///     deadpool_postgres::{Manager, Pool, tokio_postgres::{Config, NoTls}},
    ///     tasks::PostgresTasks,
    /// };
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let database: Config = "host=localhost user=app dbname=app connect_timeout=3".parse()?;
    /// let pool = Pool::builder(Manager::new(database.clone(), NoTls)).max_size(8).build()?;
    /// let tasks = PostgresTasks::builder()
    ///     .pool(pool)
    ///     .schema("queue")
    ///     .listen(database, NoTls)
    ///     .build()?;
    /// # Ok(()) }
    /// ```
    pub fn builder() -> PostgresTasksBuilder {
        Settings::builder()
    }
}

impl From<Settings> for Result<PostgresTasks, BuildError> {
    fn from(settings: Settings) -> Self {
        let Settings {
            pool,
            schema,
            call_timeout: timeout,
            prepared,
            listen,
        } = settings;
        if !(Duration::from_millis(1)..=Duration::from_secs(60)).contains(&timeout) {
            return Err(BuildError::CallTimeout { timeout });
        }
        let schema = Schema::new(&schema)?;
        let statements = Arc::new(schema.statements());
        let connections = Connections::new(pool, timeout, prepared);
        let beats = Heartbeats::new(connections.clone(), Arc::clone(&statements));
        Ok(PostgresTasks {
            connections,
            schema: Arc::new(schema),
            statements,
            beats: Arc::new(beats),
            cursors: Arc::default(),
            listen,
            channel: Channel::default(),
        })
    }
}
