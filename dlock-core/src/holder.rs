//! Who holds a lock, as a contender learned it.

use crate::Record;

/// Who holds the lock: the record that refused an acquire.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The record, as the store showed it.
    pub record: Record,
    /// The holder is a lease of this very [`Client`](crate::Client): waiting for it from the work
    /// it protects would wait for ever. Locks are not re-entrant.
    pub ours: bool,
}
