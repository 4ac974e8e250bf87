//! A distributed lock over the store you already run.
//!
//! Several processes have a task that only one of them at a time may do: a nightly job, a migration, a leader's work,
//! one customer's record. They pick a store, enable its feature, and write
//!
#![cfg_attr(feature = "sqlite", doc = "```")]
#![cfg_attr(not(feature = "sqlite"), doc = "```text")]
//! use std::time::Duration;
//! use dlock::{DLock, FencingToken, sqlite::SqliteProvider};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("locks.db");
//! let provider = SqliteProvider::open(path)?;
//! let lock = DLock::builder()
//!     .name("nightly")
//!     .duration(Duration::from_secs(15))
//!     .provider(provider)
//!     .build()?;
//!
//! let rows = lock.with_result(|token| async move { work(token).await }).await?;
//! # assert_eq!(rows, 3);
//! # Ok(())
//! # }
//! # async fn work(token: FencingToken) -> Result<u64, Box<dyn std::error::Error>> { assert!(token.get() > 0); Ok(3) }
//! ```
//!
//! # Efficiency and correctness
//! **Efficiency**: the same work is not done twice. For that the lock alone is enough.
//! **Correctness**: two holders at once would damage something. For that *no* lock with a time limit is enough alone,
//! this one included: a process can be paused after it checked that its lease is valid and before its write arrives. So
//! every grant carries a [`FencingToken`] that only ever grows; hand it to the storage, and let the storage refuse a
//! token below the highest it has seen ([`Fence`] is that rule for data in memory; the module `fence` of each backend
//! has one for data in that store).
//!
//! # Where to continue
//! * [`DLock::with`] runs work under the lock; [`DLock::hold`] returns a [`Guard`] that renews itself;
//!   [`DLock::acquire`] a [`Lease`] to renew by hand; [`DLock::try_acquire`] tries once.
//!   [`MultiLock`](several::MultiLock) holds several locks as one, and a
//!   [`Semaphore`](several::Semaphore) admits a number of holders at a time.
//! * Backends, each behind a feature of the same name; none is on by default, and a feature adds
//!   names without changing behaviour: `dynamodb` (a DynamoDB table), `etcd` (the keys of an etcd),
//!   `kubernetes` (the Leases of a namespace),
//!   `mysql` (one table of a MariaDB database), `nats` (a key-value bucket),
//!   `object-store` (a bucket of S3 or Azure),
//!   `postgres` (one table of a database), `redis` (Redis or Valkey: one server, replicas, a cluster),
//!   `sqlite` (one file, every process of one host), `http` (a `dlock-server` before any of them).
//! * The feature `blocking`: the same locks for programs without async.
//! * The feature `memory`: a store in the memory of a process, for tests of programs with locks.
//! * The feature `tasks`: a queue of tasks whose claims are leases, in a database of yours.
//! * The feature `election`: one leader among the instances of a service, and work that runs only there.
//! * The feature `metrics` reports what happens to the `metrics` facade, under the names of the module of
//!   that name. It observes and changes nothing.
//! * The package `dlock-examples` has programs that run on each of them: `cargo run -p dlock-examples
//!   --bin quickstart`.
//! * [`Provider`] is the contract for a store of your own; the crate `dlock-testkit` proves it. For a store with a
//!   conditional write, the crate `dlock-cas` has all of it but two functions.
//! * The chapter [`design`] leads to the pages that explain the protocol, what it guarantees under which
//!   assumptions, and what it does not.

pub use dlock_core::*;
#[doc(inline)]
pub use dlock_several as several;

#[cfg(feature = "blocking")]
#[doc(inline)]
pub use dlock_blocking as blocking;
#[cfg(feature = "dynamodb")]
#[doc(inline)]
pub use dlock_dynamodb as dynamodb;
#[cfg(feature = "election")]
#[doc(inline)]
pub use dlock_election as election;
#[cfg(feature = "etcd")]
#[doc(inline)]
pub use dlock_etcd as etcd;
#[cfg(feature = "http")]
#[doc(inline)]
pub use dlock_http as http;
#[cfg(feature = "kubernetes")]
#[doc(inline)]
pub use dlock_kubernetes as kubernetes;
#[cfg(feature = "memory")]
#[doc(inline)]
pub use dlock_memory as memory;
#[cfg(feature = "mysql")]
#[doc(inline)]
pub use dlock_mysql as mysql;
#[cfg(feature = "nats")]
#[doc(inline)]
pub use dlock_nats as nats;
#[cfg(feature = "object-store")]
#[doc(inline)]
pub use dlock_object_store as object_store;
#[cfg(feature = "postgres")]
#[doc(inline)]
pub use dlock_postgres as postgres;
#[cfg(feature = "redis")]
#[doc(inline)]
pub use dlock_redis as redis;
#[cfg(feature = "sqlite")]
#[doc(inline)]
pub use dlock_sqlite as sqlite;
#[cfg(feature = "tasks")]
#[doc(inline)]
pub use dlock_tasks as tasks;

// The quick start in the README compiles. `no_run` there: it needs a server; the example on this page runs.
#[cfg(all(doctest, feature = "postgres"))]
#[doc = include_str!("../README.md")]
struct Readme;
