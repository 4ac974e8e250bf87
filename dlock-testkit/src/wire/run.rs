//! Runs a case on the one runtime and the one fixture of a test binary.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock},
    thread,
};

use tokio::runtime::Runtime;

use super::{
    CASES, Case, Wired,
    wiring::{Erase, Erased, Wiring},
};
use crate::{runner::shared_runtime, slow};

/// The runtime and the fixture that `wire_conformance!` keeps for its test binary.
#[doc(hidden)]
pub struct Shared(OnceLock<(Runtime, Arc<dyn Erased>)>);

/// Runs one case as a test.
#[doc(hidden)]
pub fn run<W: Wired>(shared: &Shared, name: &str) {
    let Some(case) = CASES.iter().find(|case| case.name == name) else {
        panic!("there is no case {name}")
    };
    let (runtime, fixture) = shared.0.get_or_init(|| {
        let runtime = shared_runtime();
        let fixture: Arc<dyn Erased> = Arc::new(Erase(runtime.block_on(W::start())));
        (runtime, fixture)
    });
    runtime.block_on(one::<W>(Arc::clone(fixture), case, 4));
}

/// Runs every case of the suite except these, concurrently, on one fixture: for drivers that some cases do not fit. The
/// property of each case left out then needs a test of its own.
///
/// # Panics
/// If cases fail, with their names; or if a name is not that of a case.
pub fn run_all_but<W: Wired>(left_out: &[&str]) {
    for name in left_out {
        let is_case = CASES.iter().any(|case| case.name == *name);
        assert!(is_case, "{name} is no case");
    }
    let shared = Shared::new();
    let failed: Vec<_> = thread::scope(|scope| {
        let played = CASES.iter().filter(|case| !left_out.contains(&case.name));
        let played: Vec<_> = played
            .map(|case| {
                let play = || run::<W>(&shared, case.name);
                // The reports of a case carry the name of its thread.
                let thread = thread::Builder::new().name(case.name.to_owned());
                match thread.spawn_scoped(scope, play) {
                    Ok(play) => (case.name, play),
                    Err(error) => panic!("no thread for {}: {error}", case.name),
                }
            })
            .collect();
        let failed = played
            .into_iter()
            .filter_map(|(name, play)| play.join().err().map(|_| name));
        failed.collect()
    });
    assert!(failed.is_empty(), "{failed:?}");
}

/// Runs one case on its own fixture, and returns the message if it panicked. With it, drivers that have a bug prove the
/// suite. Panics are reported through the process's panic hook as well.
///
/// # Errors
/// The panic's message.
pub fn caught<W: Wired>(start: impl Future<Output = W>, case: &'static Case) -> Result<(), String> {
    let run = AssertUnwindSafe(|| {
        let runtime = shared_runtime();
        let fixture = Arc::new(Erase(runtime.block_on(start)));
        // Fewer rounds for a slow machine: here a failure is expected.
        runtime.block_on(one::<W>(fixture, case, 2));
        // Remaining tasks of a bad driver may hang.
        runtime.shutdown_background();
    });
    catch_unwind(run).map_err(|panic| {
        let words = slow::message(&*panic);
        words.unwrap_or("a panic without words").to_owned()
    })
}

/// Runs one case within its time limit, in at most `rounds` rounds.
async fn one<W: Wired>(fixture: Arc<dyn Erased>, case: &'static Case, rounds: u32) {
    let leases = slow::leases(W::LEASE, rounds);
    let wiring = |lease| Wiring::new(Arc::clone(&fixture), case.name, lease);
    slow::rounds_within(W::LIMIT, case.name, leases, |lease| {
        (case.run)(wiring(lease))
    })
    .await;
}

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

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("started", &self.0.get().is_some())
            .finish()
    }
}
