//! T3 for resources in the same database: a write with a stale token is refused in the transaction that would make it.
//!
//! Begin a transaction, [check](Fence::check) the token, write, commit. The check and the data become visible together
//! or not at all, and until the transaction ends no other token passes for the same resource. All tables that the
//! transaction writes must use a transactional engine, such as `InnoDB`.
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
//! If the statement finds no row, the token is stale (or the row does not exist): the writer has lost its lease and
//! must stop. By default the server counts the rows that were *changed*, and a repeated write changes none: connect
//! with `client_found_rows=true`, which counts those that were found.

use dlock_core::FencingToken;
use mysql_async::{Error, Transaction, prelude::Queryable};

use crate::{
    error::BuildError,
    requests::hexadecimal,
    schema::{Names, without_comments},
};

/// The longest name of a resource, in bytes. A server that is not strict would truncate a longer one.
const MAX_RESOURCE: usize = 1024;

/// A table that remembers the highest token each resource has seen. Cheap to make; holds no connection.
#[derive(Clone, Debug)]
pub struct Fence {
    sql: String,
    check: String,
}

/// The reason why a write was not made; see [there](dlock_core::FenceError).
pub type FenceError = dlock_core::FenceError<Error>;

impl Fence {
    /// The table of this name in the connection's database, or in the database named before a dot; `dlock_fence` is a
    /// good choice. All writers of a resource must use the same table.
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

    /// Makes the table if it is missing; safe when many do so at once. Like every such statement, this ends a
    /// transaction that is open on this connection.
    ///
    /// # Errors
    /// The database's error: no right to create it, no connection.
    pub async fn create_schema(&self, connection: &mut impl Queryable) -> Result<(), Error> {
        connection.query_drop(&self.sql).await
    }

    /// The statement that [`create_schema`](Self::create_schema) runs, for users who run their own migrations.
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
    /// [`FenceError::Stale`]: the resource has seen a greater token; the transaction is as before.
    /// [`FenceError::NoPlace`]: the name of the resource is longer than 1024 bytes.
    /// [`FenceError::Store`]: the database's error, a deadlock among them, after which the server has undone the whole
    /// transaction; it has to be rolled back.
    ///
    /// # Cancel safety
    /// The transaction owns everything that was done: dropping it undoes all of it.
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
        // The first result belongs to the statement that remembers the token.
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
