//! Terms that a store granted in answer to a request that is none of ours.

use uuid::Uuid;

use crate::{
    Client, DLock, FencingToken, Lease,
    lease::{Holding, Term},
    time::HolderInstant,
};

/// The instant before a request was sent, on the clock that a client's leases are counted on.
#[derive(Clone, Copy, Debug)]
pub struct Sent(HolderInstant);

/// A term that the store granted to a request which the caller made itself, such as the claim of a task
/// whose row is the lock's record at the same time.
#[derive(Clone, Copy, Debug)]
pub struct Grant {
    uuid: Uuid,
    token: FencingToken,
    sent: Sent,
}

impl Grant {
    /// The identity that the request carried, which was drawn for it and is used for no other; the token
    /// of the answer; when the request was first sent, on the clock of the lock's own client.
    #[must_use]
    pub const fn new(uuid: Uuid, token: FencingToken, sent: Sent) -> Self {
        Self { uuid, token, sent }
    }
}

impl Client {
    /// Now. To be asked **before** a request is sent whose grant is [adopted](DLock::adopt) afterwards: the
    /// lease counts from here (V1), and one that counts from a later instant may be believed in when
    /// somebody else has it.
    #[must_use]
    pub fn sent(&self) -> Sent {
        Sent(self.0.clock.now())
    }
}

impl DLock {
    /// The lease of a term that the store has granted for this lock's name and duration to a request of the
    /// caller's own. From here on it is like any other: renewed, fenced, given back when it is dropped.
    ///
    /// It may be over already, if the answer took long: ask [`LeaseView::is_valid`](crate::LeaseView::is_valid) before acting. A grant that
    /// is not adopted blocks the name until it expires.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    #[must_use = "an adopted lease that is dropped is given back at once"]
    pub fn adopt(&self, grant: Grant) -> Lease {
        // How often the caller has sent its request is not known: a copy may still arrive (G4).
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
