//! Locks in Redis or Valkey: one server, a primary with replicas, or a cluster.
//!
//! ```
//! use dlock_redis::{RedisProvider, redis::Client};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let provider = RedisProvider::builder()
//!     .client(Client::open("redis://127.0.0.1/")?)
//!     .build()?;
//! # Ok(()) }
//! ```
//!
//! A lock is one text under one key, `prefix:{name}`, and every request is one Lua script on it: one
//! round trip, the first one of a name included. It takes Redis 6 or later, or Valkey; an older server
//! is refused at the first call. The versions it is tested on are in the README of the workspace.
//!
//! # The record
//! `GET` shows it:
//! ```text
//! > GET dlock:{invoices/2026-11}
//! "dlock1 held 3f2504e0-4f89-41d3-9a0c-0305e82c3301 4 1795253505374226 1795253490374226 30000 1795253490374226 10 - web-3:4711"
//! ```
//! | word | here | meaning |
//! |---|---|---|
//! | format | `dlock1` | another number is another release's, and refused |
//! | state | `held` | or `released`; `held,asked` and `released,asked` once somebody asked for the lock |
//! | uuid | `3f25…` | identity of the term |
//! | renewals | `4` | number of the newest renewal |
//! | extended | `17952535…` | when that was, or the grant, in microseconds of unix time on the server's clock: the lease ends one duration later |
//! | token | `17952534…` | the fencing token |
//! | duration | `30000` | the lease in milliseconds |
//! | since | `17952534…` | when the term began, as `extended` |
//! | owner | `10` | how many bytes the label of the holder has |
//! | data | `-` | how many bytes of data it stored beside the lock, if any |
//!
//! The label and the data follow as they are. Do not write it by hand: delete the key when nobody holds
//! the lock.
//!
//! # What it guarantees
//! - A request is atomic, and the server's clock decides
//!   ([`Discipline::StoreClock`](dlock_core::Discipline::StoreClock)): it is read inside the script,
//!   after any wait. No client's clock is asked.
//! - A refused request writes nothing: nothing reaches replicas or the disk.
//! - The record outlives its lease by 7 days, so that tokens go on where they were; and where the
//!   record is gone, the next token is the server's time in microseconds, which is later.
//! - Scripts that the server forgot (a restart, a failover, `SCRIPT FLUSH`) are sent again by the call
//!   that finds out.
//! - A key that is not exactly a lock's record, of whatever type, is an error that names it and what is
//!   wrong with it; it is never overwritten.
//! - In a cluster each lock is one key in one slot. Redirections are followed by the driver.
//!
//! # Connections
//! [`client`](RedisProviderBuilder::client) gives the provider a connection of its own, which all
//! requests share. It is opened at the first call. When a call ends without an answer and nothing
//! else was answered since it began, the next call opens a new one: that is what a silent partition
//! looks like, and the system may keep the old connection waiting long after the partition is over.
//! It also opens a new one when the server turns out to be a replica, so after a failover an address
//! that follows the primary is enough. (It lives on the runtime of the call that opened it.) Opening
//! it counts for that call, which has a sixth of the lease. Over so long a way that this is not enough
//! for both, make a call of the provider itself first, or give it a connection.
//!
//! [`connection`](RedisProviderBuilder::connection) takes one of the application's, and takes it as
//! it is. On a connection that has fallen silent *every* call of *every* user of it ends by its own
//! time limit, as unknown, until the connection's owner replaces it. A bare `MultiplexedConnection`
//! is never replaced; a `ConnectionManager` replaces it when the system gives up, after some 15
//! minutes unless the client's TCP settings have a user timeout. Late answers never reach another
//! caller.
//!
//! In a cluster use a `ClusterConnection`; it repeats requests by itself, which is harmless. Through
//! two limitations of it a single dead node can hold up all requests:
//! - All its requests wait while it tries to connect to a node that does not answer, those to the other
//!   nodes too: set the `connection_timeout` of its `ClusterClientBuilder` well below a sixth of the
//!   lease (it is a second if nobody sets it).
//! - **With tokio 1.54.0 or 1.54.1 it can stop for good**; stay with tokio 1.53
//!   (`cargo update -p tokio --precise 1.53.3`) until one of the two is mended. When a node dies or
//!   slots move, the driver (`redis` 1.8.1) lets no request go on until it has locked its map of the
//!   slots and read it anew. Since tokio 1.54.0 a future can hold its share of such a lock while it waits
//!   for its task's next turn, because the task has used up its budget; if that future is one of the
//!   requests, each waits for the other, and the connection never answers anybody again. It takes
//!   many requests at once: with 500 it happened whenever a node died, with 60 now and then. Every call
//!   ends by its time limit then, as unknown, and every lease at its deadline: no lock has two holders,
//!   but nothing goes on until the application opens another connection. A
//!   connection to one server has no such lock.
//!
//! The driver leaves `TCP_NODELAY` off. Where many calls share a connection that merges small packets and
//! is faster on one machine; over a network a lone call may wait for an acknowledgement that the other
//! side delays. `ConnectionInfo::set_tcp_settings` of the client changes it: measure before.
//!
//! A time limit of the connection that is shorter than a sixth of the lease (the driver's default is
//! 500 ms) ends calls early; that is harmless too.
//!
//! # Following the primary
//! Sentinel is not asked for the primary yet: the address of the `client` must lead to it. Let
//! Sentinel's `client-reconfig-script` move a DNS name or an address, or take the address of the primary
//! that a hosted service offers. (A proxy that asks each server for its role has two primaries for as
//! long as they both say so: see below.) Sentinel closes the connections of a server when it makes it
//! a replica, and the provider leaves a server that says it is one; either way the next call opens a
//! new connection, and looks the name up again. In a cluster the driver follows by itself.
//!
//! # Wake-ups
//! [`wakeups`](RedisProviderBuilder::wakeups) has every release told to those who wait in other
//! processes: they ask at once instead of at their next poll, and poll less often.
//! ```
//! use dlock_redis::{Channels, RedisProvider, redis::Client};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let provider = RedisProvider::builder()
//!     .client(Client::open("redis://127.0.0.1/")?)
//!     .wakeups(Channels::Plain)
//!     .build()?;
//! # Ok(()) }
//! ```
//! - **All processes say the same.** The release script publishes only where it is configured, since
//!   it cannot know who waits elsewhere. A process that does not say so wakes nobody; those who wait
//!   for it poll, more seldom than without wake-ups.
//! - The message is part of the release script, still one round trip, and goes to every process that
//!   listens: that has asked for any lock of the prefix other than by `try_acquire`. With n of them a
//!   release costs the server n messages.
//!   A database is not a separation, a prefix is.
//! - It is heard over a connection of its own, opened by the first acquire that would wait, and asked every 3 s
//!   whether it lives: one that falls silent is found out after 3 s and one more
//!   [`call_timeout`](RedisProviderBuilder::call_timeout). When it ends everyone who waits asks once,
//!   and again when there is a new one; in between they poll. Nothing is lost but time, at most one
//!   poll for each hint.
//! - In a cluster give a `ClusterConnection` for the requests, a `client` of any node, and
//!   [`Channels::Sharded`]: 256 channels (of Redis 7 or later) spread over the slots, and a connection to
//!   each primary. A message stays on the lock's node, except for the locks of a channel that a border
//!   between two nodes divides: theirs go to every node, as all messages do with [`Channels::Plain`].
//!   When slots move or a primary is gone, the channels are opened anew; until every primary can be
//!   reached, everyone polls.
//! - After a failover the address must lead to the new primary, as for requests.
//!
//! # How it can lose a lock
//! A fencing token ([`fence`]) protects the resource in each of these cases; the lease alone does not.
//! - **The server restarts and has forgotten.** By default Redis writes to disk now and then, if at
//!   all. With `appendonly yes` and `appendfsync always` nothing acknowledged is lost; with
//!   `everysec` the last second may be.
//! - **A failover that an operator asks Sentinel for** (`SENTINEL FAILOVER`, the primary being well).
//!   Sentinel promotes a replica, and tells the old primary much later: 11 s with the Sentinels of
//!   Redis 6.2 and 7.0 and Valkey 9.1. So long both take writes, and **a lock can have a holder on
//!   each**. Each of these helps:
//!   - [`acknowledged_by`](RedisProviderBuilder::acknowledged_by) as many replicas as there are, in
//!     every process: the old primary has lost one, so what it grants or renews does not count.
//!   - From Redis 7 on, and in Valkey, `min-replicas-to-write` as many replicas as there are: the old
//!     primary refuses as soon as it misses one, which leaves milliseconds. (From a primary that is cut
//!     off the replicas are missed only after `min-replicas-max-lag`, 10 s by default.) Before Redis 7
//!     the setting holds for commands and not for scripts, so not for locks.
//!   - `SENTINEL FAILOVER name COORDINATED`, where Sentinel knows it (that of Valkey 9.1 does, that of
//!     Redis 8.2 does not); without Sentinel the command `FAILOVER` (Redis 6.2). The old primary
//!     refuses first then.
//! - **A failover.** Replicas follow asynchronously: what the old primary acknowledged last, the new
//!   one may never have seen, and a primary that is cut off from its replicas goes on granting until
//!   it notices. [`acknowledged_by`](RedisProviderBuilder::acknowledged_by) makes a grant and each
//!   renewal count only when replicas have it. That makes the loss less likely, not impossible:
//!   nothing keeps a failover from choosing another replica. Several independent servers with a
//!   majority vote (Redlock) would not help: they share no counter, so they have no token.
//! - **The server's clock steps.** It is a wall clock. A step forward by more than the margin, or a
//!   failover to a server whose clock is ahead, ends leases early; so keep the clocks of the servers
//!   synchronised, and slew them. A step backward keeps a dead holder's lock at most one lease longer,
//!   because contenders also watch.
//! - **Keys disappear**: `FLUSHALL`, `DEL`, a restored dump, or an eviction policy. Every key of ours
//!   has a life, so `volatile-*` picks exactly those; a server that may evict is refused when a record
//!   is to be created, as far as the user may read the policy.
//! - **The memory is full** (without eviction): renewals need memory like all writes and are refused,
//!   so leases end at their deadline. Nobody overlaps, but everybody stops.
//!
//! # What it costs
//! | call | round trips | on the server |
//! |---|---|---|
//! | acquire, granted or refused; renew; release; read | 1 | one `EVALSHA`, 5 to 10 µs |
//! | the first acquire of a name | 1 | another 10 µs, for the eviction policy |
//! | `renew_many` | 1 for every 500, over one connection; one by one over a cluster's, some 500 at once | |
//! | a message to those who wait | 0 | some µs, and a message for each process that listens |
//! | the first call of each kind after the server forgot its scripts | 2 | |
//! | `list`, `purge` | one for every 512 keys **of every kind** on each node | a walk over all keys |
//!
//! A name that was locked once occupies about 300 bytes until 7 days after its last use. A renewal writes
//! the whole record again, to replicas and the disk too: large data is dear.
//!
//! # Rights
//! A user with `+evalsha +eval +time +get +set` on the keys `prefix:{*}`
//! can lock. `+info` lets it notice an eviction policy; `+wait` is for acknowledgements; `+scan`,
//! `+del` and `+cluster|slots` are for listing and purging.
//!
//! Wake-ups take `+publish +subscribe +ping` and the channel `&prefix:released`; sharded ones also
//! `+spublish +ssubscribe +cluster|slots` and `&prefix:released:*`. Rights to channels are rights of
//! their own from Redis 6.2 on, and from 7 on new users have none by default. Without them a release is a
//! release all the same; it is told to nobody, and who may not subscribe polls.

mod admin;
mod answers;
mod cluster;
mod connection;
mod error;
pub mod fence;
mod key;
mod link;
mod provider;
mod record;
mod replicas;
mod requests;
mod scripts;
mod settings;
mod slots;
mod wakeups;

pub use redis;

pub use self::{
    error::{BuildError, Unacknowledged},
    provider::RedisProvider,
    settings::RedisProviderBuilder,
    wakeups::Channels,
};
