//! What a queue is built from, and what of it is refused.

use std::{sync::Arc, time::Duration};

use deadpool_postgres::Pool;
use typed_builder::TypedBuilder;

use super::{PostgresTasks, beats::Beats, schema::Schema};
use crate::{connections::Connections, error::BuildError};

/// What a queue is built from.
#[derive(TypedBuilder)]
#[builder(
    builder_type(vis = "pub", name = PostgresTasksBuilder, doc = "Builds a [`PostgresTasks`]; made by [`PostgresTasks::builder`]."),
    build_method(into = Result<PostgresTasks, BuildError>, doc = "Checks the settings. Nothing is sent to the database yet.\n\n# Errors\n[`BuildError`] says which setting is not possible, and what is.")
)]
pub(crate) struct Settings {
    #[builder(setter(
        doc = "The pool to borrow connections from. One connection is left to heartbeats, endings and releases; a pool of a single connection has none to leave."
    ))]
    pool: Pool,
    #[builder(
        default = "dlock".into(),
        setter(
            into,
            doc = "The database schema that holds the tables and their functions; `dlock` by default. Letters, digits, `_` and `-`, taken as written, at most 63 bytes. Queues of different schemas never meet."
        )
    )]
    schema: String,
    #[builder(default = Duration::from_secs(5), setter(
        doc = "How long one call may take, the wait for a connection included; 5 s by default."
    ))]
    call_timeout: Duration,
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
    /// let pool = Pool::builder(Manager::new(database, NoTls)).max_size(8).build()?;
    /// let tasks = PostgresTasks::builder().pool(pool).schema("queue").build()?;
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
        } = settings;
        if !(Duration::from_millis(1)..=Duration::from_secs(60)).contains(&timeout) {
            return Err(BuildError::CallTimeout { timeout });
        }
        let schema = Schema::new(&schema)?;
        let statements = Arc::new(schema.statements());
        let connections = Connections::new(pool, timeout, false);
        let beats = Beats::new(connections.clone(), Arc::clone(&statements));
        Ok(PostgresTasks {
            connections,
            schema: Arc::new(schema),
            statements,
            beats: Arc::new(beats),
            marks: Arc::default(),
        })
    }
}
