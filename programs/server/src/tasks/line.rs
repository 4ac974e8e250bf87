//! Claims that wait for the same tasks, in line.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use dlock_tasks::Claim;

use super::hints::Wanted;
use crate::hints::Listener;

/// The lines, by the tasks they wait for.
#[derive(Default)]
pub(super) struct Lines(Mutex<HashMap<Wanted, Weak<Line>>>);

/// The turn, and what the first in line listens to. A mutex of tokio admits its waiters in their order.
pub(super) type Line = tokio::sync::Mutex<Option<Listener>>;

impl Lines {
    /// The line for the tasks that this claim wants.
    pub(super) fn of(&self, claim: &Claim) -> Arc<Line> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.retain(|_, line| line.strong_count() > 0);
        let wanted = Wanted::from(claim);
        if let Some(line) = lines.get(&wanted).and_then(Weak::upgrade) {
            return line;
        }
        let line = Arc::new(Line::default());
        lines.insert(wanted, Arc::downgrade(&line));
        line
    }
}
