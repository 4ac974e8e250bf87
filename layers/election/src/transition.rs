//! The transitions of an instance's leadership, in order, for its listeners. A listener that does not keep up misses
//! the oldest and learns how many; it never holds up the elector.

use dlock_core::{End, FencingToken, ProviderError};
use tokio::sync::broadcast;

/// One change of an instance's leadership, or of its prospects.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Transition {
    /// This instance leads from now on.
    Gained {
        /// The token of the leadership.
        token: FencingToken,
    },
    /// Still leading, but a renewal is overdue or was refused for good: without a success the
    /// leadership will be lost.
    Unsure {
        /// The token of the leadership.
        token: FencingToken,
    },
    /// The leadership is certain again.
    Recovered {
        /// The token of the leadership.
        token: FencingToken,
    },
    /// This instance no longer leads. Reported at once, while its work is still being dropped.
    Lost {
        /// The cause, and the token of the leadership.
        loss: End,
    },
    /// The work has ended and the leadership has been released.
    Resigned {
        /// The token of the leadership.
        token: FencingToken,
        /// The reason for resigning.
        reason: Reason,
    },
    /// This instance cannot be elected as things are: the store answered
    /// [`Fatal`](dlock_core::ErrorKind::Fatal), for example because of a missing table, a wrong password or a missing
    /// right, and its operator has to mend that. The instance keeps trying, once every
    /// [`poll_every`](crate::ElectionBuilder::poll_every), and needs no restart afterwards.
    ///
    /// Reported once for each reason, and again if in between the store has failed otherwise, or has let the instance
    /// follow for a sixth of the lease. The end of the trouble is not reported separately: the instance follows again,
    /// and the next transition is `Gained`. Temporary trouble (a store that is down) is not reported.
    Ineligible {
        /// The store's error, and what to do.
        error: ProviderError,
    },
}

/// The reason why an instance resigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The program stops.
    Shutdown,
    /// [`Election::resign`](crate::Election::resign) was called in this process.
    Requested,
    /// Another process asked for it ([`Election::ask_leader_to_resign`](crate::Election::ask_leader_to_resign)).
    Asked,
}

/// The next item of a listener.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "either the next one or how many are gone"
)]
pub enum Next {
    /// The next transition.
    Transition(Transition),
    /// The listener was too slow, and this many transitions are gone. The next one is the oldest kept.
    Missed(u64),
}

/// A listener. It receives all transitions from its creation on.
#[derive(Debug)]
pub struct Transitions(pub(crate) broadcast::Receiver<Transition>);

impl Transitions {
    /// The next transition; `None` when the election is gone.
    ///
    /// # Cancel safety
    /// Cancel safe: a dropped call has taken nothing.
    pub async fn next(&mut self) -> Option<Next> {
        match self.0.recv().await {
            Ok(transition) => Some(Next::Transition(transition)),
            Err(broadcast::error::RecvError::Lagged(missed)) => Some(Next::Missed(missed)),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}
