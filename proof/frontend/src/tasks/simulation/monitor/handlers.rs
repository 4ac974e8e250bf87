//! The life of handlers: they begin, answer, and are dropped (J1, J2).

use dlock_tasks::{ClaimKey, Context, TaskId};
use tokio::time::Instant;

use super::{Held, Life, Monitor, ProcessId, State};
use crate::tasks::simulation::plan::How;

/// A handler at work. Dropping it is the handler's end.
pub(in crate::tasks::simulation) struct Attempt {
    monitor: Monitor,
    key: ClaimKey,
}

impl Monitor {
    /// A handler begins.
    pub(in crate::tasks::simulation) fn begins(
        &self,
        process: ProcessId,
        context: &Context,
        found: u64,
    ) -> Attempt {
        self.state().begins(process, context, found);
        Attempt {
            monitor: self.clone(),
            key: *context.key(),
        }
    }
}

impl Attempt {
    /// The handler answers in this instant.
    pub(in crate::tasks::simulation) fn answers(&self, how: How) {
        let mut state = self.monitor.state();
        state.figures.panics += u64::from(how == How::Panics);
        let valid = state.running.get(&place(&self.key));
        let valid = valid.is_some_and(|(_, context)| context.is_valid());
        if let Some(held) = state.attempts.get_mut(&self.key) {
            // A claim that is lost in this instant counts as lost.
            held.answer = valid.then_some(how);
        }
    }

    /// The store has confirmed that this step is stored.
    pub(in crate::tasks::simulation) fn kept(&self, step: u64) {
        let mut state = self.monitor.state();
        let kept = state.kept.entry(self.key.id).or_default();
        kept.push((self.key.token.get(), step));
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.monitor.state().dropped(&self.key);
    }
}

fn place(key: &ClaimKey) -> (TaskId, u64) {
    (key.id, key.token.get())
}

impl State {
    fn begins(&mut self, process: ProcessId, context: &Context, found: u64) {
        let key = *context.key();
        let (id, token) = (key.id, key.token);
        self.figures.attempts += 1;
        self.figures.checkpoints_found += u64::from(found > 0);
        let held = Held {
            process,
            began: Instant::now(),
            answer: None,
            is_over: false,
            attempt: context.attempt(),
        };
        self.running.insert(place(&key), (key, context.clone()));
        if self.attempts.insert(key, held).is_some() {
            self.complain("A2", format!("task {id}, token {token} has two handlers"));
        }
        let of = &mut self.processes[process.0];
        of.running += 1;
        let (running, most) = (of.running, of.plan.concurrency);
        if running > most {
            self.complain("J2", format!("{running} handlers run, not {most}"));
        }
        let kept = self.kept.get(&id).into_iter().flatten();
        let earlier = kept.filter(|(by, _)| *by < token.get());
        let most = earlier.map(|(_, step)| *step).max().unwrap_or(0);
        if found < most {
            self.complain(
                "K5",
                format!("task {id}, token {token} found step {found}, and {most} was kept"),
            );
        }
    }

    fn dropped(&mut self, key: &ClaimKey) {
        self.running.remove(&place(key));
        let Some(held) = self.attempts.get(key) else {
            return;
        };
        let (process, answered, began) = (held.process, held.answer, held.began);
        let of = &mut self.processes[process.0];
        of.running -= 1;
        if answered.is_some() || matches!(of.life, Life::Dead | Life::Over) {
            return;
        }
        if of
            .plan
            .timeout
            .is_some_and(|limit| began.elapsed() >= limit)
        {
            self.figures.timeouts += 1;
        } else if of.life == Life::On {
            self.figures.losses += 1;
            if self.is_calm(process) && !self.cancelled.contains(&key.id) {
                let (id, token) = (key.id, key.token);
                self.complain(
                    "R1",
                    format!("task {id}, token {token} is lost, though no fault struck its worker {process:?}"),
                );
            }
        }
    }
}
