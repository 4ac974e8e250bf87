//! The contract between the frontend and a store. Clocks, retries, waiting and renewing are the
//! frontend's; a provider makes three conditional writes and reports what they did.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    Name, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Ask, AskOutcome, Capabilities, List, Page, Release,
        ReleaseOutcome, Renew, RenewOutcome, Revoke, RevokeOutcome, Sharing, Wakeups,
    },
};

/// One kind of store, as the lease protocol needs it.
///
/// # The record
/// A store keeps one [`Record`] per name. It survives release: the last token and the answer to a
/// repeated release live there. Each write below is **atomic**, decides on the record as it is *at
/// the moment of the write*, and takes one round trip. The losing side learns the record in the
/// same reply.
///
/// *Expired* means that the store's clock is at or past `expiry`, read inside the deciding
/// statement after any wait for a lock, with the same comparison everywhere
/// ([`Discipline::StoreClock`](crate::provider::Discipline::StoreClock)). An
/// [`Observer`](crate::provider::Discipline::Observer) provider never calls a record expired.
///
/// # Requests that arrive twice, late or not at all
/// Any request may be sent twice, delivered late, reordered with others, or dropped while it runs; A2, A3, R2 and L2
/// make that harmless, which is why they are not optional. Dropping a call's future must not leave a connection that
/// would deliver its late answer to the next call: a connection that serves one request at a time and has not answered
/// is closed, not returned to its pool.
///
/// # Connections
/// A store with a limited number of connections keeps one for holders: for renewals, releases, endings of tasks, and
/// for calls [on behalf of a holder](crate::provider::is_for_holder).
///
/// A store that keeps connections must not lose a lease to those that lead to the wrong server after a failover:
/// - If the server answers that it accepts no writes, the connection is closed, and so are the idle ones: new ones
///   may lead to the new primary.
/// - If a call gets no answer, the connections that have been idle since before it began are closed: after a failover
///   without notice all of them are silent, and each would cost an attempt.
///
/// # Errors
/// Contention, loss and "not held" are outcomes. A [`ProviderError`] says that there is no answer, and what is known:
/// *certainly not applied*, *unknown*, or *a retry cannot help*. When in doubt, answer unknown. If a conditional
/// write matched nothing but the record shown would have fitted a writing rule, that is no answer: try again, at most
/// 3 times, then answer unknown. `Held`, `Lost` and `NotHeld` are answered only for a record that fits A7, R3 and L3.
///
/// A call without a time limit of its own may hang; the frontend bounds every call by D/6 and drops
/// it then. A call must not block the thread it is polled on.
///
/// The suite in `dlock-testkit` checks all of this; run it on a provider of your own.
#[async_trait]
pub trait Provider: Send + Sync + 'static {
    /// The capabilities of the store. Always the same answer.
    fn capabilities(&self) -> Capabilities;

    /// Tries to begin a term. The first rule that fits decides:
    ///
    /// | | record | answer |
    /// |---|---|---|
    /// | A1 | absent | create it; `Acquired` |
    /// | A2 | held, `uuid == new`, not expired | `Acquired` with the one token it shows; nothing changes, also if it was renewed since |
    /// | A3 | `uuid == new`, and released or expired | `Spent`; nothing changes |
    /// | A4 | released | take it |
    /// | A5 | held, expired | take it |
    /// | A6 | held, and `prev` is its version | take it (on every provider) |
    /// | A7 | otherwise | `Held`; nothing is written but a mark, not even a dead row version |
    ///
    /// **N1.** If A7 applies, the request [marks](Acquire::marks), and the record's [`wanted`](Record::wanted) is 0,
    /// the same step writes the mark and changes nothing else: not version, expiry, asked, data, nor a key's life.
    /// `Held` shows the record as it is then. The write is conditional on the record still being the held term that
    /// was seen; if it is not, decide anew. A mark is a hint, so a provider may omit it where writing it would have
    /// to wait (for a locked row, a flush or a replica); `Held` then shows 0.
    ///
    /// *Take it* writes **every** field: uuid = new, renewals = 0, owner, since, duration, data (or
    /// none), released = asked = false, wanted = 0 (A6 keeps the mark that is there, N2), expiry = now + duration, and
    /// the next token:
    /// `max(last + 1, the store's unix time in microseconds, floor)`, minted inside this write (T1).
    ///
    /// That is the first of as many tokens as the request [asks for](Acquire::tokens); the record shows the **last**
    /// token of this block, and with one token they are the same. A provider may always mint one token, and answer
    /// with that one. The answer to a repeat (A2) has one token, the record's: the repeat cannot know how many tokens
    /// the granted copy asked for and got, and the tokens below the record's may be another holder's. The frontend
    /// can work with fewer tokens than it asked for.
    ///
    /// # Errors
    /// As for the trait. `Fatal` also when the last new token would reach 2^53, when the floor does
    /// (T2), when the stored key would be too long, and when the record cannot be read: a foreign
    /// or damaged record is never overwritten.
    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError>;

    /// Extends a term by the duration in its record.
    ///
    /// | | record | answer |
    /// |---|---|---|
    /// | R1 | held, same uuid, `renewals < n`, not expired | renewals = n, expiry = now + duration; `Renewed` |
    /// | R2 | held, same uuid, `renewals >= n` | `Renewed`, nothing changes: applied or overtaken |
    /// | R3 | otherwise | `Lost`, nothing changes: a renewal never creates or revives a record |
    ///
    /// # Errors
    /// As for the trait. An error is not a loss.
    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError>;

    /// Releases a term.
    ///
    /// | | record | answer |
    /// |---|---|---|
    /// | L1 | held, same uuid, expired or not | released = true; everything else stays, the mark too; `Released` |
    /// | L2 | released, same uuid | `Released` |
    /// | L3 | otherwise | `NotHeld`, nothing changes |
    ///
    /// **N3.** `Released` says whether the record that this write, or the one that it repeats, released is marked.
    /// Only if it is does the store send a hint to those who [watch](Self::watch); the step that writes decides that.
    ///
    /// With a [`closing`](Release::closing) (B4) a release leaves the name *closed*: held by a term that belongs to
    /// no client, so that every client is refused until that term expires, or until an observation of it is complete.
    /// The first rule that fits decides:
    ///
    /// | | record | answer |
    /// |---|---|---|
    /// | B4 | held, and its uuid is the closing's | `Released`, nothing changes: a repeat |
    /// | B4 | held, same uuid as the term, expired or not | uuid = the closing's, renewals = 0, duration = `lasts`, expiry = now + `lasts`; everything else stays, `released` too; `Released` |
    /// | L3 | otherwise, released by the term itself too | `NotHeld`, nothing changes |
    ///
    /// A closing frees nothing, so it wakes no waiter. A provider that supports it says so
    /// ([`Capabilities::closing`]); otherwise the frontend refuses `at_least`. A store whose grants have another
    /// durability than its releases keeps a closing like a grant.
    ///
    /// # Errors
    /// As for the trait.
    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError>;

    /// The record as it is, never a verdict; `None` if it does not exist.
    ///
    /// # Errors
    /// As for the trait.
    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError>;

    /// Independent renewals, in as few round trips as the store allows: as many answers as requests, in their order.
    /// No atomicity. An implementation locks rows in the order of their names, so that two batches cannot deadlock.
    /// The provided implementation calls [`renew`](Self::renew) for one request after the other.
    ///
    /// The frontend sends at most 500 renewals at a time, all of one [`shard`](Self::shard) and of leases of about
    /// the same duration, and only where [`Capabilities::batch`](crate::provider::Capabilities::batch) says that this
    /// pays; elsewhere it calls [`renew`](Self::renew) for each lease, many at a time. A call gets as long as its
    /// shortest lease allows and is then dropped: all its items are unknown. An answer of another length counts as no
    /// answer. If one item has to wait (for a row that another session has locked), answer it with an error in time
    /// rather than hold the others back: the frontend sends an item without an answer again, alone.
    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        let mut answers = Vec::with_capacity(requests.len());
        for request in requests {
            answers.push(self.renew(request).await);
        }
        answers
    }

    /// The part of the store that a name lives in: renewals of different parts never travel in one call, so that a
    /// part that is down delays only its own renewals. A pure function of the name: the same answer every time, at
    /// once, without calling the store. It may be coarse (a node, a range of slots); a part for every name would
    /// leave nothing to send together. The provided implementation has a single part.
    fn shard(&self, name: &Name) -> u64 {
        let _ = name;
        0
    }

    /// Opens a channel of wake-ups: hints that a name may be free, sent after releases of marked terms (N3). `None`
    /// if the store has none. When this returns, the channel listens: such a release from then on is hinted, or the
    /// stream ends.
    ///
    /// A waiter relies on a hint only while the record that refused it last shows a mark, and polls again by the end of
    /// that record's `remaining`. So a provider may skip hints for a name if no acquire through it was refused and no
    /// [`read`](Self::read) through it showed a holder of that name since this returned, or none within the last
    /// `remaining` and a second.
    ///
    /// # Errors
    /// As for the trait.
    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        Ok(None)
    }

    /// The place where clones of this provider meet, so that one process uses one [`Client`](crate::Client) for all
    /// of them. A provider carries a [`Sharing`] field that its clones share; a clone with changed settings gets a
    /// fresh one, and a wrapper does not forward it. With `None`, every `.provider(clone)` makes a client of its own.
    fn sharing(&self) -> Option<&Sharing> {
        None
    }
}

