//! T3 for resources in the same database: a write with a stale token is refused in the transaction that would make it.
//!
//! Begin a transaction, [check](Fence::check) the token, write, commit. The check and the data become visible together
//! or not at all, and until the transaction ends nobody else's token passes for the same resource. All tables that it
//! writes must be of a transactional engine, which `InnoDB` is.
//!
//! ```no_run
//! # // Needs a server.
//! use dlock_mysql::{
//!     fence::{Fence, FenceError},
//!     mysql_async::{Conn, TxOpts, prelude::Queryable},
//! };
//! # async fn write(connection: &mut Conn, fence: &Fence, token: dlock_core::FencingToken) -> Result<(), FenceError> {
//! let mut transaction = connection.start_transaction(TxOpts::new()).await?;
//! fence.check(&mut transaction, "account 7", token).await?;
//! transaction
//!     .query_drop("UPDATE account SET balance = balance - 10 WHERE id = 7")
//!     .await?;
//! transaction.commit().await?;
//! # Ok(()) }
//! ```
//!
//! # Without a table of its own
//! A resource that is one row can keep the token in that row. Then the rule is one predicate, here with a column
//! `token BIGINT NOT NULL DEFAULT 0`:
//!
//! ```sql
//! UPDATE account SET balance = :balance, token = :token WHERE id = 7 AND token <= :token
//! ```
//!
//! If it finds no row the token is stale (or the row is not there): the writer has lost its lease and must stop. By
//! default the server counts the rows that were *changed*, and a repeated write changes none: connect with
//! `client_found_rows=true`, which counts those that were found.

use dlock_core::FencingToken;
use mysql_async::{Error, Transaction, prelude::Queryable};

use crate::{
    error::BuildError,
    requests::hexadecimal,
    schema::{Names, without_comments},
};

/// The longest name of a resource, in bytes. A server that is not strict would cut a longer one off.
const MAX_RESOURCE: usize = 1024;

/// A table that remembers the highest token each resource has seen. Cheap to make; holds no connection.
#[derive(Clone, Debug)]
pub struct Fence {
    sql: String,
    check: String,
}

/// Why a write was not made; see [there](dlock_core::FenceError).
pub type FenceError = dlock_core::FenceError<Error>;

impl Fence {
    /// The table of this name in the connection's database, or in one that stands before a dot: `dlock_fence` is a good
    /// choice. All writers of a resource must name the same.
    ///
    /// # Errors
    /// [`BuildError::Identifier`] if it cannot be a name: lower-case letters, digits, `_` and `-`.
    pub fn new(table: &str) -> Result<Self, BuildError> {
        let names = Names::new(table)?;
        Ok(Self {
            sql: names.fill(include_str!("sql/fence_table.sql")),
            check: without_comments(&names.fill(include_str!("sql/fence_check.sql"))),
        })
    }

    /// Makes the table where it is missing; safe when many do so at once. Ends a transaction that is open on this
    /// connection, as every such statement does.
    ///
    /// # Errors
    /// The database's error: no right to create it, no connection.
    pub async fn create_schema(&self, connection: &mut impl Queryable) -> Result<(), Error> {
        connection.query_drop(&self.sql).await
    }

    /// What [`create_schema`](Self::create_schema) runs, for those who migrate their databases by themselves.
    #[must_use]
    pub fn schema_sql(&self) -> &str {
        &self.sql
    }

    /// Admits a write that carries `token` to `resource`, and remembers the token (T3). An equal token is the same
    /// holder's next write and passes.
    ///
    /// One round trip. Writers of one resource wait for each other's transactions here, for as long as the server lets
    /// them (`innodb_lock_wait_timeout`).
    ///
    /// # Errors
    /// [`FenceError::Stale`]: somebody with a greater token was here; the transaction is as before.
    /// [`FenceError::NoPlace`]: the name of the resource is longer than 1024 bytes.
    /// [`FenceError::Store`]: the database's error, a deadlock among them, after which the server has undone the whole
    /// transaction; it has to be rolled back.
    ///
    /// # Cancel safety
    /// The transaction owns everything that was done: dropping it undoes it.
    pub async fn check(
        &self,
        transaction: &mut Transaction<'_>,
        resource: &str,
        token: FencingToken,
    ) -> Result<(), FenceError> {
        if resource.len() > MAX_RESOURCE {
            return Err(FenceError::NoPlace {
                resource: resource.into(),
                reason: "its name has more than 1024 bytes: choose a shorter one",
            });
        }
        let statements = self
            .check
            .replace("{resource}", &hexadecimal(resource.as_bytes()))
            .replace("{token}", &token.get().to_string());
        let mut results = transaction.query_iter(statements).await?;
        // The first result is of the statement that remembers.
        results.collect::<i64>().await?;
        let found = results.collect_and_drop::<i64>().await?;
        let highest = found.first().and_then(|token| u64::try_from(*token).ok());
        if highest == Some(token.get()) {
            return Ok(());
        }
        Err(FenceError::refused(
            token,
            highest.and_then(FencingToken::new),
            || format!("what the fence remembers of resource {resource:?}"),
        ))
    }
}
