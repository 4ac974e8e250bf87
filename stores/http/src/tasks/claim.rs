//! Claims, and how they are kept.

use std::time::Duration;

use dlock_core::FencingToken;
use dlock_tasks::{self as tasks, ClaimKey, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::{Millis, pseudonym};

/// `POST claim`: claims tasks, each under a lease. Without any the answer is 204, with [`NEXT_MS`](super::NEXT_MS).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// From these queues, 1 to 64: the first that has a task comes first.
    pub queues: Vec<String>,
    /// Of these kinds only, if any are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Vec<String>>,
    /// Identity of the terms: version 4, drawn for this claim alone. A repeat after a lost answer sends the same one.
    pub uuid: Uuid,
    /// The most tasks to get: 1 to 10,000.
    #[serde(default = "one")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 10000))]
    pub max: usize,
    /// How long each is leased: 100 ms to 24 h.
    pub lease_ms: Millis,
    /// Label of the worker for people, at most 1024 bytes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// It is a repeat: the answer contains the tasks that this uuid holds once more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// How long the server may wait for a task, at most 25 s. A repeat does not wait.
    #[serde(default, skip_serializing_if = "is_none")]
    pub wait_ms: Millis,
}

/// Answer to [`Claim`]: at least one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Claimed {
    /// The tasks, in the order in which they should run.
    pub tasks: Vec<ClaimedTask>,
    /// In how long another one falls due or a lease runs out, if there were fewer than requested and the store knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_ms: Option<Millis>,
    /// How long after the arrival of the request the claim certainly had no task yet: a client that sent the claim once
    /// may count its leases from `sent` + 0.8 of this.
    #[serde(default)]
    pub waited_ms: Millis,
}

/// A task under a lease.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClaimedTask {
    /// Its number.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, minimum = 1))]
    pub id: TaskId,
    /// The fencing token of the claim.
    #[cfg_attr(feature = "openapi", schema(value_type = u64, minimum = 1, maximum = 9007199254740991_u64))]
    pub token: FencingToken,
    /// The queue it was taken from.
    pub queue: String,
    /// The kind, which selects the handler.
    pub kind: String,
    /// The input of the handler.
    pub payload: Value,
    /// The number of this attempt, from 1 on.
    pub attempt: u32,
    /// The highest number of attempts.
    pub max_attempts: u32,
    /// The checkpoint that an earlier attempt has left for this one.
    #[serde(
        default,
        deserialize_with = "super::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub checkpoint: Option<Value>,
    /// How many attempts in a row, up to the one before this, were lost because the lease of their worker ran out.
    #[serde(default)]
    pub lost: u32,
}

/// The proof of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// The task.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, minimum = 1))]
    pub id: TaskId,
    /// The identity of the claim.
    pub uuid: Uuid,
    /// The token that the claim was given for this task.
    #[cfg_attr(feature = "openapi", schema(value_type = u64, minimum = 1, maximum = 9007199254740991_u64))]
    pub token: FencingToken,
}

/// Keeps a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// The task.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, minimum = 1))]
    pub id: TaskId,
    /// The identity of the claim.
    pub uuid: Uuid,
    /// Its token.
    #[cfg_attr(feature = "openapi", schema(value_type = u64, minimum = 1, maximum = 9007199254740991_u64))]
    pub token: FencingToken,
    /// Number of this attempt: larger than those of all earlier heartbeats of the claim.
    pub n: u64,
}

/// `POST heartbeat`: keeps up to 500 claims, each separately. The answers are those of `renew-many`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Heartbeats {
    /// The heartbeats.
    pub heartbeats: Vec<Heartbeat>,
}

const fn one() -> usize {
    1
}

fn is_none(time: &Millis) -> bool {
    time.0 == 0
}

impl Claim {
    /// The request to the store, for the queues by their names there, and for the pseudonym of the uuid.
    #[must_use]
    pub fn into_claim(self, queues: Vec<String>) -> tasks::Claim {
        let mut claim = tasks::Claim::new("", pseudonym(self.uuid), self.lease_ms.into())
            .queues(queues)
            .max(self.max)
            .owner(self.owner);
        claim.kinds = self.kinds;
        claim.again = self.again;
        claim
    }
}

impl From<&tasks::Claim> for Claim {
    fn from(claim: &tasks::Claim) -> Self {
        Self {
            queues: claim.queues.clone(),
            kinds: claim.kinds.clone(),
            uuid: claim.uuid,
            max: claim.max,
            lease_ms: Millis::rounded_up(claim.lease),
            owner: claim.owner.clone(),
            again: claim.again,
            wait_ms: Millis(0),
        }
    }
}

impl Claimed {
    /// The tasks that the claim with this uuid got.
    #[must_use]
    pub fn into_claimed(self, uuid: Uuid) -> tasks::Claimed {
        let tasks = self.tasks.into_iter().map(|task| task.into_task(uuid));
        tasks::Claimed::new(tasks.collect(), self.next_ms.map(Duration::from))
    }
}

impl ClaimedTask {
    /// A task that the claim with this uuid got.
    #[must_use]
    pub fn into_task(self, uuid: Uuid) -> tasks::ClaimedTask {
        let key = ClaimKey::new(self.id, uuid, self.token);
        tasks::ClaimedTask::new(key, self.queue, self.kind, self.payload)
            .attempt(self.attempt, self.max_attempts)
            .checkpoint(self.checkpoint)
            .lost(self.lost)
    }
}

impl From<tasks::ClaimedTask> for ClaimedTask {
    fn from(task: tasks::ClaimedTask) -> Self {
        Self {
            id: task.key.id,
            token: task.key.token,
            queue: task.queue,
            kind: task.kind,
            payload: task.payload,
            attempt: task.attempt,
            max_attempts: task.max_attempts,
            checkpoint: task.checkpoint,
            lost: task.lost,
        }
    }
}

/// In the form of the store.
impl From<Key> for ClaimKey {
    fn from(Key { id, uuid, token }: Key) -> Self {
        Self::new(id, pseudonym(uuid), token)
    }
}

impl From<ClaimKey> for Key {
    fn from(key: ClaimKey) -> Self {
        Self {
            id: key.id,
            uuid: key.uuid,
            token: key.token,
        }
    }
}