/// Operations beyond the lock itself, for people and tools. Optional for a provider.
#[async_trait]
pub trait Admin: Provider {
    /// One page of records, in byte order of their names. A record that can't be read is named in
    /// [`Page::unreadable`], and does not hide the others.
    ///
    /// # Errors
    /// As for [`Provider`].
    async fn list(&self, request: &List) -> Result<Page, ProviderError>;

    /// Takes a term away from its holder without giving it to another client (B1). Held with
    /// `version`: uuid = new, renewals = 0, all else stays, `Revoked`. Held with `uuid == new`:
    /// `Revoked`, nothing changes. Otherwise `Changed`. Safe: the holder learns R3 at its next
    /// renewal, others enter at expiry or after an observation.
    ///
    /// # Errors
    /// As for [`Provider`].
    async fn revoke(&self, request: &Revoke) -> Result<RevokeOutcome, ProviderError>;

    /// Sets `asked` on a term that is held (B3); otherwise `Changed`. Nothing depends on it.
    ///
    /// # Errors
    /// As for [`Provider`].
    async fn ask(&self, request: &Ask) -> Result<AskOutcome, ProviderError>;

    /// Deletes records, released or not, whose expiry is 7 days past and whose token is below the store's time in
    /// microseconds, in one statement (T5); at most `limit`. Returns how many it deleted.
    ///
    /// # Errors
    /// As for [`Provider`].
    async fn purge(&self, limit: usize) -> Result<u64, ProviderError>;

