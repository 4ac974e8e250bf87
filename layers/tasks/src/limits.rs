//! The limits of what a store can keep, checked here for all stores.

use std::time::Duration;

use dlock_core::{Name, ProviderError, provider::Acquire};
use serde_json::Value;

use crate::{Claim, Ending, How, NewTask, json};

/// The most tasks of one call.
pub(crate) const MOST: usize = 10_000;

const KIND: &str = "kind of a task";

impl NewTask {
    /// The payload as JSON text, if the task can be kept.
    ///
    /// # Errors
    /// [`Fatal`](dlock_core::ErrorKind::Fatal) with what is wrong: a name of wrong length or with NUL, a
    /// priority above 9, no attempt or more than 1000, a payload that is too large, nests too deep or has a NUL.
    pub fn check(&self) -> Result<String, ProviderError> {
        text(KIND, &self.kind, 128)?;
        queue(&self.queue)?;
        if let Some(key) = &self.key {
            text("key of a task", key, 256)?;
        }
        if let Some(lane) = &self.lane {
            text("lane of a task", lane, 256)?;
        }
        if self.priority > Self::LAST_PRIORITY {
            let priority = self.priority;
            return Err(fatal(format!(
                "priority {priority} is not possible: 0, which runs first, to {}",
                Self::LAST_PRIORITY
            )));
        }
        if !(1..=1000).contains(&self.max_attempts) {
            let attempts = self.max_attempts;
            return Err(fatal(format!(
                "{attempts} attempts are not possible: 1 to 1000 are"
            )));
        }
        payload("payload", &self.payload)
    }
}

impl Claim {
    /// Checks that a store can answer the claim.
    ///
    /// # Errors
    /// [`Fatal`](dlock_core::ErrorKind::Fatal) with what is wrong: no queue or no kind, more than
    /// [`MAX_QUEUES`](Self::MAX_QUEUES) or [`MAX_KINDS`](Self::MAX_KINDS), a name of wrong length, no task or more than
    /// 10,000, a lease or a label that no record can hold.
    pub fn check(&self) -> Result<(), ProviderError> {
        let (queues, most) = (self.queues.len(), Self::MAX_QUEUES);
        if !(1..=most).contains(&queues) {
            return Err(fatal(format!(
                "a claim of {queues} queues is not possible: 1 to {most} are"
            )));
        }
        self.queues.iter().try_for_each(|name| queue(name))?;
        let (kinds, most) = (self.kinds.as_ref().map(Vec::len), Self::MAX_KINDS);
        if let Some(kinds) = kinds.filter(|kinds| !(1..=most).contains(kinds)) {
            return Err(fatal(format!(
                "a claim of {kinds} kinds is not possible: 1 to {most} are, or all"
            )));
        }
        let mut kinds = self.kinds.iter().flatten();
        kinds.try_for_each(|kind| text(KIND, kind, 128))?;
        if !(1..=MOST).contains(&self.max) {
            let max = self.max;
            return Err(fatal(format!(
                "{max} tasks cannot be claimed at once: 1 to {MOST} can"
            )));
        }
        // The checks of any lease.
        let name = Name::new("claim").map_err(|error| fatal(error.to_string()))?;
        Acquire::new(name, self.uuid, self.lease)
            .owner(self.owner.as_str())
            .check()
    }
}

impl Ending {
    /// The output as JSON text, if there is one and it can be kept.
    ///
    /// # Errors
    /// [`Fatal`](dlock_core::ErrorKind::Fatal) if it is too large, nests too deep or has a NUL.
    pub fn check(&self) -> Result<Option<String>, ProviderError> {
        match &self.how {
            How::Complete(output) => payload("output", output).map(Some),
            _ => Ok(None),
        }
    }
}

/// A checkpoint as JSON text.
///
/// # Errors
/// [`Fatal`](dlock_core::ErrorKind::Fatal) if it is larger than [`NewTask::MAX_CHECKPOINT`], nests too deep or has a NUL.
pub fn checkpoint(checkpoint: &Value) -> Result<String, ProviderError> {
    sized("checkpoint", checkpoint, NewTask::MAX_CHECKPOINT)
}

/// Checks the name of a schedule.
///
/// # Errors
/// [`Fatal`](dlock_core::ErrorKind::Fatal) unless it has 1 to 128 bytes and no NUL.
pub fn schedule(name: &str) -> Result<(), ProviderError> {
    text("name of a schedule", name, 128)
}

/// If the clock is further than this behind an instant that was served, the clock was wrong when it was served.
pub const WRONG_CLOCK: Duration = Duration::from_secs(86_400);

/// Checks that there are not too many tasks in one call.
///
/// # Errors
/// [`Fatal`](dlock_core::ErrorKind::Fatal) if there are more than 10,000.
pub fn many(number: usize) -> Result<(), ProviderError> {
    if number <= MOST {
        return Ok(());
    }
    Err(fatal(format!(
        "{number} tasks are too many for one call: split them into parts of at most {MOST}"
    )))
}

/// Checks the name of a queue.
///
/// # Errors
/// [`Fatal`](dlock_core::ErrorKind::Fatal) unless it has 1 to 128 bytes and no NUL.
pub fn queue(name: &str) -> Result<(), ProviderError> {
    text("name of a queue", name, 128)
}

/// Checks the limit of a queue.
///
/// # Errors
/// [`Fatal`](dlock_core::ErrorKind::Fatal) if it is 0.
pub fn limit(limit: Option<u32>) -> Result<(), ProviderError> {
    match limit {
        Some(0) => Err(fatal(
            "a queue with a limit of 0 would never run a task: pause it instead".to_owned(),
        )),
        _ => Ok(()),
    }
}

fn text(what: &str, text: &str, most: usize) -> Result<(), ProviderError> {
    if text.contains('\0') {
        return Err(fatal(format!(
            "the {what} must not contain a NUL character"
        )));
    }
    if (1..=most).contains(&text.len()) {
        return Ok(());
    }
    let bytes = text.len();
    Err(fatal(format!(
        "the {what} has {bytes} bytes: 1 to {most} are possible"
    )))
}

fn payload(what: &str, value: &Value) -> Result<String, ProviderError> {
    sized(what, value, NewTask::MAX_PAYLOAD)
}

fn sized(what: &str, value: &Value, most: usize) -> Result<String, ProviderError> {
    let text = value.to_string();
    let look = json::look(&text).map_err(|error| fatal(format!("the {what}: {error}")))?;
    if look.depth > json::MAX_DEPTH {
        return Err(fatal(format!("the {what}: {}", json::too_deep())));
    }
    if look.has_nul {
        return Err(fatal(format!(
            "the {what} contains a NUL character, which not every store can keep"
        )));
    }
    if text.len() <= most {
        return Ok(text);
    }
    let bytes = text.len();
    Err(fatal(format!(
        "the {what} has {bytes} bytes of JSON: at most {most} are kept; put it elsewhere, and its place here"
    )))
}

fn fatal(trouble: String) -> ProviderError {
    ProviderError::fatal(trouble)
}
