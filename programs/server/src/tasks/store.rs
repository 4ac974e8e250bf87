//! A store of tasks, and the claims that wait for them.

use std::sync::Arc;

use dlock_tasks::TaskStore;

use super::{hints::Hints, line::Lines};

/// A store of tasks, and the claims that wait for them.
pub(crate) struct Tasks {
    pub(crate) store: Arc<dyn TaskStore>,
    pub(super) hints: Hints,
    pub(super) lines: Lines,
}

impl Tasks {
    pub(crate) fn new(store: Arc<dyn TaskStore>) -> Self {
        Self {
            hints: Hints::new(Arc::clone(&store)),
            lines: Lines::default(),
            store,
        }
    }
}
