//! Which claim a processor means, and what is kept of it.
//!
//! The sample's workers name themselves and the task, and may all use one name. So a name alone does not tell a claim
//! from a later one of the same task: a worker that stood still would go on beside its successor. `next` answers the
//! claim's token as `claim`, and who sends it back is sure to mean that claim. Of who does not, it is known whether the
//! name has had this task before: with the task, as the checkpoint for its next attempt, is kept who had it. If so, the
//! request is refused as ambiguous, and nothing is guessed.

use std::time::Duration;

use dlock_core::{FencingToken, Name};
use dlock_http::{Code, Problem, Time};
use dlock_tasks::{ClaimKey, ClaimedTask, Kept, Task, TaskId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{QUEUE, now};
use crate::{Service, calls::Class, problem::Refusal};

/// How many bytes of names of processors are kept with a task.
const ROOM: usize = 3_000;

/// What is kept of a claim, and of those before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Note {
    /// The claim.
    pub(super) token: FencingToken,
    pub(super) processor: String,
    pub(super) started_at: Time,
    /// Who has had the task before, each once.
    before: Vec<String>,
    /// The processor may have had it before.
    ambiguous: bool,
}

impl Note {
    /// What a task's checkpoint says, if it is a note.
    pub(super) fn of(task: &Task) -> Option<Self> {
        Self::read(task.checkpoint.as_ref())
    }

    fn read(checkpoint: Option<&serde_json::Value>) -> Option<Self> {
        Self::deserialize(checkpoint?).ok()
    }

    fn new(claimed: &ClaimedTask, processor: &str) -> Self {
        let last = Self::read(claimed.checkpoint.as_ref());
        let is_known = last.is_some() || claimed.attempt == 1;
        let mut before = last.map_or_else(Vec::new, |last| {
            let mut before = last.before;
            if !before.contains(&last.processor) {
                before.push(last.processor);
            }
            before
        });
        let mut ambiguous = !is_known || before.iter().any(|name| name == processor);
        let room = before.iter().map(|name| name.len() + 16).sum::<usize>() + processor.len();
        if room > ROOM {
            // From now on it is not known who had it.
            before = vec![String::new()];
            ambiguous = true;
        }
        ambiguous |= before.iter().any(String::is_empty);
        Self {
            token: claimed.key.token,
            processor: processor.to_owned(),
            started_at: Time(now()),
            before,
            ambiguous,
        }
    }
}

/// Keeps of a claim whose it is. Of a repeated one it is kept already, and stays: the number is not larger.
pub(super) async fn keep(
    service: &Service,
    claimed: &ClaimedTask,
    processor: &str,
) -> Result<(), Refusal> {
    let note = serde_json::to_value(Note::new(claimed, processor)).unwrap_or_default();
    let (key, limit) = (claimed.key, service.0.limits.call_time);
    let kept = service
        .ask_tasks(Class::Hold, limit, |store| async move {
            store.checkpoint(&key, 1, &note).await
        })
        .await?;
    match kept {
        Kept::Kept => Ok(()),
        _ => Err(lost("the lease of the task has run out")),
    }
}

/// A claim, as its store has it.
pub(super) struct Found {
    pub(super) key: ClaimKey,
    pub(super) renewals: u64,
}

