//! The handler of errands.

use std::{io, sync::Arc, time::Duration};

use dlock_tasks::{ClaimKey, Context, NewTask, Stop};
use tokio::time::sleep;

use super::{
    QUEUE,
    database::{Completion, QueueDatabase},
    note::{Notes, What},
    payload::{How, JobPayload},
};
use crate::storage::{Answer, StorageClient};

/// The time between two checks of the claim by a handler.
const LOOKS: Duration = Duration::from_millis(20);
/// The pause after a failed attempt.
const SOON: Duration = Duration::from_millis(50);
/// The number of steps of an errand that has some.
const STEPS: u64 = 4;

/// The state that all handlers of a process share.
#[derive(Debug)]
pub(super) struct Desk<S> {
    pub(super) shop: S,
    pub(super) notes: Notes,
    pub(super) process: String,
    pub(super) storage: std::net::SocketAddr,
}

/// One attempt.
pub(super) async fn handle<S: QueueDatabase>(
    desk: Arc<Desk<S>>,
    context: Context,
    errand: JobPayload,
) -> Result<u64, Stop> {
    let (attempt, found) = (context.attempt(), context.checkpoint()?.unwrap_or(0));
    desk.notes
        .note(Some(context.key()), What::Began { attempt, found });
    desk.stay(&context, Duration::from_millis(errand.takes))
        .await;
    match errand.how {
        How::Panics if attempt == 1 => panic!("this errand panics once"),
        How::Steps => {
            for step in found + 1..=STEPS {
                desk.keep(&context, step).await?;
                desk.stay(&context, 2 * LOOKS).await;
            }
        }
        How::Snoozes if found == 0 => {
            desk.keep(&context, 1).await?;
            desk.notes.note(Some(context.key()), What::Snoozed);
            return Err(Stop::Snooze(4 * SOON));
        }
        _ => {}
    }
    // Spawned as a task: like a step that a process is in the middle of when it is paused, it continues
    // when the handler is dropped. The tokens have to stop it.
    let step = tokio::spawn(
        Arc::clone(&desk).write(*context.key(), errand.within && errand.how.is_done(attempt)),
    );
    let written = step.await.map_err(Stop::from)?;
    match errand.how {
        How::Discards => Err(Stop::discard("not to be done")),
        how if how.is_done(attempt) => written
            .map(|()| context.token().get())
            .map_err(|error| Stop::retry_in(SOON, error)),
        _ => Err(Stop::retry_in(SOON, "this attempt fails")),
    }
}

impl How {
    /// Whether this attempt completes the errand.
    const fn is_done(self, attempt: u32) -> bool {
        match self {
            Self::FailsTwice => attempt > 2,
            Self::Fails | Self::Discards => false,
            _ => true,
        }
    }
}

impl<S: QueueDatabase> Desk<S> {
    /// Works for this time, and checks now and then whether the claim is still its own.
    async fn stay(&self, context: &Context, time: Duration) {
        let mut left = time;
        loop {
            let before = self.notes.now();
            let valid = context.is_valid();
            let to = self.notes.now();
            let look = What::Look { valid, to };
            self.notes.note_at(before, Some(context.key()), look);
            if left.is_zero() {
                return;
            }
            sleep(left.min(LOOKS)).await;
            left = left.saturating_sub(LOOKS);
        }
    }

    async fn keep(&self, context: &Context, step: u64) -> Result<(), Stop> {
        // Soon: after ten attempts that faults have ended, the usual wait is ten minutes.
        let kept = context.keep(&step).await;
        kept.map_err(|error| Stop::retry_in(SOON, error))?;
        self.notes.note(Some(context.key()), What::Kept { step });
        Ok(())
    }

    /// Writes the effect: to the account that checks no tokens and to the one that does; and, if it is `within`, in
    /// the transaction that completes the task.
    async fn write(
        self: Arc<Self>,
        key: ClaimKey,
        within: bool,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        self.account(&key, within).await?;
        if !within {
            return Ok(());
        }
        let next = NewTask::of(&JobPayload::after(key.id.get()))?
            .queue(QUEUE)
            .build();
        match self.shop.complete(key, next).await? {
            Completion::Done => {
                self.notes.note(Some(&key), What::Completed);
                Ok(())
            }
            Completion::Refused => {
                self.notes.note(Some(&key), What::Refused);
                Err("the claim was over".into())
            }
        }
    }

    /// Adds one to both accounts of the task. A refused token stops nothing here: whatever follows has
    /// to be refused, too.
    async fn account(&self, key: &ClaimKey, blind: bool) -> io::Result<()> {
        let (task, token) = (key.id.to_string(), key.token.get());
        let mut door = StorageClient::new(self.storage, &format!("{}/{task}", self.process));
        let fenced = door.read(&task, true, token, false).await?;
        if let Answer::Value(read) = door.read(&task, false, token, blind).await? {
            sleep(SOON / 10).await;
            door.write(&task, false, token, read).await?;
        }
        if let Answer::Value(read) = fenced {
            door.write(&task, true, token, read).await?;
        }
        Ok(())
    }
}
