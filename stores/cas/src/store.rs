//! The functions of a store: two to lock with, and two more for people and tools.

use async_trait::async_trait;
use dlock_core::{ProviderError, provider::Capabilities};

use crate::hints::Hints;

/// A store that reads one key, and writes one key if it is unchanged.
///
/// [`CasProvider`](crate::CasProvider) makes a provider of it, and decides what to write and when; a store moves bytes
/// and knows nothing of leases.
///
/// # What must hold
/// - **Linearizable.** [`put_if`](Self::put_if) compares and writes in one atomic step, and
///   [`get`](Self::get) shows every write that was finished before it was called, whichever client
///   made it. A cache, a replica that may be behind, or a read followed by a write will grant one
///   lock twice. If the store's default reads are weaker, use its strong ones.
/// - **A version stands for one contents of one key, for ever.** Contents never repeat (each holds a
///   uuid that was drawn for it, a number that only grows, flags that only rise, and a mark that is set once), so a hash
///   of the contents, or the contents themselves, will do. A counter of the store will do if it never
///   goes back. One that starts again after a restore does not: include in the version whatever distinguishes the
///   restored store from the old one, and answer [`Put::Lost`] where it differs.
/// - **Nothing expires.** The record of a lock outlives its lease. A store that evicts records, or
///   deletes them after a time that is shorter than a lease, frees locks that are held.
///
/// # Keys
/// A key is `prefix/name`, with `%25` and `%2F` for each `%` and `/` of the prefix, and begins with the `/` if there is
/// no prefix. It is text of up to 3,071 bytes: prefix and name have 1,024 together, and up to 1,023 of them become
/// three. It may contain any UTF-8 but NUL, control characters too. A store with shorter keys or fewer characters needs
/// a reversible form of them, and one with keys in URLs encodes every byte that is special there, `/`, `?`, `#` and `%`
/// included: two keys that the server takes for one are one lock.
///
/// # Errors
/// There are three kinds, and each function returns one of them whenever it has no answer:
///
/// | kind | when | for example |
/// |---|---|---|
/// | [`NotApplied`](dlock_core::ErrorKind::NotApplied) | certainly nothing was written | the connection was refused; throttled before the request was processed |
/// | [`Unknown`](dlock_core::ErrorKind::Unknown) | perhaps it was | a timeout, a connection that broke, an answer that makes no sense |
/// | [`Fatal`](dlock_core::ErrorKind::Fatal) | a repeat cannot help, a person must act | credentials, missing rights, a missing bucket |
///
/// When in doubt, return `Unknown`: a wrong `Unknown` costs a repeat. A wrong `NotApplied` denies a write that was
/// made.
///
/// For a store over HTTP, with `If-Match` and `If-None-Match: *`, this is usual:
///
/// | answer | to `GET` | to a conditional `PUT` |
/// |---|---|---|
/// | 2xx with a strong `ETag` | the entry | [`Put::Done`] |
/// | 2xx without an `ETag`, or with a weak one | `Unknown` | `Unknown`: it may have been written |
/// | 404 | `None` | `Fatal`: the bucket is missing, for example |
/// | 412 | `Fatal` | [`Put::Lost`] |
/// | 409 | `Fatal` | [`Put::Lost`] where the service says so of two writers at once, as S3 does |
/// | 401, 403, 3xx, other 4xx | `Fatal` | `Fatal` |
/// | 429 | `NotApplied` | `NotApplied` |
/// | 408, 5xx, a timeout, a connection that broke | `Unknown` | `Unknown` |
/// | no connection | `NotApplied` | `NotApplied` |
///
/// Turn off the client's own repeats and redirects: a redirect may lead to another server; for repeats see
/// [`repeats_puts`](Self::repeats_puts).
///
/// # Cancel safety
/// Any call may be dropped at any time, and its request may arrive later. A store whose connections serve one request
/// at a time closes one that has not answered, so that its late answer is not taken for the next one's. A call may
/// hang: the frontend drops it after a sixth of the lease.
#[async_trait]
pub trait CasStore: Send + Sync + 'static {
    /// Identifies the contents that a call has seen; opaque to the provider.
    type Version: Clone + Send + Sync + 'static;

    /// The store's name for logs, how much it keeps over a restart, whether it [watches](Self::watch), whether a read
    /// is cheaper than a refused write ([`cheap_reads`](Capabilities::cheap_reads)), and whether there is room for one
    /// more write in a term that others wait for ([`marks`](Capabilities::marks)): yes, unless the store takes very few
    /// writes of one key. Always the same answer. Begin with [`Capabilities::new`] and
    /// [`Discipline::Observer`](dlock_core::provider::Discipline::Observer); the provider adds its own capabilities.
    ///
    /// An acquire that finds the lock held costs a read in any case. `cheap_reads` decides its cost when the provider
    /// has seen the lock free and another contender was quicker: without it the acquire begins with a write, which the
    /// store refuses; with it a waiter reads first.
    fn capabilities(&self) -> Capabilities;

    /// Whether one call of [`put_if`](Self::put_if) may reach the store more than once, because a client library
    /// repeats requests automatically.
    ///
    /// It is no danger to a lock, but then [`Put::Lost`] may be the store's answer to the repeat of a write that it has
    /// made. A lost release that finds another holder's record may be the write that let that holder in: it is
    /// `Unknown` then instead of "not held". Turn such repeats off where you can, and return `false` here: with `true`,
    /// the conformance suite fails, since a stale holder does not learn that its release found another one.
    fn repeats_puts(&self) -> bool {
        true
    }

    /// The contents of a key and their version; `None` if there is no such key.
    ///
    /// # Errors
    /// As for the trait. For a read, `NotApplied` and `Unknown` make no difference.
    async fn get(&self, key: &str) -> Result<Option<Entry<Self::Version>>, ProviderError>;

    /// Replaces the contents of a key if it still has this version; with `None`, creates the key if it does not exist.
    ///
    /// A store that cannot tell why it refused returns [`Put::Lost`]: the provider reads the key, and trusts nothing
    /// else.
    ///
    /// # Errors
    /// As for the trait.
    async fn put_if(
        &self,
        key: &str,
        bytes: Vec<u8>,
        expected: Option<&Self::Version>,
    ) -> Result<Put<Self::Version>, ProviderError>;

    /// Begins to report changes of keys with this prefix; see [`Hints`]. When it returns, every change from then on is
    /// reported, or the hints are dropped. Reporting continues in a task of the store, which ends when [`Hints`] says
    /// so, and drops the hints when its channel to the store breaks.
    ///
    /// Called only if [`Capabilities::watch`] is set; the provided implementation reports nothing.
    ///
    /// # Errors
    /// As for the trait: the channel could not be opened.
    async fn watch(&self, prefix: &str, hints: Hints) -> Result<(), ProviderError> {
        let _ = (prefix, hints);
        Ok(())
    }
}

