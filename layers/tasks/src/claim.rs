//! A claim: the lease of a worker on a task.

use std::{fmt, str::FromStr, time::Duration};

use dlock_core::{FencingToken, Name};
use serde_json::Value;
use uuid::Uuid;

use crate::{State, TaskId};

/// A request for tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claim {
    /// The queues, in order: the first that has a task is served first. At most [`MAX_QUEUES`](Self::MAX_QUEUES).
    pub queues: Vec<String>,
    /// Only tasks of these kinds, if any are given, at most [`MAX_KINDS`](Self::MAX_KINDS): the kinds that the worker
    /// has handlers for. Tasks of other kinds wait for other workers, and lose no attempt.
    pub kinds: Option<Vec<String>>,
    /// The identity of the terms that it begins: fresh for every claim, the same when a claim that had no
    /// answer is repeated.
    pub uuid: Uuid,
    /// The most tasks to give out.
    pub max: usize,
    /// The lease of each task: whole milliseconds, 100 ms to 24 h.
    pub lease: Duration,
    /// Label of the worker, for people.
    pub owner: String,
    /// The claim is a repeat: the answer has the tasks that it still holds (A2).
    pub again: bool,
}

impl Claim {
    /// The most queues of a claim. A store compares each task that it reads with all of them.
    pub const MAX_QUEUES: usize = 64;
    /// The most kinds of a claim.
    pub const MAX_KINDS: usize = 256;

    /// A claim of one task, without a label.
    #[must_use]
    pub fn new(queue: impl Into<String>, uuid: Uuid, lease: Duration) -> Self {
        Self {
            queues: vec![queue.into()],
            kinds: None,
            uuid,
            max: 1,
            lease,
            owner: String::new(),
            again: false,
        }
    }

    /// Sets the queues.
    #[must_use]
    pub fn queues(mut self, queues: impl IntoIterator<Item: Into<String>>) -> Self {
        self.queues = queues.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the kinds.
    #[must_use]
    pub fn kinds(mut self, kinds: impl IntoIterator<Item: Into<String>>) -> Self {
        self.kinds = Some(kinds.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the most tasks to give out.
    #[must_use]
    pub const fn max(mut self, max: usize) -> Self {
        self.max = max;
        self
    }

    /// Sets the label.
    #[must_use]
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = owner.into();
        self
    }

    /// The same claim again, as a repeat of one that had no answer.
    #[must_use]
    pub fn repeated(mut self) -> Self {
        self.again = true;
        self
    }
}

/// The result of a claim.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Claimed {
    /// The tasks, in the order in which they should run.
    pub tasks: Vec<ClaimedTask>,
    /// The time until a task of these queues falls due or a lease runs out, if there is such a task and the claim got
    /// fewer tasks than requested.
    pub next: Option<Duration>,
}

impl Claimed {
    /// The answer of a store.
    #[must_use]
    pub const fn new(tasks: Vec<ClaimedTask>, next: Option<Duration>) -> Self {
        Self { tasks, next }
    }
}

/// The log message of a store for a task that a claim finds without a worker and without an attempt left: the task is
/// dead then, and no worker logs that.
pub const DEAD_IN_A_CLAIM: &str =
    "a task is dead: the lease of its last worker ran out, and no attempt is left";

/// A task under a lease.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClaimedTask {
    /// The key that its heartbeats and its ending name.
    pub key: ClaimKey,
    /// The queue that it was taken from.
    pub queue: String,
    /// The kind, which selects the handler.
    pub kind: String,
    /// The input of the handler.
    pub payload: Value,
    /// The number of this attempt, from 1 on.
    pub attempt: u32,
    /// The most attempts.
    pub max_attempts: u32,
    /// The data that an earlier attempt has left for this one.
    pub checkpoint: Option<Value>,
    /// How many attempts in a row, up to the one before this, were lost because the lease of their worker ran out: it
    /// died, or could not reach the store.
    pub lost: u32,
}

