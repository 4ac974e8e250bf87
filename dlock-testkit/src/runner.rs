//! Runs a case: on one runtime and one fixture for a whole test binary, or, in paused time, on a runtime and a fixture
//! for each case.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, OnceLock},
};

use tokio::runtime::{Builder, Runtime};

use crate::{
    Bench,
    cases::{Case, GROUPS},
    fixture::{Erase, Fixture},
    slow,
};
pub use crate::{answers::Answers, fixture::Erased};

/// The runtime and the started fixture that `conformance!` keeps for its test binary.
pub struct Shared(OnceLock<Started>);

struct Started {
    runtime: Runtime,
    fixture: Arc<dyn Erased>,
}

/// Runs one case as a test.
pub fn run<F: Fixture>(shared: &'static Shared, cases: &'static [Case], name: &str) {
    let Some(case) = cases.iter().find(|case| case.name == name) else {
        panic!("there is no case {name}")
    };
    on::<F>(shared, |fixture| Box::pin(one(fixture, case)));
}

/// The test that replaces a case of a group that was left out. It is ignored; run by name, it fails and says why.
pub fn left_out(name: &str) {
    panic!("{name} belongs to a group that this provider's conformance! leaves out");
}

/// Tests that the groups left out are exactly those that the fixture lacks.
pub fn groups_agree<F: Fixture>(shared: &'static Shared, left_out: &[&str]) {
    for group in left_out {
        assert!(
            GROUPS.iter().any(|(known, _)| known == group),
            "there is no group {group}"
        );
        assert_ne!(
            *group, "required",
            "no provider can leave the required cases out"
        );
    }
    let left_out: Vec<String> = left_out.iter().map(|&group| group.to_owned()).collect();
    on::<F>(shared, |fixture| Box::pin(agree(fixture, left_out)));
}

async fn agree(fixture: Arc<dyn Erased>, left_out: Vec<String>) {
    for (group, lacks) in GROUPS {
        let offered = offers(&fixture, group).await;
        match (left_out.iter().any(|out| out == group), offered) {
            (true, true) => {
                panic!("the fixture offers what the group {group} needs: do not leave it out")
            }
            (false, false) => {
                panic!("the fixture lacks {lacks}: leave the group {group} out, or provide it")
            }
            (true, false) | (false, true) => {}
        }
    }
}

/// Runs one case within its time limit, with longer leases where it misses a bound of time.
pub async fn one(fixture: Arc<dyn Erased>, case: &'static Case) {
    // Nothing is late in paused time.
    let rounds = if fixture.paused() { 1 } else { 4 };
    let leases = slow::leases(fixture.lease(), rounds);
    let bench = |lease| Bench::new(Arc::clone(&fixture), case.name, lease);
    slow::rounds_within(fixture.limit(), case.name, leases, |lease| {
        (case.run)(bench(lease))
    })
    .await;
}

/// A runtime whose time advances only while every task sleeps.
#[must_use]
pub fn paused_runtime() -> Runtime {
    match Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => panic!("no runtime: {error}"),
    }
}

async fn offers(fixture: &Arc<dyn Erased>, group: &str) -> bool {
    match group {
        "watch" => fixture.capabilities().watch,
        "admin" => fixture.admin().await.is_some(),
        "purge" => {
            if fixture.admin().await.is_none() {
                return false;
            }
            let what = "can this fixture age a record?";
            let bench = Bench::new(Arc::clone(fixture), what, fixture.lease());
            let term = bench.term_of(&bench.name(""), bench.lease());
            bench.subject().await.grants(&term).await;
            fixture.age(&term.name, term.duration).await
        }
        "prefix" => fixture.prefixed("p").await.is_some(),
        "sharing" => {
            let clones = fixture.clones(1).await;
            clones.iter().any(|provider| provider.sharing().is_some())
        }
        _ => true,
    }
}

fn on<F: Fixture>(
    shared: &'static Shared,
    work: impl FnOnce(Arc<dyn Erased>) -> Pin<Box<dyn Future<Output = ()>>>,
) {
    if F::PAUSED {
        paused_runtime().block_on(async { work(Arc::new(Erase::new(F::start().await))).await });
        return;
    }
    let Started { runtime, fixture } = shared.0.get_or_init(|| {
        let runtime = shared_runtime();
        let fixture: Arc<dyn Erased> = Arc::new(Erase::new(runtime.block_on(F::start())));
        Started { runtime, fixture }
    });
    runtime.block_on(work(Arc::clone(fixture)));
}

/// The runtime that all cases of a test binary share, in real time.
#[must_use]
pub fn shared_runtime() -> Runtime {
    match Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => panic!("no runtime: {error}"),
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