/// The additional functions of a store for [`Admin`](dlock_core::provider::Admin), which lists and cleans up.
#[async_trait]
pub trait CasAdmin: CasStore {
    /// Keys that start with `prefix` and come after `after`, with their contents, in the order of their bytes. At most
    /// `limit`; fewer only if there are no more. Keys that are not text are left out. `after` itself comes after
    /// `prefix`; it need not exist any more.
    ///
    /// `prefix` is such a key too: on a server that lists only the keys after a given one, read that key separately if
    /// `after` is `None`. If contents are read one key at a time, a key that was deleted in between does not count
    /// towards `limit`: continue with the next.
    ///
    /// # Errors
    /// As for [`CasStore`].
    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Entry<Self::Version>)>, ProviderError>;

    /// Deletes a key if it still has this version, and returns whether it did. A store that cannot delete on a
    /// condition returns `Fatal` that says what to do instead: deleting without a condition loses locks.
    ///
    /// # Errors
    /// As for [`CasStore`].
    async fn delete_if(&self, key: &str, expected: &Self::Version) -> Result<bool, ProviderError>;
}

/// The contents of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "stores make it; a new field would be something that every store has to know"
)]
pub struct Entry<V> {
    /// The contents, as they were put.
    pub bytes: Vec<u8>,
    /// The version of these contents.
    pub version: V,
}

/// The result of a conditional write.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a conditional write has these answers"
)]
pub enum Put<V> {
    /// The key has the new contents, and this is their version.
    Done(V),
    /// The store says that the key did not have the expected version. Its contents are not known.
    ///
    /// A timeout is never this, but `Unknown`: the write may have been made. If it was a release, the next holder may
    /// be there already. The provider would trust the refusal, find that holder's record and answer "not held", and a
    /// program whose work was protected to the end would report that its lock was lost.
    Lost,
    /// The same, from a store that shows the key's contents at that very moment: `None` if the key did not exist. It
    /// saves a read. Show only what the comparison itself saw, never the result of a later read.
    LostTo(Option<Entry<V>>),
}
