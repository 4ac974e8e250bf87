//! dlock on PostgreSQL: locks in one table, one statement and one round trip for each call.
//!
//! ```no_run
//! # // Needs a server.
//! use dlock_postgres::{
//!     PostgresProvider,
//!     deadpool_postgres::{Manager, Pool, tokio_postgres::{Config, NoTls}},
//! };
//! # async fn open() -> Result<PostgresProvider, Box<dyn std::error::Error>> {
//! let database: Config = "host=localhost user=app dbname=app connect_timeout=3".parse()?;
//! let pool = Pool::builder(Manager::new(database, NoTls)).max_size(8).build()?;
//! let provider = PostgresProvider::builder().pool(pool).build()?;
//! provider.create_schema().await?;
//! # Ok(provider) }
//! ```
//!
//! # What it guarantees
//! - The store's clock decides ([`Discipline::StoreClock`](dlock_core::Discipline::StoreClock)):
//!   `clock_timestamp()`, read by the function that decides. Time zones and the clocks of clients
//!   play no part.
//! - Each write is one function in the database and one transaction. It changes only the state it
//!   has looked at; whoever waited for another's commit looks again. Nobody is refused, or told that
//!   a lease is lost, for a state that has changed meanwhile.
//! - A refused try only reads: it waits for nobody, gets no transaction id and leaves nothing in the
//!   write-ahead log. (A try that loses a race for a lock that *was* free may cost a transaction id.)
//! - Acknowledged grants and renewals are on the disk, also where the database's default is
//!   `synchronous_commit = off`. Only releases do not wait for the disk: one that a crash undoes
//!   leaves a lease that runs out.
//! - A row that somebody spoilt, a foreign table, a missing right: an error that says what to do;
//!   nothing is overwritten.
//!
//! # Wake-ups
//! Without more a waiter finds out at its next poll that a lock was released. With
//! [`listen`](PostgresProviderBuilder::listen) it is told:
//!
//! ```no_run
//! # // Needs a server.
//! # use dlock_postgres::{
//! #     PostgresProvider,
//! #     deadpool_postgres::{Manager, Pool, tokio_postgres::{Config, NoTls}},
//! # };
//! # fn open() -> Result<PostgresProvider, Box<dyn std::error::Error>> {
//! let database: Config = "host=localhost user=app dbname=app connect_timeout=3".parse()?;
//! let pool = Pool::builder(Manager::new(database.clone(), NoTls)).build()?;
//! let provider = PostgresProvider::builder()
//!     .pool(pool)
//!     .listen(database, NoTls)
//!     .build()?;
//! # Ok(provider) }
//! ```
//!
//! - Each [`Client`](dlock_core::Client) keeps one connection of its own from its first waiter on,
//!   and each release sends one notification (`NOTIFY`) with its commit, so that whoever hears it
//!   finds the lock free. Nothing else is hinted.
//! - All programs that use the table configure the same, or [`notify`](PostgresProviderBuilder::notify)
//!   where they do not wait themselves: who releases cannot know who waits elsewhere.
//! - A hint that is missed costs one poll, D/3 within 1 to 5 s. A connection that broke is opened
//!   anew, and then everybody asks; one that fell silent is noticed within 5 s and the
//!   [`timeout`](PostgresProviderBuilder::timeout) of a call. One that cannot be opened leaves waiters
//!   to their polls, and a `debug` message says why.
//! - The pool may lead through PgBouncer; `listen` leads to the server itself, and to the one that
//!   takes writes (`target_session_attrs=read-write` where there are several).
//! - A notification takes a lock on the whole database while it commits. Releases hold it for
//!   microseconds, since they do not wait for the disk. Another application's transaction that
//!   notifies in the same database and waits long for its commit, for a replica say, delays them.
//! - Hints name table, prefix and lock. Any user of the database can listen to them, and forge
//!   them: a forged one costs a try.
//!
//! # How it can lose a lock
//! A fencing token ([`fence`]) protects the resource in each of these cases; the lease alone does not.
//! - **Failover to a replica that was behind** forgets grants and renewals that were acknowledged.
//!   Set `synchronous_standby_names`, or count on the tokens: they grow with the server's clock
//!   (microseconds since 1970) even where the last one was forgotten.
//! - **A restored backup, a dropped or truncated table** forgets leases likewise. Stop the holders
//!   first, or wait one lease before anybody acquires.
//! - **The server's clock steps forward**, or a failover ends at a server whose clock is ahead, by
//!   more than the unused margin of a lease (20 % of it by default): it ends early. Let the servers'
//!   clocks be slewed. A backward step keeps nobody out for longer than a lease and an observation.
//! - **`fsync = off` or `full_page_writes = off`**: a crash of the machine can take anything.
//! - **Two servers that accept writes for one table**, by a split brain after a failover or a
//!   multi-master extension, are two stores.
//!
//! # Connections
//! The application brings its own pool, with its own way to connect; this crate enables no TLS stack.
//! - Set `connect_timeout`, and `tcp_user_timeout` or keepalives: the driver has none by default.
//!   Every call has a time limit of its own besides
//!   ([`timeout`](PostgresProviderBuilder::timeout)).
//! - An attempt of an acquire has a sixth of the lease, and opening a connection counts. Where the two
//!   together take longer, the connection is closed unanswered, and the next attempt begins anew: a
//!   lease of 2 s cannot be acquired over round trips of 240 ms through a pool that is empty, and can
//!   once it is not. Call [`verify_schema`](PostgresProvider::verify_schema) or
//!   [`read`](dlock_core::Provider::read) first, which have the provider's own limit, and let the pool
//!   keep its connections; or take a longer lease.
//! - A connection whose call was dropped or ran out of time is closed, not returned to the pool. In
//!   the database such a call waits at most 2 s for a row that somebody else keeps locked. A batch
//!   of renewals waits for none: a locked row costs the lease in it, and no other.
//! - Renewals and releases always find one connection that waiters leave to them, if the pool has
//!   more than one and nothing else empties it. A pool that other work can exhaust loses leases: give
//!   the locks one of their own.
//! - `RecyclingMethod::Fast`, deadpool's default, adds no round trip; `Verified` and `Clean` add one.
//! - Poolers in transaction mode (PgBouncer) are fine: no session state, no named statements, unless
//!   [`prepared`](PostgresProviderBuilder::prepared) asks for them.
//! - A hot standby can be read, and refuses whoever is to be refused; what would have to be written
//!   ends as not applied. Where a synchronous standby is gone, commits wait, and what has to be written
//!   gets no answer. [`obstacle`](PostgresProvider::obstacle) tells which of them it is.
//!
//! # Rights, schema, upkeep
//! [`create_schema`](PostgresProvider::create_schema) makes a schema, a table and functions whose
//! names carry a version, so that two releases can work side by side: functions of older releases
//! stay, and can be dropped once no process of theirs runs;
//! [`schema_sql`](PostgresProvider::schema_sql) is the text of it for migrations, for PostgreSQL 12 and
//! later (tried with 12, 15 and 18; older
//! ones are refused by name). To use them a role needs `USAGE` on the schema and `SELECT, INSERT, UPDATE` on the table, and `DELETE` to
//! [`purge`](dlock_core::Admin::purge).
//!
//! The functions run with `search_path = pg_catalog, pg_temp`, and the statements beside them qualify
//! what they name: a role that may create in a schema of your path, as everybody may in `public` up to
//! PostgreSQL 14, changes nothing about what they do. (The functions of the first version, those that
//! end in `_1`, and `_release_2` follow the path of their caller: drop them.)
//!
//! A renewal replaces one row in place (HOT). A transaction that stays open for hours anywhere in the
//! database keeps the replaced rows alive, and the table grows with every renewal until it ends.
//! Records stay when locks are released; purge them if names come and go.
//!
//! # What it costs
//! One round trip for each call, also for the first acquire of a name; a flush of the log for each
//! grant and renewal. [`renew_many`](dlock_core::Provider::renew_many) is one statement, one
//! transaction and one flush for all.

mod admin;
mod answers;
mod batch;
mod connections;
mod error;
pub mod fence;
mod obstacle;
mod provider;
mod record;
mod schema;
mod settings;
mod setup;
mod wakeups;

pub use deadpool_postgres;

pub use self::{
    error::{BuildError, SchemaError},
    obstacle::Obstacle,
    provider::PostgresProvider,
    settings::PostgresProviderBuilder,
};
