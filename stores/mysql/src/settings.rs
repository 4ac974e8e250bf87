//! The settings of a provider, and which of them are refused.

use std::{sync::Arc, time::Duration};

use dlock_core::provider::{Prefix, Sharing};
use mysql_async::Opts;
use typed_builder::TypedBuilder;

use crate::{connections::Connections, error::BuildError, provider::MysqlProvider, schema::Schema};

/// The settings of a provider.
#[derive(TypedBuilder)]
#[builder(
    builder_type(vis = "pub", name = MysqlProviderBuilder, doc = "Builds a [`MysqlProvider`]; made by [`MysqlProvider::builder`]."),
    build_method(into = Result<MysqlProvider, BuildError>, doc = "Checks the settings. Nothing is sent to the database yet.\n\n# Errors\n[`BuildError`] says which setting is not possible, and what is.")
)]
pub(crate) struct Settings {
    /// The connection options, with the size of the pool: the provider keeps its own. One connection is left to
    /// renewals and releases; a pool of a single connection has none to leave. The [documentation of the
    /// crate](crate#connections) says which options matter.
    #[builder(setter(into))]
    options: Opts,
    /// Separates the locks of one application from those of others in the same table: providers with different prefixes
    /// never meet. None by default. Prefix and name together have at most 1024 bytes.
    #[builder(default, setter(into))]
    prefix: String,
    /// The table; `dlock_lock` by default. Its procedures are named after it. Its name has lower-case letters, digits,
    /// `_` and `-`, at most 52 bytes. The table is in the database that the options name, or in the one named before a
    /// dot: `locks.nightly`.
    #[builder(
        default = "dlock_lock".into(),
        setter(into)
    )]
    table: String,
    /// How long one call may take, the wait for a connection included; 5 s by default. The frontend allows a sixth of a
    /// lease at most; this limit also bounds calls that bypass the frontend.
    #[builder(default = Duration::from_secs(5))]
    call_timeout: Duration,
}

impl MysqlProvider {
    /// Settings first, then `build()`.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use dlock_mysql::{MysqlProvider, mysql_async::Opts};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let provider = MysqlProvider::builder()
    ///     .options(Opts::from_url("mysql://app:secret@localhost/app?pool_min=1&pool_max=8")?)
    ///     .prefix("billing")
    ///     .call_timeout(Duration::from_secs(2))
    ///     .build()?;
    /// # Ok(()) }
    /// ```
    pub fn builder() -> MysqlProviderBuilder {
        Settings::builder()
    }
}

impl From<Settings> for Result<MysqlProvider, BuildError> {
    fn from(settings: Settings) -> Self {
        let Settings {
            options,
            prefix,
            table,
            call_timeout: timeout,
        } = settings;
        if !(Duration::from_millis(1)..=Duration::from_secs(60)).contains(&timeout) {
            return Err(BuildError::CallTimeout { timeout });
        }
        Ok(MysqlProvider {
            schema: Arc::new(Schema::new(&table)?),
            prefix: Prefix::new(&prefix)?,
            connections: Connections::new(options, timeout),
            sharing: Sharing::default(),
        })
    }
}
