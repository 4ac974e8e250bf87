//! A claim: the lease of a worker on a task.

use std::{fmt, str::FromStr, time::Duration};

use dlock_core::{FencingToken, Name};
use serde_json::Value;
use uuid::Uuid;

use crate::{State, TaskId};

/// Asks for tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claim {
    /// Of these queues, the first that has a task first: at most [`MAX_QUEUES`](Self::MAX_QUEUES).
    pub queues: Vec<String>,
    /// Of these kinds only, if any are given, at most [`MAX_KINDS`](Self::MAX_KINDS): those that the worker has handlers
    /// for. Tasks of other kinds wait for other workers, and no attempt of theirs is used.
    pub kinds: Option<Vec<String>>,
    /// The identity of the terms that it begins: fresh for every claim, the same when a claim that had no
    /// answer is repeated.
    pub uuid: Uuid,
    /// At most so many.
    pub max: usize,
    /// How long each is leased: whole milliseconds, 100 ms to 24 h.
    pub lease: Duration,
    /// Label of the worker, for people.
    pub owner: String,
    /// The claim is a repeat: what it still holds is answered again (A2).
    pub again: bool,
}

impl Claim {
    /// The most queues of a claim. A store compares each task that it looks at with all of them.
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

    /// Sets how many tasks it asks for at most.
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

    /// The same claim once more, after one that had no answer.
    #[must_use]
    pub fn repeated(mut self) -> Self {
        self.again = true;
        self
    }
}

/// What a claim got.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Claimed {
    /// The tasks, in the order in which they should run.
    pub tasks: Vec<ClaimedTask>,
    /// When a task of these queues falls due or a lease runs out, if there were fewer than asked for and
    /// there is such a task.
    pub next: Option<Duration>,
}

impl Claimed {
    /// The answer of a store.
    #[must_use]
    pub const fn new(tasks: Vec<ClaimedTask>, next: Option<Duration>) -> Self {
        Self { tasks, next }
    }
}

/// What the log of a store says of a task that a claim finds without a worker and without an attempt left: it is dead then, and
/// no worker says so.
pub const DEAD_IN_A_CLAIM: &str =
    "a task is dead: the lease of its last worker ran out, and no attempt is left";

/// A task under a lease.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClaimedTask {
    /// What its heartbeats and its ending name.
    pub key: ClaimKey,
    /// The queue it was taken from.
    pub queue: String,
    /// Which handler it is for.
    pub kind: String,
    /// What the handler gets.
    pub payload: Value,
    /// The number of this attempt, from 1 on.
    pub attempt: u32,
    /// How many there may be.
    pub max_attempts: u32,
    /// What an earlier attempt has left for this one.
    pub checkpoint: Option<Value>,
    /// How many attempts in a row, up to the one before this, were lost, since the lease of their worker ran out: it died,
    /// or could not reach the store.
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

    /// Sets the number of the attempt, and how many there may be.
    #[must_use]
    pub const fn attempt(mut self, attempt: u32, max_attempts: u32) -> Self {
        self.attempt = attempt;
        self.max_attempts = max_attempts;
        self
    }

    /// Sets what an earlier attempt has left.
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

/// What proves a claim (K5): the task, the identity of the claim, and its fencing token. A claim that
/// arrives late can take a task again under the same identity; only the token tells the two apart.
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

    /// The name under which [`TaskStore::claims`](crate::TaskStore::claims) knows it.
    #[must_use]
    pub fn name(&self) -> ClaimName {
        ClaimName {
            id: self.id,
            token: self.token,
        }
    }
}

/// A claim that ended before what its handler has done was kept: another worker may have the task.
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
    /// What the task is doing, if it is there.
    pub state: Option<State>,
}

impl LostClaim {
    /// A claim that has ended, and what its task is doing now.
    #[must_use]
    pub const fn new(key: &ClaimKey, state: Option<State>) -> Self {
        Self {
            id: key.id,
            token: key.token,
            state,
        }
    }
}

/// The name of a claim as a lease: the task and the token of the claim, as `17/1764000000000000`. The identity
/// is in every request of a lease already.
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

/// A name that is no claim's.
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
