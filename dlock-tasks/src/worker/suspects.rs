//! Tasks that may kill their worker, and with it an attempt of every task that runs next to them (J1).
//!
//! A task that was lost twice in a row is a suspect: once is what a power cut, or the neighbour of a task that kills,
//! costs. A worker that gets suspects keeps the first, gives the others back, and claims nothing until this one has ended
//! or has run alone for a time. Before it starts, the other tasks have ended or have run for as long. That time doubles
//! with each further loss, so what needs a minute to kill its worker is found too, and a worker whose tasks are suspects
//! without guilt soon runs all of them.

use std::{mem, time::Duration};

use tokio::{
    sync::oneshot,
    task::AbortHandle,
    time::{Instant, timeout},
};

use crate::{ClaimedTask, Ending, How, TaskStore};

/// From so many losses in a row on a task is a suspect.
const LOSSES: u32 = 2;
/// How long it runs alone then, and after many more.
const SHORTEST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(3600);

/// How long a task runs alone that was lost so often in a row. `None`: it is no suspect.
pub(super) fn alone(lost: u32) -> Option<Duration> {
    let further = lost.checked_sub(LOSSES)?;
    let doubled = SHORTEST.saturating_mul(2_u32.saturating_pow(further));
    Some(doubled.min(LONGEST))
}

/// Gives all suspects of a claim back but the first: claimed, they would lose an attempt with it. Returns the endings that
/// the store did not take within the patience.
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
    /// `None`: its handler was begun.
    turn: Option<oneshot::Sender<()>>,
    alone: Duration,
    until: Instant,
}

impl Suspect {
    /// A task that waits for its turn while others run, the newest of them since then.
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

    /// Until when it waits for the others, or they for it, if nothing ends before.
    pub(super) const fn until(&self) -> Instant {
        self.until
    }

    /// Begins it if it may. Whether it still keeps others from starting; so many run.
    pub(super) fn keeps_others(&mut self, running: usize) -> bool {
        if self.task.is_finished() {
            return false;
        }
        let now = Instant::now();
        let is_over = self.until <= now;
        if let Some(turn) = self.turn.take_if(|_| running <= 1 || is_over) {
            self.until = now + self.alone;
            // It may have been lost meanwhile.
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
