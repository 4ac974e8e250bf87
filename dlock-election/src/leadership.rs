//! What work gets: the leadership it runs under.

use std::{fmt, sync::Arc, time::Duration};

use dlock_core::{FencingToken, LeaseView};
use tokio::sync::{Notify, watch};

use crate::label::Label;

/// One instance's leadership, from its gain to its end. Cheap to clone; it watches and keeps nothing
/// alive.
#[derive(Clone)]
pub struct Leadership {
    token: FencingToken,
    /// `None`: without a store nobody takes it away.
    watch: Option<LeaseView>,
    stage: Arc<watch::Sender<Stage>>,
    resign: Arc<Notify>,
    label: Label,
}

/// How far it has come, in this order.
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

    /// The fencing token of this leadership: a later leader's is larger. Hand it to the storage.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.token
    }

    /// Whether this instance still leads, computed from the clock at every call. True means that
    /// nobody else can lead *at this instant*.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.watch
            .as_ref()
            .map_or_else(|| !self.is_over(), LeaseView::is_valid)
    }

    /// How much of the lease is left if no renewal succeeds any more; [`Duration::MAX`] where there
    /// is no lease, zero once the leadership has ended.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        match &self.watch {
            Some(watch) => watch.remaining(),
            None if self.is_over() => Duration::ZERO,
            None => Duration::MAX,
        }
    }

    /// Resolves when this instance resigns or has lost its leadership: time to stop. After a loss the
    /// work is dropped at its next await; when resigning, after a grace time. Borrows nothing.
    ///
    /// # Cancel safety
    /// Cancel safe: it only watches.
    pub fn ending(&self) -> impl Future<Output = ()> + Send + use<> {
        let (lost, mut stage) = (self.lost(), self.stage.subscribe());
        async move {
            tokio::select! {
                biased;
                () = lost => {}
                // The sender lives in a leadership; when none is left, it has ended.
                _ = stage.wait_for(|stage| *stage >= Stage::Ending) => {}
            }
        }
    }

    /// Resolves when this instance does not lead any more, at the deadline at the latest, whatever
    /// the store does. Borrows nothing.
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
        // One elector waits; a request that comes before it does is kept for it.
        self.resign.notify_one();
    }

    /// Resolves when this process wants to resign.
    pub(crate) async fn resigning(&self) {
        self.resign.notified().await;
    }

    /// Which election's it is, for those who observe.
    pub(crate) const fn label(&self) -> &Label {
        &self.label
    }

    /// The lease that it rests on, for programs that end things by themselves; `None` without a store.
    #[must_use]
    pub fn view(&self) -> Option<&LeaseView> {
        self.watch.as_ref()
    }

    /// Tells the work that it has to end.
    pub(crate) fn end(&self) {
        self.reach(Stage::Ending);
    }

    /// This instance does not lead any more.
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
