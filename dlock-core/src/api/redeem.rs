//! A ticket that is to be redeemed.

use std::time::Duration;

use crate::{DLock, Error, Lease, Ticket, TryAcquire};

/// How a ticket is redeemed: [`once`](Redeem::once), [`wait`](Redeem::wait) or [`within`](Redeem::within) a limit.
/// Made by [`DLock::redeem`].
///
/// The result is a new term with a new token, so the giver's late writes are refused wherever tokens are checked. With
/// a good ticket this takes one round trip to the store, two if a renewal was in flight when the lease was handed over.
/// A redeemer waits behind no other waiter.
///
/// A ticket that was redeemed already, or whose lease has run out and was taken over, is refused as any try is. If
/// the lock is free by now, it is granted as to any try.
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing is sent before `once`, `wait` or `within`"]
pub struct Redeem<'a> {
    lock: &'a DLock,
    ticket: &'a Ticket,
}

impl DLock {
    /// Continues a lease that was handed over, ahead of all waiters.
    ///
    /// ```no_run
    /// # // no_run: needs a provider, and this crate has none.
    /// # async fn example(lock: dlock_core::DLock) -> Result<(), Box<dyn std::error::Error>> {
    /// let ticket = lock.acquire().await?.hand_over()?.to_string();
    /// // in another process, to which the text was brought
    /// let lease = lock.redeem(&ticket.parse()?).wait().await?;
    /// # drop(lease);
    /// # Ok(()) }
    /// ```
    pub const fn redeem<'a>(&'a self, ticket: &'a Ticket) -> Redeem<'a> {
        Redeem { lock: self, ticket }
    }
}

impl Redeem<'_> {
    /// Tries once. A refusal is not an error.
    ///
    /// # Errors
    /// [`Error::TicketMismatch`] if the ticket is for another name; otherwise as [`DLock::try_acquire`]. After
    /// [`Error::Provider`] the ticket may have been used up without success; whatever it acquired is released in the
    /// background.
    ///
    /// # Cancel safety
    /// As for [`DLock::try_acquire`]: a request that was sent runs to its answer. So a call that was dropped may have
    /// used up the ticket, and the lock is then free.
    pub async fn once(self) -> Result<TryAcquire, Error> {
        self.lock.once(Some(self.ticket)).await
    }

    /// Redeems the ticket; if the ticket has become worthless, waits for the lock as [`DLock::acquire`] does.
    ///
    /// # Errors
    /// [`Error::TicketMismatch`] if the ticket is for another name; otherwise as [`DLock::acquire`].
    ///
    /// # Cancel safety
    /// As for [`Redeem::once`] and [`DLock::acquire`].
    pub async fn wait(self) -> Result<Lease, Error> {
        self.lock.wait(None, Some(self.ticket)).await
    }

    /// [`Redeem::wait`], but no longer than `limit` in all. A zero limit tries once.
    ///
    /// # Errors
    /// [`Error::TicketMismatch`] if the ticket is for another name; otherwise as
    /// [`DLock::acquire_timeout`].
    ///
    /// # Cancel safety
    /// As for [`Redeem::wait`].
    pub async fn within(self, limit: Duration) -> Result<Lease, Error> {
        self.lock.limited(limit, Some(self.ticket)).await
    }
}
