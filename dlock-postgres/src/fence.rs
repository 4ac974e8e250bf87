//! T3 for resources in the same database: a write with a stale token is refused in the transaction
//! that would make it.
//!
//! Begin a transaction, [check](Fence::check) the token, write, commit. The check and the data become visible together
//! or not at all, and until the transaction ends no other token passes for the same resource.
//!
//! ```no_run
//! # // Needs a server.
//! use dlock_postgres::{
//!     deadpool_postgres::tokio_postgres::Client,
//!     fence::{Fence, FenceError},
//! };
//! # async fn write(client: &mut Client, fence: &Fence, token: dlock_core::FencingToken) -> Result<(), FenceError> {
//! let transaction = client.transaction().await?;
//! fence.check(&transaction, "account 7", token).await?;
//! transaction
//!     .execute("UPDATE account SET balance = balance - 10 WHERE id = 7", &[])
//!     .await?;
//! transaction.commit().await?;
//! # Ok(()) }
//! ```
//!
//! # Without a table of its own
//! A resource that is one row can keep the token in that row. Then the rule is one predicate, here
//! with the token as `$2` (see [`bigint`]) and a column `token bigint NOT NULL DEFAULT 0`:
//!
//! ```sql
//! UPDATE account SET balance = $1, token = $2 WHERE id = 7 AND token <= $2
//! ```
//!
//! If the statement changes no row, the token is stale (or the row does not exist): the writer has lost its lease and
//! must stop.

use deadpool_postgres::tokio_postgres;
use dlock_core::FencingToken;
use tokio_postgres::{Client, Transaction, types::Type};

use crate::{
    connections::Parameters,
    error::BuildError,
    schema::{Schema, without_comments},
    setup::alone,
};

/// A table that remembers the highest token each resource has seen. Cheap to make; holds no
/// connection.
#[derive(Clone, Debug)]
pub struct Fence {
    sql: String,
    check: String,
    highest: String,
}

/// The reason why a write was not made; see [there](dlock_core::FenceError).
pub type FenceError = dlock_core::FenceError<tokio_postgres::Error>;

impl Fence {
    /// The table of this name in this database schema; `("dlock", "fence")` is a good choice. All writers of a resource
    /// must use the same table.
    ///
    /// # Errors
    /// [`BuildError::Identifier`] if they cannot be names: letters, digits, `_` and `-`, taken as
    /// written.
    pub fn new(schema: &str, table: &str) -> Result<Self, BuildError> {
        let schema = Schema::new(schema, table)?;
        Ok(Self {
            sql: schema.fill(include_str!("sql/fence_table.sql")),
            check: without_comments(&schema.fill(include_str!("sql/fence_check.sql"))),
            highest: without_comments(&schema.fill(include_str!("sql/fence_highest.sql"))),
        })
    }

    /// Makes the table and its schema if they are missing; safe when many do so at once.
    ///
    /// # Errors
    /// The database's error: no right to create them, no connection.
    pub async fn create_schema(&self, client: &Client) -> Result<(), tokio_postgres::Error> {
        client.batch_execute(&alone(&self.sql)).await
    }

    /// The statement that [`create_schema`](Self::create_schema) runs, for users who run their own migrations.
    #[must_use]
    pub fn schema_sql(&self) -> &str {
        &self.sql
    }

    /// Admits a write that carries `token` to `resource`, and remembers the token (T3). An equal
    /// token is the same holder's next write and passes.
    ///
    /// One round trip; a second one if the token is stale. Writers of one resource wait for each
    /// other's transactions here.
    ///
    /// # Errors
    /// [`FenceError::Stale`]: the resource has seen a greater token; the transaction is as before.
    /// [`FenceError::Store`]: the database's error, including a serialization failure under the stricter
    /// isolation levels; the transaction has to be rolled back.
    ///
    /// # Cancel safety
    /// The transaction owns everything that was done: dropping it undoes all of it.
    pub async fn check(
        &self,
        transaction: &Transaction<'_>,
        resource: &str,
        token: FencingToken,
    ) -> Result<(), FenceError> {
        let parameters: &Parameters<'_> = &[(&resource, Type::TEXT), (&bigint(token), Type::INT8)];
        let admitted = transaction.query_typed(&self.check, parameters).await?;
        if !admitted.is_empty() {
            return Ok(());
        }
        // The row is locked by now, so this is the token that refused us.
        let found: i64 = transaction
            .query_typed_one(&self.highest, &parameters[..1])
            .await?
            .try_get(0)?;
        let highest = u64::try_from(found).ok().and_then(FencingToken::new);
        Err(FenceError::refused(token, highest, || {
            format!("what the fence remembers of resource {resource:?}")
        }))
    }
}

/// A token as a `bigint` parameter. Exact: tokens are below 2^53.
#[must_use]
#[expect(clippy::cast_possible_wrap, reason = "tokens are below 2^53 (T2)")]
pub const fn bigint(token: FencingToken) -> i64 {
    token.get() as i64
}
