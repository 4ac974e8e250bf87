//! The suite's own promises: a group left out must be lacking, a lacking group must be left out, and a case that hangs
//! fails by name.

#![expect(
    clippy::expect_used,
    reason = "what is unwrapped here is a failed test"
)]

use std::{sync::Arc, time::Duration};

use dlock_core::provider::{Admin, Capabilities, Discipline, Durability};
use dlock_testkit::{
    CASES, Fixture,
    faults::{Fault, Faulty},
    memory::{MemoryProvider, MemoryStore},
    runner::{self, Shared},
    slow,
};

/// A memory store that offers only what it must, and one that offers the admin side as well.
struct Plain<const ADMIN: bool>(MemoryStore);

impl<const ADMIN: bool> Fixture for Plain<ADMIN> {
    type Provider = MemoryProvider;

    const CAPABILITIES: Capabilities = Capabilities::new("memory", Discipline::StoreClock)
        .closing(true)
        .marks(true)
        .batch(true)
        .durability(Durability::Volatile);

    const PAUSED: bool = true;

    async fn start() -> Self {
        Self(MemoryStore::store_clock())
    }

    async fn provider(&self) -> MemoryProvider {
        MemoryProvider::new(&self.0).wakeups(false)
    }

    fn admin(provider: &MemoryProvider) -> Option<Arc<dyn Admin>> {
        ADMIN.then(|| Arc::new(provider.clone()) as _)
    }
}

mod left_out {
    dlock_testkit::conformance!(super::Plain<false>, without [watch, admin, purge, prefix]);
}

#[test]
fn group_left_out_must_be_known() {
    static SHARED: Shared = Shared::new();
    complains("there is no group wtach", || {
        runner::groups_agree::<Plain<false>>(&SHARED, &["wtach"]);
    });
}

#[test]
fn required_cases_cannot_be_left_out() {
    static SHARED: Shared = Shared::new();
    complains("required", || {
        runner::groups_agree::<Plain<false>>(&SHARED, &["required"]);
    });
}

#[test]
fn what_is_offered_cannot_be_left_out() {
    static SHARED: Shared = Shared::new();
    complains("do not leave it out", || {
        runner::groups_agree::<Plain<true>>(&SHARED, &["watch", "admin", "purge", "prefix"]);
    });
}

#[test]
fn what_is_lacking_must_be_left_out() {
    static SHARED: Shared = Shared::new();
    complains("leave the group prefix out", || {
        runner::groups_agree::<Plain<true>>(&SHARED, &["watch", "purge"]);
    });
}

#[test]
fn case_left_out_says_so_when_it_is_asked_for() {
    complains("leaves out", || runner::left_out("some_case"));
}

struct Hanging;

impl Fixture for Hanging {
    type Provider = Faulty<MemoryProvider>;

    const CAPABILITIES: Capabilities = Capabilities::new("memory", Discipline::StoreClock);
    const LIMIT: Duration = Duration::from_millis(200);

    async fn start() -> Self {
        Self
    }

    async fn provider(&self) -> Self::Provider {
        let silent = Faulty::new(MemoryProvider::new(&MemoryStore::store_clock()));
        silent.everything(Fault::LoseRequest);
        silent
    }
}

#[test]
fn case_that_hangs_fails_by_name() {
    static SHARED: Shared = Shared::new();
    complains("absent_record_is_created took longer", || {
        runner::run::<Hanging>(&SHARED, CASES, "absent_record_is_created");
    });
}

#[track_caller]
pub(crate) fn complains(expected: &str, test: impl FnOnce()) {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test))
        .expect_err("the test should have failed");
    let text = slow::message(&*panic).unwrap_or_default();
    assert!(
        text.contains(expected),
        "{text:?} does not say {expected:?}"
    );
}
