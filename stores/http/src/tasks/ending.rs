//! How claims end, and what they leave for the next attempt.

use dlock_core::FencingToken;
use dlock_tasks::{self as tasks, ClaimKey, State, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::{Millis, Problem, pseudonym};

/// The fate of a task whose worker is done with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum How {
    /// It succeeded.
    Complete {
        /// The handler's output, at most 256 KiB as JSON text.
        #[serde(default)]
        output: Value,
    },
    /// The attempt failed.
    Fail {
        /// The reason, for people.
        error: String,
        /// How long until the next attempt, if there is one.
        retry_in_ms: Millis,
    },
    /// It is dead, even if attempts remain.
    Discard {
        /// The reason, for people.
        error: String,
    },
    /// It is due again after this time, and the attempt does not count.
    Snooze {
        /// The time.
        for_ms: Millis,
    },
    /// It is ready again, and the attempt does not count.
    GiveBack {},
}

/// Ends a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Ending {
    /// The task.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, minimum = 1))]
    pub id: TaskId,
    /// The identity of the claim.
    pub uuid: Uuid,
    /// Its token.
    #[cfg_attr(feature = "openapi", schema(value_type = u64, minimum = 1, maximum = 9007199254740991_u64))]
    pub token: FencingToken,
    /// The fate of the task.
    pub how: How,
}

/// `POST endings`: ends up to 500 claims, each separately.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Endings {
    /// The endings.
    pub endings: Vec<Ending>,
}

/// The claim has ended by its own ending, now or by an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Ended {
    /// The state of the task after it: `scheduled`, `ready`, `succeeded`, `dead` or `cancelled`.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub became: State,
}

/// Answer to [`Endings`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EndedMany {
    /// One for each ending, in their order.
    pub answers: Vec<EndingAnswer>,
}

/// The answer to one of many endings: one of the two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum EndingAnswer {
    /// It has ended now.
    Ended(Ended),
    /// The claim had ended before, or that is unknown.
    Problem(Box<Problem>),
}

macro_rules! endings {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// The identity of the claim.
            pub uuid: Uuid,
            /// Its token.
            #[cfg_attr(feature = "openapi", schema(value_type = u64, minimum = 1, maximum = 9007199254740991_u64))]
            pub token: FencingToken,
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl $name {
            /// The ending of the claim of this task.
            #[must_use]
            pub fn of(self, id: TaskId) -> Ending {
                let Self { uuid, token, $($field),* } = self;
                Ending { id, uuid, token, how: How::$name { $($field),* } }
            }
        }
    )+};
}

endings! {
    /// `POST {id}/complete`: it succeeded.
    Complete {
        /// The handler's output, at most 256 KiB as JSON text.
        #[serde(default)]
        output: Value,
    }
    /// `POST {id}/fail`: the attempt failed. After the last one the task is dead.
    Fail {
        /// The reason, for people.
        error: String,
        /// How long until the next attempt, if there is one.
        retry_in_ms: Millis,
    }
    /// `POST {id}/discard`: it is dead, even if attempts remain.
    Discard {
        /// The reason, for people.
        error: String,
    }
    /// `POST {id}/snooze`: it is due again after a time, and the attempt does not count.
    Snooze {
        /// The time.
        for_ms: Millis,
    }
    /// `POST {id}/give-back`: it is ready again, and the attempt does not count.
    GiveBack {}
}

/// `POST {id}/checkpoint`: leaves a checkpoint for the next attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The identity of the claim.
    pub uuid: Uuid,
    /// Its token.
    #[cfg_attr(feature = "openapi", schema(value_type = u64, minimum = 1, maximum = 9007199254740991_u64))]
    pub token: FencingToken,
    /// Orders the checkpoints of a claim: one that is not larger than what the store has seen changes nothing.
    pub number: u64,
    /// The checkpoint, at most 4096 bytes as JSON text.
    pub checkpoint: Value,
}

impl Ending {
    /// The request to the store.
    #[must_use]
    pub fn into_ending(self) -> tasks::Ending {
        let how = match self.how {
            How::Complete { output } => tasks::How::Complete(output),
            How::Fail { error, retry_in_ms } => tasks::How::Fail {
                error,
                retry_in: retry_in_ms.into(),
            },
            How::Discard { error } => tasks::How::Discard { error },
            How::Snooze { for_ms } => tasks::How::Snooze(for_ms.into()),
            How::GiveBack {} => tasks::How::GiveBack,
        };
        tasks::Ending::new(
            ClaimKey::new(self.id, pseudonym(self.uuid), self.token),
            how,
        )
    }

    /// The request to a server, with as much of an error as is kept; `None` if this version has no word for it.
    #[must_use]
    pub fn of(ending: &tasks::Ending) -> Option<Self> {
        let how = match &ending.how {
            tasks::How::Complete(output) => How::Complete {
                output: output.clone(),
            },
            tasks::How::Fail { error, retry_in } => How::Fail {
                error: kept(error),
                retry_in_ms: Millis::rounded_up(*retry_in),
            },
            tasks::How::Discard { error } => How::Discard { error: kept(error) },
            tasks::How::Snooze(time) => How::Snooze {
                for_ms: Millis::rounded_up(*time),
            },
            tasks::How::GiveBack => How::GiveBack {},
            _ => return None,
        };
        let ClaimKey {
            id, uuid, token, ..
        } = ending.key;
        Some(Self {
            id,
            uuid,
            token,
            how,
        })
    }
}

fn kept(error: &str) -> String {
    let end = error.floor_char_boundary(tasks::FailedAttempt::MAX_ERROR);
    error[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn lost_ending_is_not_read_as_a_success() {
        let lost = Problem::new(Code::Lost).state(Some(State::Running));
        let many = EndedMany {
            answers: vec![
                EndingAnswer::Problem(Box::new(lost)),
                EndingAnswer::Ended(Ended {
                    became: State::Dead,
                }),
            ],
        };
        let text = serde_json::to_string(&many).unwrap();
        assert_eq!(serde_json::from_str::<EndedMany>(&text).unwrap(), many);
    }
}