impl ClaimedTask {
    /// A task that was claimed for the first time, with no checkpoint.
    #[must_use]
    pub fn new(key: ClaimKey, queue: String, kind: String, payload: Value) -> Self {
        Self {
            key,
            queue,
            kind,
            payload,
            attempt: 1,
            max_attempts: 1,
            checkpoint: None,
            lost: 0,
        }
    }

    /// Sets the number of the attempt, and the most attempts.
    #[must_use]
    pub const fn attempt(mut self, attempt: u32, max_attempts: u32) -> Self {
        self.attempt = attempt;
        self.max_attempts = max_attempts;
        self
    }

    /// Sets the data that an earlier attempt has left.
    #[must_use]
    pub fn checkpoint(mut self, checkpoint: Option<Value>) -> Self {
        self.checkpoint = checkpoint;
        self
    }

    /// Sets how many attempts in a row were lost before this one.
    #[must_use]
    pub const fn lost(mut self, lost: u32) -> Self {
        self.lost = lost;
        self
    }
}

/// The proof of a claim: the task, the identity of the claim, and its fencing token. A claim that arrives late can take
/// a task again under the same identity; only the token distinguishes the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ClaimKey {
    /// The task.
    pub id: TaskId,
    /// The identity of the claim.
    pub uuid: Uuid,
    /// The token of this grant.
    pub token: FencingToken,
}

impl ClaimKey {
    /// A claim.
    #[must_use]
    pub const fn new(id: TaskId, uuid: Uuid, token: FencingToken) -> Self {
        Self { id, uuid, token }
    }

    /// The name of the claim in [`TaskStore::claims`](crate::TaskStore::claims).
    #[must_use]
    pub fn name(&self) -> ClaimName {
        ClaimName {
            id: self.id,
            token: self.token,
        }
    }
}

/// The claim ended before its handler's work was committed: another worker may have the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the claim of task {id} with token {token} has ended, so its work must not be kept: {}",
    .state.map_or("there is no such task".to_owned(), |state| format!("the task is {state}"))
)]
#[non_exhaustive]
pub struct LostClaim {
    /// The task.
    pub id: TaskId,
    /// The token of the claim.
    pub token: FencingToken,
    /// The state of the task, if it exists.
    pub state: Option<State>,
}

impl LostClaim {
    /// A claim that has ended, and the state of its task now.
    #[must_use]
    pub const fn new(key: &ClaimKey, state: Option<State>) -> Self {
        Self {
            id: key.id,
            token: key.token,
            state,
        }
    }
}

/// The name of a claim as a lease: the task and the token of the claim, as `17/1764000000000000`. Every request of a
/// lease has the identity anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClaimName {
    /// The task.
    pub id: TaskId,
    /// The token of the claim.
    pub token: FencingToken,
}

impl fmt::Display for ClaimName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.id, self.token)
    }
}

/// A name that is not that of a claim.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the name of a claim: a task's number, a slash and a fencing token are")]
pub struct NoClaim(String);

impl FromStr for ClaimName {
    type Err = NoClaim;

    fn from_str(text: &str) -> Result<Self, NoClaim> {
        let parsed = || {
            let (id, token) = text.split_once('/')?;
            Some(Self {
                id: TaskId::new(id.parse().ok()?)?,
                token: FencingToken::new(token.parse().ok()?)?,
            })
        };
        parsed()
            .filter(|name| name.to_string() == text)
            .ok_or_else(|| NoClaim(text.to_owned()))
    }
}

impl TryFrom<&Name> for ClaimName {
    type Error = NoClaim;

    fn try_from(name: &Name) -> Result<Self, NoClaim> {
        name.as_str().parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_read_back_and_nothing_else_is_one() {
        let id = TaskId::new(17).unwrap();
        let key = ClaimKey::new(id, Uuid::nil(), FencingToken::new(9).unwrap());
        assert_eq!(key.name().to_string(), "17/9");
        assert_eq!("17/9".parse(), Ok(key.name()));
        for other in [
            "", "17", "17/", "/9", "017/9", "17/9/1", "0/9", "17/0", "-1/9", "17/+9",
        ] {
            assert_eq!(
                other.parse::<ClaimName>(),
                Err(NoClaim(other.to_owned())),
                "{other}"
            );
        }
    }
}
