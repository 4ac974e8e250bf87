//! Plays a story on the one runtime and the one fixture of a test binary.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use dlock_testkit::{runner::shared_runtime, slow};
use tokio::runtime::Runtime;

use super::{
    Electorate, STORIES,
    voters::{Erase, Erased, Voters},
};

/// The runtime and the fixture that `election_stories!` keeps for its test binary.
#[doc(hidden)]
pub struct Shared(OnceLock<(Runtime, Arc<dyn Erased>)>);

impl Shared {
    /// Nothing started yet.
    #[must_use]
    #[expect(
        clippy::new_without_default,
        reason = "emitted by a macro into a static"
    )]
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }
}

/// Plays one story as a test, with longer leases where it misses a bound of time.
#[doc(hidden)]
pub fn run<E: Electorate>(shared: &'static Shared, name: &str) {
    let Some(story) = STORIES.iter().find(|story| story.name == name) else {
        panic!("there is no story {name}")
    };
    let (runtime, electorate) = shared.0.get_or_init(|| {
        let runtime = shared_runtime();
        let electorate: Arc<dyn Erased> = Arc::new(Erase(runtime.block_on(E::start())));
        (runtime, electorate)
    });
    let leases = slow::leases(E::LEASE, 3);
    let voters = |lease| Voters::new(Arc::clone(electorate), name, lease);
    runtime.block_on(slow::rounds(leases, |lease| (story.play)(voters(lease))));
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("started", &self.0.get().is_some())
            .finish()
    }
}