/// The claim that a processor means.
pub(super) async fn find(
    service: &Service,
    id: TaskId,
    processor: &str,
    claim: Option<FencingToken>,
) -> Result<Found, Refusal> {
    let task = task(service, Class::Hold, id).await?;
    if task.state.has_ended() {
        let detail = format!("the task has been processed: it {}", ended(task.state));
        return Err(Problem::new(Code::Lost)
            .detail(detail)
            .state(Some(task.state))
            .into());
    }
    let not_theirs = || lost("the task is not assigned to this processor");
    let (Some(holder), Some(note)) = (&task.holder, Note::of(&task)) else {
        return Err(not_theirs());
    };
    if holder.owner != processor || note.token != holder.token {
        return Err(not_theirs());
    }
    match claim {
        Some(claim) if claim != holder.token => {
            return Err(lost("this claim is over: the task was claimed again since"));
        }
        None if note.ambiguous => {
            let detail = "more than one worker of this name may have claimed the task: send the claim that 'next' answered";
            return Err(Refusal::new(Code::Ambiguous, detail));
        }
        _ => {}
    }
    let over = || lost("the lease of the task has run out");
    if holder.remaining == Duration::ZERO {
        return Err(over());
    }
    let (token, limit) = (holder.token, service.0.limits.call_time);
    let name = self::name(id, token)?;
    let record = service
        .ask_tasks(Class::Hold, limit, |store| async move {
            store.claims().read(&name).await
        })
        .await?
        .ok_or_else(over)?;
    Ok(Found {
        key: ClaimKey::new(id, record.uuid, token),
        renewals: record.renewals,
    })
}

/// A task of this interface.
pub(super) async fn task(service: &Service, class: Class, id: TaskId) -> Result<Task, Refusal> {
    let limit = service.0.limits.call_time;
    let task = service
        .ask_tasks(class, limit, |store| async move { store.task(id).await })
        .await?;
    task.filter(|task| task.queue == QUEUE)
        .ok_or_else(|| Refusal::new(Code::NotFound, "there is no such task"))
}

pub(super) fn name(id: TaskId, token: FencingToken) -> Result<Name, Refusal> {
    let name = ClaimKey::new(id, Uuid::nil(), token).name().to_string();
    Name::new(name).map_err(|_| Code::Fatal.into())
}

pub(super) fn lost(detail: &str) -> Refusal {
    Refusal::new(Code::Lost, detail)
}

fn ended(state: dlock_tasks::State) -> &'static str {
    match state {
        dlock_tasks::State::Succeeded => "succeeded",
        dlock_tasks::State::Cancelled => "was cancelled",
        _ => "is dead",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn claimed(attempt: u32, checkpoint: Option<Value>) -> ClaimedTask {
        let token = FencingToken::new(u64::from(attempt)).unwrap();
        let key = ClaimKey::new(TaskId::new(1).unwrap(), Uuid::nil(), token);
        ClaimedTask::new(key, QUEUE.to_owned(), "task".to_owned(), Value::Null)
            .attempt(attempt, 1_000)
            .checkpoint(checkpoint)
    }

    /// Whether each of these claims, in turn, is ambiguous.
    fn ambiguous(processors: &[&str]) -> Vec<bool> {
        let (mut last, mut seen) = (None, Vec::new());
        for (processor, attempt) in processors.iter().zip(1..) {
            let note = Note::new(&claimed(attempt, last), processor);
            seen.push(note.ambiguous);
            let kept = serde_json::to_value(note).unwrap();
            assert!(kept.to_string().len() <= dlock_tasks::NewTask::MAX_CHECKPOINT);
            last = Some(kept);
        }
        seen
    }

    #[test]
    fn name_that_has_had_the_task_is_ambiguous() {
        assert_eq!(ambiguous(&["a", "b", "c"]), [false; 3]);
        assert_eq!(ambiguous(&["a", "a"]), [false, true]);
        assert_eq!(
            ambiguous(&["a", "b", "b", "a", "c"]),
            [false, false, true, true, false]
        );
    }

    #[test]
    fn where_it_is_not_known_who_had_it_every_name_is_ambiguous() {
        assert!(Note::new(&claimed(2, None), "a").ambiguous);
        assert!(Note::new(&claimed(2, Some("theirs".into())), "a").ambiguous);
        assert!(!Note::new(&claimed(1, Some("theirs".into())), "a").ambiguous);
        let long: Vec<_> = (0..8)
            .map(|number| format!("{number}").repeat(600))
            .collect();
        let long: Vec<_> = long.iter().map(String::as_str).collect();
        let seen = ambiguous(&long);
        assert!(!seen[0] && seen[7], "{seen:?}");
        let first = seen.iter().position(|is| *is).unwrap();
        assert!(seen[first..].iter().all(|is| *is), "{seen:?}");
    }
}
