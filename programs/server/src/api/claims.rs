//! Which claim a processor means, and what is stored about it.
//!
//! The sample's workers send their name and the number of the task, and all of them may use one name. So a name does
//! not distinguish a claim from a later claim of the same task: a worker that was paused would continue concurrently
//! with its successor. `next` answers the token of the claim as `claim`, and a request that carries it means that
//! claim. For requests without it, the server stores with the task (as the checkpoint for its next attempt) which names
//! have had it. Where the name of a claim has had the task before, a request without `claim` is refused as ambiguous,
//! and nothing is guessed.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use dlock_core::{FencingToken, Name, Record};
use dlock_http::{Code, Problem, Time};
use dlock_tasks::{ClaimKey, ClaimedTask, Kept, Task, TaskId, TaskStore};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::QUEUE;
use crate::{asking::Asking, problem::Refusal};

/// The longest name of a processor, in bytes: it is stored with the task, where there is room for 4 KiB.
pub(super) const LONGEST_NAME: usize = 256;

/// How many names are stored with a task, as hashes.
const MOST_BEFORE: usize = 64;

/// The note about a claim, and about those before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Note {
    /// The claim.
    pub(super) token: FencingToken,
    pub(super) processor: String,
    /// By the store's clock, like the next one.
    pub(super) started_at: Time,
    pub(super) last_heartbeat_at: Time,
    /// Hashes of the names that have had the task before; `None` if they are not known.
    before: Option<Vec<u64>>,
    /// The processor may have had it before.
    ambiguous: bool,
}

impl Note {
    /// The note in a task's checkpoint, if it is one.
    pub(super) fn of(task: &Task) -> Option<Self> {
        Self::read(task.checkpoint.as_ref())
    }

    fn read(checkpoint: Option<&serde_json::Value>) -> Option<Self> {
        Self::deserialize(checkpoint?).ok()
    }

    fn new(claimed: &ClaimedTask, processor: &str, since: SystemTime) -> Self {
        let before = match Self::read(claimed.checkpoint.as_ref()) {
            Some(last) => last.before.and_then(|mut before| {
                before.push(hash(&last.processor));
                (before.len() <= MOST_BEFORE).then_some(before)
            }),
            None => (claimed.attempt == 1).then(Vec::new),
        };
        let own = hash(processor);
        Self {
            token: claimed.key.token,
            processor: processor.to_owned(),
            started_at: Time(since),
            last_heartbeat_at: Time(since),
            ambiguous: before.as_ref().is_none_or(|before| before.contains(&own)),
            before,
        }
    }
}

/// The beginning of a name's SHA-256. Two names with the same hash are treated as one, which is safe.
fn hash(name: &str) -> u64 {
    let hash = Sha256::digest(name);
    hash.iter()
        .take(8)
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Stores whose claim it is. For a repeated claim that changes nothing: its checkpoint with this number exists already.
pub(super) async fn keep(
    service: &Asking,
    claimed: &ClaimedTask,
    processor: &str,
) -> Result<(), Refusal> {
    let record = record(service, &claimed.key).await?;
    let note = Note::new(claimed, processor, record.since);
    match checkpoint(service, claimed.key, 1, &note).await? {
        Kept::Kept => Ok(()),
        _ => Err(over()),
    }
}

/// Stores when a claim was renewed, for people. A claim that has ended meanwhile, and a later heartbeat of another
/// request, make no difference.
pub(super) async fn beaten(
    service: &Asking,
    found: Found,
    number: u64,
    at: SystemTime,
) -> Result<(), Refusal> {
    let Found { key, mut note, .. } = found;
    note.last_heartbeat_at = Time(at);
    // The checkpoint of the claim itself was the first.
    checkpoint(service, key, number + 1, &note).await.map(drop)
}

async fn checkpoint(
    service: &Asking,
    key: ClaimKey,
    number: u64,
    note: &Note,
) -> Result<Kept, Refusal> {
    let note = serde_json::to_value(note).unwrap_or_default();
    let limit = service.0.limits.call_time;
    let checkpoint =
        |store: Arc<dyn TaskStore>| async move { store.checkpoint(&key, number, &note).await };
    service.ask_tasks(limit, checkpoint).await
}

/// The record of a claim.
async fn record(service: &Asking, key: &ClaimKey) -> Result<Record, Refusal> {
    let name = name(key.id, key.token)?;
    let limit = service.0.limits.call_time;
    let read = |store: Arc<dyn TaskStore>| async move { store.claims().read(&name).await };
    service.ask_tasks(limit, read).await?.ok_or_else(over)
}

/// A claim, as its store has it.
pub(super) struct Found {
    pub(super) key: ClaimKey,
    pub(super) renewals: u64,
    pub(super) note: Note,
}

/// The claim that a processor means.
pub(super) async fn find(
    service: &Asking,
    id: TaskId,
    processor: &str,
    claim: Option<FencingToken>,
) -> Result<Found, Refusal> {
    let task = task(service, id).await?;
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
            return Err(lost(
                "this claim has ended: the task was claimed again since",
            ));
        }
        None if note.ambiguous => {
            let detail = "more than one worker of this name may have claimed the task: send the claim that 'next' answered";
            return Err(Refusal::new(Code::Ambiguous, detail));
        }
        _ => {}
    }
    if holder.remaining == Duration::ZERO {
        return Err(over());
    }
    let token = holder.token;
    let record = record(service, &ClaimKey::new(id, Uuid::nil(), token)).await?;
    Ok(Found {
        key: ClaimKey::new(id, record.uuid, token),
        renewals: record.renewals,
        note,
    })
}

/// A task of this interface.
pub(super) async fn task(service: &Asking, id: TaskId) -> Result<Task, Refusal> {
    let limit = service.0.limits.call_time;
    let task = service
        .ask_tasks(limit, |store| async move { store.task(id).await })
        .await?;
    task.filter(|task| task.queue == QUEUE)
        .ok_or_else(|| Refusal::new(Code::NotFound, "there is no such task"))
}

pub(super) fn name(id: TaskId, token: FencingToken) -> Result<Name, Refusal> {
    let name = ClaimKey::new(id, Uuid::nil(), token).name().to_string();
    Name::new(name).map_err(|_| Code::Fatal.into())
}

pub(super) fn over() -> Refusal {
    lost("the lease of the task has run out")
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

    fn note(claimed: &ClaimedTask, processor: &str) -> Note {
        Note::new(claimed, processor, SystemTime::UNIX_EPOCH)
    }

    /// Whether each of these claims, in turn, is ambiguous.
    fn ambiguous(processors: &[&str]) -> Vec<bool> {
        let (mut last, mut seen) = (None, Vec::new());
        for (processor, attempt) in processors.iter().zip(1..) {
            let note = note(&claimed(attempt, last), processor);
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
        assert!(note(&claimed(2, None), "a").ambiguous);
        assert!(note(&claimed(2, Some("theirs".into())), "a").ambiguous);
        assert!(!note(&claimed(1, Some("theirs".into())), "a").ambiguous);
        let many: Vec<_> = (0..100)
            .map(|number| format!("{number:03}").repeat(LONGEST_NAME / 3))
            .collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        let seen = ambiguous(&many);
        assert!(seen[..=MOST_BEFORE].iter().all(|is| !is), "{seen:?}");
        assert!(seen[MOST_BEFORE + 1..].iter().all(|is| *is), "{seen:?}");
        // Each of its bytes takes six in JSON.
        assert_eq!(
            ambiguous(&["\u{1}".repeat(LONGEST_NAME).as_str(); 3]),
            [false, true, true]
        );
    }
}
