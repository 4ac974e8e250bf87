//! Runs a case on the one runtime and the one fixture of a test binary.

use std::sync::{Arc, OnceLock};

use tokio::{
    runtime::{Builder, Runtime},
    time::timeout,
};

use super::{
    CASES, Wired,
    wiring::{Erase, Erased, Wiring},
};
use crate::stall;

/// What `wire_conformance!` keeps for its test binary.
#[doc(hidden)]
pub struct Shared(OnceLock<(Runtime, Arc<dyn Erased>)>);

/// Runs one case as a test.
#[doc(hidden)]
pub fn run<W: Wired>(shared: &'static Shared, name: &str) {
    let Some(case) = CASES.iter().find(|case| case.name == name) else {
        panic!("there is no case {name}")
    };
    let (runtime, fixture) = shared.0.get_or_init(|| {
        let runtime = match Builder::new_multi_thread()
            .worker_threads(4)
            .enable_all()
            .build()
        {
            Ok(runtime) => runtime,
            Err(error) => panic!("no runtime: {error}"),
        };
        let fixture: Arc<dyn Erased> = Arc::new(Erase(runtime.block_on(W::start())));
        (runtime, fixture)
    });
    let leases = (0..3).map(|doubled| W::LEASE * (1 << doubled));
    let rounds = stall::rounds(leases, |_, lease, _| {
        (case.run)(Wiring::new(Arc::clone(fixture), case.name, lease))
    });
    let limited = async { timeout(W::LIMIT, rounds).await };
    if runtime.block_on(limited).is_err() {
        panic!("{name} took longer than {:?}", W::LIMIT);
    }
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
