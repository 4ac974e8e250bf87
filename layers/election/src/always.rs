//! A coordinator for one process without a store: it always leads, with the same work and the same events.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use async_trait::async_trait;
use dlock_core::FencingToken;
use tokio::sync::Mutex as Turn;

use crate::{
    Coordinator, Leadership, Reason, RunError, Shutdown, Transition, Transitions, Work,
    announcer::Announcer, jobs::Works, label::Label, observe,
};

/// Leads from the start of [`Coordinator::run`] to its end, without a store: for development on one machine. **Two
/// processes that each have one both lead.**
pub struct AlwaysLeader {
    token: FencingToken,
    label: Label,
    works: Works,
    announcer: Announcer,
    running: Turn<()>,
    leadership: Mutex<Option<Leadership>>,
}

impl AlwaysLeader {
    /// A coordinator that leads. Its token is the wall clock in microseconds, like the first token of a store, so that
    /// it grows from run to run as long as that clock does.
    #[must_use]
    pub fn new() -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "no decision depends on it: where no other instance leads, the token only has to grow"
        )]
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .ok()
            .and_then(|since| u64::try_from(since.as_micros()).ok())
            .and_then(FencingToken::new);
        // This election has no name.
        let label = Label::new("always");
        Self {
            token: now.unwrap_or(FencingToken::MAX),
            works: Works::new(&label),
            announcer: Announcer::new(&label),
            label,
            running: Turn::new(()),
            leadership: Mutex::new(None),
        }
    }

    fn set(&self, leadership: Option<Leadership>) {
        *self
            .leadership
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = leadership;
    }
}

#[async_trait]
impl Coordinator for AlwaysLeader {
    fn leadership(&self) -> Option<Leadership> {
        self.leadership
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
            .filter(Leadership::is_valid)
    }

    fn transitions(&self) -> Transitions {
        self.announcer.listen()
    }

    fn add(&self, work: Work) {
        self.works.add(work);
    }

    async fn run(&self, mut shutdown: Shutdown) -> Result<(), RunError> {
        /// How long work may take to end on its own: as long as under an election's default lease.
        const GRACE: std::time::Duration = std::time::Duration::from_secs(10);
        let _turn = self
            .running
            .try_lock()
            .map_err(|_| RunError::AlreadyRunning)?;
        observe::takes_part(&self.label, None);
        self.works.show();
        let token = self.token;
        let leadership = Leadership::new(token, None, &self.label);
        let reign = Reign::begin(self, &leadership);
        let mut jobs = self.works.under(&leadership, None);
        self.announcer.tell(Transition::Gained { token });
        tokio::select! {
            biased;
            () = &mut shutdown => {}
            () = jobs.run() => {}
            () = observe::watch(&self.label, &leadership) => {}
        }
        leadership.end();
        jobs.finish(GRACE).await;
        drop(reign);
        self.announcer.tell(Transition::Resigned {
            token,
            reason: Reason::Shutdown,
        });
        Ok(())
    }
}

/// The coordinator leads until this is dropped.
struct Reign<'a>(&'a AlwaysLeader, Leadership);

impl<'a> Reign<'a> {
    fn begin(always: &'a AlwaysLeader, leadership: &Leadership) -> Self {
        always.set(Some(leadership.clone()));
        Self(always, leadership.clone())
    }
}

impl Drop for Reign<'_> {
    fn drop(&mut self) {
        self.1.over();
        self.0.set(None);
        observe::leads_no_more(&self.0.label);
    }
}

impl Default for AlwaysLeader {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for AlwaysLeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlwaysLeader")
            .field("leadership", &self.leadership())
            .finish_non_exhaustive()
    }
}
