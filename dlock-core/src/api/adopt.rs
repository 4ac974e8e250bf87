//! Terms that a store granted in answer to a request that this crate did not send.

use uuid::Uuid;

use crate::{
    Client, DLock, FencingToken, Lease,
    lease::{Holding, Term},
    time::HolderInstant,
};

/// The instant before a request was sent, on the clock by which a client counts its leases.
#[derive(Clone, Copy, Debug)]
pub struct Sent(HolderInstant);

/// A term that the store granted to a request of the caller's own, such as the claim of a task whose row is also the
/// lock's record.
#[derive(Clone, Copy, Debug)]
pub struct Grant {
    uuid: Uuid,
    token: FencingToken,
    sent: Sent,
}

impl Grant {
    /// `uuid` is the identity that the request carried, drawn for this request and used for no other; `token` the
    /// token of the answer; `sent` the instant when the request was first sent, on the clock of the lock's own
    /// client.
    #[must_use]
    pub const fn new(uuid: Uuid, token: FencingToken, sent: Sent) -> Self {
        Self { uuid, token, sent }
    }
}

impl Client {
    /// The current instant. Call this **before** sending a request whose grant is to be [adopted](DLock::adopt): the
    /// lease counts from here. A lease that counts from a later instant may be believed in while another client holds
    /// the lock.
    #[must_use]
    pub fn sent(&self) -> Sent {
        Sent(self.0.clock.now())
    }
}

impl DLock {
    /// The lease of a term that the store has granted, for this lock's name and duration, to a request of the
    /// caller's own. From here on it is like any other lease, and is released when it is dropped.
    ///
    /// The lease may have ended already if the answer took long: check
    /// [`LeaseView::is_valid`](crate::LeaseView::is_valid) before acting. A grant that is not adopted blocks the name
    /// until it expires.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    #[must_use = "an adopted lease that is dropped is released at once"]
    pub fn adopt(&self, grant: Grant) -> Lease {
        // The caller may have sent its request more than once: a copy may still arrive.
        let answered = false;
        let term = Term::new(
            &self.0,
            grant.uuid,
            grant.token.into(),
            grant.sent.0,
            answered,
        );
        Lease(Holding::new(term))
    }
}