    /// Releases a record that was read, though another client holds it (B2): **free at once, while the old holder may
    /// believe in its lease until its deadline**. During that time only its fencing token protects; prefer
    /// [`Admin::revoke`]. Conditional on the term that was read, and logged.
    ///
    /// # Errors
    /// As for [`Provider`].
    async fn force_release(
        &self,
        name: &Name,
        seen: &Record,
    ) -> Result<ReleaseOutcome, ProviderError> {
        crate::emit::log!(warn, name: "force_release", lock = %name, owner = %seen.owner, token = %seen.token, "force-releasing a lock");
        self.release(&Release::new(name.clone(), seen.uuid, Some(seen.token)))
            .await
    }
}

// Forwards every method, the provided ones too: a default here would silently drop what the
// provider inside can do.
#[async_trait]
impl<P: Provider + ?Sized> Provider for Arc<P> {
    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        (**self).acquire(request).await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        (**self).renew(request).await
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        (**self).release(request).await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        (**self).read(name).await
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        (**self).renew_many(requests).await
    }

    fn shard(&self, name: &Name) -> u64 {
        (**self).shard(name)
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        (**self).watch().await
    }

    fn sharing(&self) -> Option<&Sharing> {
        (**self).sharing()
    }
}

#[async_trait]
impl<P: Admin + ?Sized> Admin for Arc<P> {
    async fn list(&self, request: &List) -> Result<Page, ProviderError> {
        (**self).list(request).await
    }

    async fn revoke(&self, request: &Revoke) -> Result<RevokeOutcome, ProviderError> {
        (**self).revoke(request).await
    }

    async fn ask(&self, request: &Ask) -> Result<AskOutcome, ProviderError> {
        (**self).ask(request).await
    }

    async fn purge(&self, limit: usize) -> Result<u64, ProviderError> {
        (**self).purge(limit).await
    }

    async fn force_release(
        &self,
        name: &Name,
        seen: &Record,
    ) -> Result<ReleaseOutcome, ProviderError> {
        (**self).force_release(name, seen).await
    }
}
