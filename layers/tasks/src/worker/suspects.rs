//! Tasks that may kill their worker, which costs every task that runs next to them an attempt.
//!
//! A task that was lost twice in a row is a suspect; a single loss may come from a power cut, or from a neighbour that
//! kills. A worker that gets suspects keeps the first, gives the others back, and claims nothing until this one has
//! ended or has run alone for a time. Before it starts, the other tasks have ended or have run for as long. That time
//! doubles with each further loss, so a task that needs a minute to kill its worker is found too, and a worker whose
//! suspects are innocent soon runs all of them.

use std::{mem, time::Duration};

use tokio::{
    sync::oneshot,
    task::AbortHandle,
    time::{Instant, timeout},
};

use crate::{ClaimedTask, Ending, How, TaskStore};

/// The number of losses in a row from which a task is a suspect.
const LOSSES: u32 = 2;
/// How long it runs alone at that number, and at most.
const SHORTEST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(3600);

/// How long a task runs alone that was lost this many times in a row. `None`: it is not a suspect.
pub(super) fn alone(lost: u32) -> Option<Duration> {
    let further = lost.checked_sub(LOSSES)?;
    let doubled = SHORTEST.saturating_mul(2_u32.saturating_pow(further));
    Some(doubled.min(LONGEST))
}

/// Gives all suspects of a claim back except the first: if they stayed claimed, they would lose an attempt together
/// with it. Returns the endings that the store did not take within the patience.
pub(super) async fn keep_one(
    store: &dyn TaskStore,
    tasks: &mut Vec<ClaimedTask>,
    patience: Duration,
) -> Vec<Ending> {
    let mut is_first = true;
    let others = tasks.extract_if(.., |task| {
        alone(task.lost).is_some() && !mem::take(&mut is_first)
    });
    let endings: Vec<_> = others
        .map(|task| Ending::new(task.key, How::GiveBack))
        .collect();
    if endings.is_empty() {
        return endings;
    }
    match timeout(patience, store.finish(&endings)).await {
        Ok(Ok(_)) => Vec::new(),
        _ => endings,
    }
}

/// The suspect of a worker, from its claim on until others may start.
pub(super) struct Suspect {
    task: AbortHandle,
    /// `None`: its handler has begun.
    turn: Option<oneshot::Sender<()>>,
    alone: Duration,
    until: Instant,
}

impl Suspect {
    /// A task that waits for its turn while others run; the newest of them started at `newest`.
    pub(super) fn new(
        task: AbortHandle,
        turn: oneshot::Sender<()>,
        alone: Duration,
        newest: Instant,
    ) -> Self {
        Self {
            task,
            turn: Some(turn),
            alone,
            until: newest + alone,
        }
    }

    /// The instant until which it waits for the others, or they for it, if none ends before.
    pub(super) const fn until(&self) -> Instant {
        self.until
    }

    /// Begins the suspect if it may begin. Returns whether it still keeps others from starting; `running` tasks run.
    pub(super) fn keeps_others(&mut self, running: usize) -> bool {
        if self.task.is_finished() {
            return false;
        }
        let now = Instant::now();
        let is_over = self.until <= now;
        if let Some(turn) = self.turn.take_if(|_| running <= 1 || is_over) {
            self.until = now + self.alone;
            // The suspect may have been lost meanwhile.
            return turn.send(()).is_ok();
        }
        self.turn.is_some() || !is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_alone_doubles_up_to_an_hour() {
        assert_eq!((alone(0), alone(1)), (None, None));
        for (lost, seconds) in [
            (2, 2),
            (3, 4),
            (7, 64),
            (12, 2048),
            (13, 3600),
            (1000, 3600),
        ] {
            assert_eq!(alone(lost), Some(Duration::from_secs(seconds)), "{lost}");
        }
    }
}
