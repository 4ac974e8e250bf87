//! Locks in a DynamoDB table: one conditional write per operation, over the user's own client of
//! `aws-sdk-dynamodb`.
//!
//! ```
//! use aws_sdk_dynamodb::Client;
//! use dlock_dynamodb::DynamoDbProvider;
//!
//! # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
//! let provider = DynamoDbProvider::builder().client(client).table("locks").build()?;
//! provider.create_table().await?; // once; verify_table() where tables are made by other means
//! # Ok(()) }
//! ```
//!
//! # The table
//! One string attribute as partition key, `name` by default: its value is `prefix/name`, and `/name`
//! without a prefix. Or a partition key and a sort key: the prefix is the one, the name the other;
//! then listing is a query. Other items may live in the same table. The other attributes of a lock
//! are `uuid`, `renewals`, `owner`, `since` (microseconds since 1970), `token`, `duration`
//! (milliseconds), `released`, `asked` and, where there is some, `data`.
//!
//! A process that locks needs the permissions `dynamodb:UpdateItem` and `dynamodb:GetItem` on the
//! table, nothing else. The client brings its HTTP and TLS, and a timer, which the SDK has by its
//! default features.
//!
//! # What it guarantees
//! - DynamoDB has no clock to ask, so none decides
//!   ([`Discipline::Observer`](dlock_core::Discipline::Observer)): a contender that has seen one
//!   version of a record unchanged for the record's duration, on its own monotonic clock, may take it.
//!   Wall clocks may be wrong by any amount, on any machine. So a program that asks once and ends
//!   never has the lock of a holder that died, however often it is started, unless what it has seen
//!   outlives it: [`Client::observations`](dlock_core::Client::observations).
//!   The same holds for a lock that `at_least` has closed: it opens for whoever has seen it closed
//!   for that long.
//! - Each acquire, renewal and release is one `UpdateItem` whose condition decides; the loser reads
//!   the record out of the refusal. A record that a condition does not find sound in every field is an
//!   error, and is not written to.
//! - An acknowledged write survives the death of any process and of machines of DynamoDB.
//! - Requests end by themselves: after 1 s, or what the builder says. A conditional write is sent
//!   once, and repeated by the lock, which then knows that it is a repeat; other requests are sent at
//!   most three times. The retries use no quota that other clients of the process share.
//!
//! # What it costs
//! In units of on-demand capacity, for records of up to 1 KB (a record without `data` has some 250
//! bytes beside its name and owner). `data` is not free: beyond 1 KB each write costs a unit for every
//! KB, renewals and refused acquires too.
//!
//! | | requests | units |
//! |---|---|---|
//! | acquire | 1 | 1 write |
//! | acquire that is refused | 1 | 1 write (the reply shows the holder for nothing) |
//! | acquire with a floor above the next token | 2 | 2 writes |
//! | renew, release | 1 | 1 write |
//! | read | 1 | 1 read for every 4 KB |
//! | renew or release where the record is gone | 2 | 1 write, 1 read |
//! | list | 1 for every MB | 1 read for every 4 KB of the prefix, or, without a sort key, of the **whole table** |
//! | purge | as list | as list, and 1 write for each record |
//!
//! A waiter asks once and then looks at most once per poll interval, by a consistent read that costs
//! a fifth of a refused write (on demand, in us-east-1): at the default lease of 15 s, one read unit a
//! second. It asks again when the lock was given back or its observation is over. The interval is
//! what a hand-over may take, so it follows from the lease (a tenth of it, 100 ms to 1 s) and does not
//! grow while somebody waits; jitter keeps waiters apart, and the end of an observation has its own
//! appointment. So a holder that died is replaced within its lease, one interval and jitter of its
//! last renewal, and its waiter has then sent two writes and a read for each interval. One partition
//! takes about 1,000 writes a second: with a sort key, all locks of a prefix begin in one partition.
//!
//! While a lock goes from hand to hand, each process that waits for it and was passed over also stands in line for
//! a reservation. It looks at the second place once in each interval, which doubles what its looks cost, and
//! writes when that is free. The one that has the second place tries for the first four times in each, by refused
//! writes; the two of them renew a record each. `reservations(false)` of the lock leaves that out, and the order to
//! chance.
//!
//! # How it can lose a lock
//! A fencing token protects the resource in each of these cases ([`fence`]); the lease alone does not.
//! - **Global tables** of the usual kind are eventually consistent between regions: two regions grant
//!   the same lock, and the last writer wins. Use one region for locks, or a global table with strong
//!   consistency. Nothing checks this.
//! - **A restored or deleted table, a deleted item**: the new one knows no leases. Its tokens begin at
//!   the wall clock of whoever comes first, so they go on above the old ones if that clock is not
//!   behind the last token; the years before 2024 and after 2100 are refused.
//! - **A first token from a slow clock.** Only where a record is gone (purged, expired, deleted) does
//!   a wall clock matter: one that is further behind than the record was unused, seven days for
//!   [`purge`](dlock_core::Admin::purge) and thirty for the table's time to live, starts the name
//!   below its last token.
//! - **Another writer of the items**: whoever may write the table may free a lock. A time to live on
//!   another attribute of the table than the provider's is another writer.
//! - **Pauses** of a holder longer than its lease, and of virtual machines, which no guest clock
//!   counts.
//!
//! On restart, failover and in a partition of DynamoDB nothing is lost: writes are acknowledged by
//! several zones. A client that is cut off keeps its lease until its deadline and is told in time; the
//! others wait for one duration after their first look.
//!
//! # Cleaning up
//! A record outlives its release, because its token and the answer to a repeated release live there.
//! [`purge`](dlock_core::Admin::purge) deletes what was released and is a week past. Or let DynamoDB do
//! it, with `expire_released`: a release then writes the table's time to live, 30 days ahead, and an
//! acquire removes it; a held record never has one.

mod admin;
mod call;
mod clock;
mod error;
mod expression;
pub mod fence;
mod key;
mod provider;
mod record;
mod requests;
mod store;
mod table;
#[cfg(test)]
mod tests;
mod walk;

// The helpers of `tests/` name this crate; its own tests use them too.
#[cfg(test)]
extern crate self as dlock_dynamodb;

pub use self::{
    error::{BuildError, TableError},
    provider::{DynamoDbProvider, DynamoDbProviderBuilder},
};
