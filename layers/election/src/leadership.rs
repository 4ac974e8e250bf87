//! The leadership that work runs under.

use std::{fmt, sync::Arc, time::Duration};

use dlock_core::{FencingToken, LeaseView};
use tokio::sync::{Notify, watch};

use crate::label::Label;

/// One instance's leadership, from its gain to its end. Cheap to clone; it watches and keeps nothing
/// alive.
#[derive(Clone)]
pub struct Leadership {
    token: FencingToken,
    /// `None` without a store, where no other instance can take the leadership away.
    watch: Option<LeaseView>,
    stage: Arc<watch::Sender<Stage>>,
    resign: Arc<Notify>,
    label: Label,
}

/// The phases of a leadership, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Leading,
    /// The work has to end, and is still protected.
    Ending,
    Over,
}

impl Leadership {
    pub(crate) fn new(token: FencingToken, watch: Option<LeaseView>, label: &Label) -> Self {
        Self {
            token,
            watch,
            stage: Arc::new(watch::Sender::new(Stage::Leading)),
            resign: Arc::default(),
            label: label.clone(),
        }
    }

    /// The fencing token of this leadership: a later leader's is larger. Pass it to the storage.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.token
    }

    /// Whether this instance still leads, computed from the clock at every call. True means that no other instance can
    /// lead *at this instant*.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.watch
            .as_ref()
            .map_or_else(|| !self.is_over(), LeaseView::is_valid)
    }

    /// How much of the lease remains if no further renewal succeeds; [`Duration::MAX`] without a lease, zero once the
    /// leadership has ended.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        match &self.watch {
            Some(watch) => watch.remaining(),
            None if self.is_over() => Duration::ZERO,
            None => Duration::MAX,
        }
    }

    /// Resolves when this instance resigns or has lost its leadership: the work should stop. After a loss, the work is
    /// dropped at its next await; after a resignation, when the grace time has passed. Borrows nothing.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn ending(&self) -> impl Future<Output = ()> + Send + use<> {
        let (lost, mut stage) = (self.lost(), self.stage.subscribe());
        async move {
            tokio::select! {
                biased;
                () = lost => {}
                // The sender lives in the leadership; if it is gone, the leadership has ended.
                _ = stage.wait_for(|stage| *stage >= Stage::Ending) => {}
            }
        }
    }

    /// Resolves when this instance no longer leads, at the deadline at the latest, whatever the store does. Borrows
    /// nothing.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn lost(&self) -> impl Future<Output = ()> + Send + use<> {
        let watch = self.watch.clone();
        let mut stage = self.stage.subscribe();
        async move {
            match watch {
                Some(watch) => drop(watch.ended().await),
                None => drop(stage.wait_for(|stage| *stage == Stage::Over).await),
            }
        }
    }

    /// Makes this instance resign; see [`Election::resign`](crate::Election::resign). Does nothing
    /// once this leadership has ended.
    pub fn resign(&self) {
        // Only the elector waits; a request that comes before it waits is kept.
        self.resign.notify_one();
    }

    /// Resolves when this process wants to resign.
    pub(crate) async fn resigning(&self) {
        self.resign.notified().await;
    }

    /// The label of its election, for metrics.
    pub(crate) const fn label(&self) -> &Label {
        &self.label
    }

    /// The lease under this leadership, for programs that end their work themselves; `None` without a store.
    #[must_use]
    pub fn view(&self) -> Option<&LeaseView> {
        self.watch.as_ref()
    }

    /// Notifies the work that it has to end.
    pub(crate) fn end(&self) {
        self.reach(Stage::Ending);
    }

    /// Marks that this instance no longer leads.
    pub(crate) fn over(&self) {
        self.reach(Stage::Over);
    }

    fn reach(&self, stage: Stage) {
        self.stage.send_if_modified(|reached| {
            let later = stage > *reached;
            *reached = stage.max(*reached);
            later
        });
    }

    fn is_over(&self) -> bool {
        *self.stage.borrow() == Stage::Over
    }
}

impl fmt::Debug for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leadership")
            .field("token", &self.token)
            .field("valid", &self.is_valid())
            .finish_non_exhaustive()
    }
}
