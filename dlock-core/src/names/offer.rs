//! A term that is on offer to the next waiter of its client, and its keeper.

use std::{
    any::Any,
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::sync::Notify;
use uuid::Uuid;

use crate::{Clock, time::HolderInstant};

/// A term whose lease has ended, and on which another lease of this client may follow.
pub(crate) trait GoesOn: Any + Send + Sync {
    fn uuid(&self) -> Uuid;
    fn duration(&self) -> Duration;
    fn clock(&self) -> &Clock;
    /// Whether another lease may follow.
    fn may_go_on(&self) -> bool;
    /// No token is left for another.
    fn is_used_up(&self) -> bool;
}

/// The duty to release a term that is on offer. Dropping it sends the release, which takes the lock of the name.
pub(crate) trait Duty: Send {
    /// Another lease has followed: there is nothing to release.
    fn was_taken(self: Box<Self>);
}

/// A term whose lease has ended, and on which the next one may follow. Dropping it sends the release.
pub(super) struct OfferedTerm {
    pub(super) giver: Arc<dyn GoesOn>,
    pub(super) until: HolderInstant,
    pub(super) duty: Box<dyn Duty>,
}

/// The keeper of the terms of a name that are on offer on a runtime: a task there, where their releases run.
pub(super) struct Keeper {
    pub(super) identity: Weak<Notify>,
    /// Until when it sleeps.
    pub(super) wakes: HolderInstant,
}

/// A keeper exists as long as its identity does; the identity is rung when the keeper is needed sooner.
pub(crate) type KeeperIdentity = Arc<Notify>;
