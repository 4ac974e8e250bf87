//! T3 for resources in a user's SQLite database: a write with a stale token is refused in the transaction that would
//! make it.
//!
//! Begin a transaction, [check](Fence::check) the token, write, commit. The check and the data reach the file together
//! or not at all, whichever process dies between them, and until the transaction ends no other connection writes.
//!
//! ```
//! use dlock_sqlite::{
//!     fence::{Fence, FenceError},
//!     rusqlite::{Connection, TransactionBehavior},
//! };
//! # fn write(connection: &mut Connection, fence: &Fence, token: dlock_core::FencingToken) -> Result<(), FenceError> {
//! let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
//! fence.check(&transaction, "account 7", token)?;
//! transaction.execute("UPDATE account SET balance = balance - 10 WHERE id = 7", [])?;
//! transaction.commit()?;
//! # Ok(()) }
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let mut connection = Connection::open_in_memory()?;
//! # connection.execute_batch("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER) STRICT")?;
//! # let fence = Fence::new("fence");
//! # fence.create_schema(&connection)?;
//! # let token = |number: u64| dlock_core::FencingToken::try_from(number);
//! # write(&mut connection, &fence, token(8)?)?;
//! # assert!(matches!(write(&mut connection, &fence, token(7)?), Err(FenceError::Stale(_))));
//! # Ok(()) }
//! ```
//!
//! `Immediate` waits for other writers before anything is read. A deferred transaction, rusqlite's default, is as safe.
//! But if it has read before the check and another connection has written since, the check fails at once as busy,
//! whatever the busy timeout, and the transaction has to be begun again.
//!
//! The fence belongs in the database of the data it guards, which is not the lock file. That database may use the
//! write-ahead log or not.
//!
//! # Without a table of its own
//! A resource that is one row can keep the token in that row. Then the rule is one predicate, here
//! with the token as `?2` (see [`integer`]) and a column `token INTEGER NOT NULL DEFAULT 0`:
//!
//! ```sql
//! UPDATE account SET balance = ?1, token = ?2 WHERE id = 7 AND token <= ?2
//! ```
//!
//! If the statement changes no row, the token is stale (or the row does not exist): the writer has lost its lease and
//! must stop.

use dlock_core::FencingToken;
use rusqlite::{Connection, OptionalExtension, Transaction, ffi};

/// A table that remembers the highest token each resource has seen. Cheap to make; holds no
/// connection.
#[derive(Clone, Debug)]
pub struct Fence {
    sql: String,
    check: String,
    highest: String,
}

/// The reason why a write was not made; see [there](dlock_core::FenceError).
pub type FenceError = dlock_core::FenceError<rusqlite::Error>;

impl Fence {
    /// The table of this name, in the database that a connection has opened as its main one; `"fence"` is a good
    /// choice. All writers of a resource must use the same table.
    #[must_use]
    pub fn new(table: &str) -> Self {
        // Qualified: a temporary table of the same name would come first, and belong to this connection alone.
        let table = format!("main.\"{}\"", table.replace('"', "\"\""));
        let fill = |sql: &str| sql.replace("{table}", &table);
        Self {
            sql: fill(include_str!("sql/fence_table.sql")),
            check: fill(include_str!("sql/fence_check.sql")),
            highest: fill(include_str!("sql/fence_highest.sql")),
        }
    }

    /// Makes the table if it is missing; any number of connections may do so at once.
    ///
    /// # Errors
    /// SQLite's error: no right to write the file, another writer for longer than the busy timeout, or a name that no
    /// table can have.
    pub fn create_schema(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.execute_batch(&self.sql)
    }

    /// The statement that [`create_schema`](Self::create_schema) runs, for users who run their own migrations.
    #[must_use]
    pub fn schema_sql(&self) -> &str {
        &self.sql
    }

    /// Admits a write that carries `token` to `resource`, and remembers the token (T3). An equal
    /// token is the same holder's next write and passes.
    ///
    /// From here on the transaction is the only writer of the file. Rolling it back also undoes this, and so does the
    /// end of the process before the commit.
    ///
    /// # Errors
    /// [`FenceError::Stale`]: the resource has seen a greater token; the transaction is as before.
    /// [`FenceError::Store`]: SQLite's error; the transaction has to be rolled back. This includes errors after which
    /// SQLite itself has rolled back (for example after a full disk): a check outside of a transaction would commit
    /// without the data.
    pub fn check(
        &self,
        transaction: &Transaction<'_>,
        resource: &str,
        token: FencingToken,
    ) -> Result<(), FenceError> {
        if transaction.is_autocommit() {
            let misuse = ffi::Error::new(ffi::SQLITE_MISUSE);
            let why = "the transaction is over already".to_owned();
            return Err(rusqlite::Error::SqliteFailure(misuse, Some(why)).into());
        }
        let admitted = transaction
            .prepare_cached(&self.check)?
            .execute((resource, integer(token)))?;
        if admitted == 1 {
            return Ok(());
        }
        // No other connection can write by now, so this is the token that refused us.
        let highest: Option<i64> = transaction
            .prepare_cached(&self.highest)?
            .query_row([resource], |row| row.get(0))
            .optional()?;
        let highest = highest
            .and_then(|highest| u64::try_from(highest).ok())
            .and_then(FencingToken::new);
        Err(FenceError::refused(token, highest, || {
            format!("what the fence remembers of resource {resource:?}")
        }))
    }
}

/// A token as a parameter for SQLite's `INTEGER`. Exact: tokens are below 2^53.
#[must_use]
#[expect(clippy::cast_possible_wrap, reason = "tokens are below 2^53 (T2)")]
pub const fn integer(token: FencingToken) -> i64 {
    token.get() as i64
}
