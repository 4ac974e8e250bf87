//! Who holds a lock, as a contender learned it.

use std::time::Duration;

use crate::Record;

/// Who holds the lock: the record that refused an acquire. Nobody does if that
/// [is closed](Record::is_closed); the owner is the one whose work that follows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The record, as the store showed it.
    pub record: Record,
    /// The holder is a lease of this very [`Client`](crate::Client): waiting for it from the work
    /// it protects would wait for ever. Locks are not re-entrant.
    pub ours: bool,
    /// How long this client has seen the record unchanged (uuid and renewals) on its own clock; with
    /// [`Client::observations`](crate::Client::observations) other processes of this host before it
    /// too. On a store whose clock decides nothing a try takes the lock over once this has
    /// reached the record's duration.
    pub observed: Duration,
    /// What was seen is kept for the processes of this host that come after this one.
    pub kept: bool,
}
