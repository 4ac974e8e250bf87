//! Stores that break their guarantees, and the cases of the published suite that notice.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use dlock_cas::{CasAdmin, CasProvider, CasStore, Entry, Put};
use dlock_core::{
    ProviderError,
    provider::{Capabilities, Discipline, Durability},
};
use dlock_testkit::{
    CASES, Fixture, compare_and_set,
    runner::{self, Shared},
};

use crate::store::Memory;

const CAPABILITIES: Capabilities = Capabilities::new("wrong", Discipline::Observer)
    .closing(true)
    .marks(true)
    .durability(Durability::Volatile);

/// The bug of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    /// Nothing: the cases pass.
    None,
    /// It writes whatever the version is.
    Unconditional,
    /// It compares, and writes a moment later.
    TwoSteps,
    /// It creates keys that are there.
    CreatesAgain,
    /// It shows the contents that its process has seen or written last, as a cache does.
    StaleGet,
    /// It deletes whatever the version is.
    DeletesAnything,
}

/// One process of a wrong store.
#[derive(Clone)]
struct Wrong {
    bug: Bug,
    memory: Memory,
    known: Arc<Mutex<HashMap<String, Entry<u64>>>>,
}

impl Wrong {
    fn new(bug: Bug, memory: &Memory) -> Self {
        Self {
            bug,
            memory: memory.clone(),
            known: Arc::default(),
        }
    }

    async fn current(&self, key: &str) -> Option<u64> {
        let entry = self.memory.get(key).await.unwrap();
        entry.map(|entry| entry.version)
    }
}

#[async_trait]
impl CasStore for Wrong {
    type Version = u64;

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    async fn get(&self, key: &str) -> Result<Option<Entry<u64>>, ProviderError> {
        if self.bug != Bug::StaleGet {
            return self.memory.get(key).await;
        }
        if let Some(known) = self.known.lock().unwrap().get(key) {
            return Ok(Some(known.clone()));
        }
        let entry = self.memory.get(key).await?;
        if let Some(entry) = entry.clone() {
            self.known.lock().unwrap().insert(key.to_owned(), entry);
        }
        Ok(entry)
    }

    async fn put_if(
        &self,
        key: &str,
        bytes: Vec<u8>,
        expected: Option<&u64>,
    ) -> Result<Put<u64>, ProviderError> {
        let current = self.current(key).await;
        let blind = match self.bug {
            Bug::None | Bug::StaleGet | Bug::DeletesAnything => false,
            Bug::Unconditional => true,
            Bug::CreatesAgain => expected.is_none(),
            Bug::TwoSteps => current.as_ref() == expected,
        };
        if !blind {
            let put = self.memory.put_if(key, bytes.clone(), expected).await?;
            if let Put::Done(version) = put {
                let entry = Entry { bytes, version };
                self.known.lock().unwrap().insert(key.to_owned(), entry);
            }
            return Ok(put);
        }
        tokio::task::yield_now().await;
        loop {
            let current = self.current(key).await;
            let put = self.memory.put_if(key, bytes.clone(), current.as_ref());
            if let done @ Put::Done(_) = put.await? {
                return Ok(done);
            }
        }
    }
}

#[async_trait]
impl CasAdmin for Wrong {
    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Entry<u64>)>, ProviderError> {
        self.memory.list(prefix, after, limit).await
    }

    async fn delete_if(&self, key: &str, expected: &u64) -> Result<bool, ProviderError> {
        let current = self.current(key).await;
        match (self.bug, current) {
            (Bug::DeletesAnything, Some(current)) => self.memory.delete_if(key, &current).await,
            _ => self.memory.delete_if(key, expected).await,
        }
    }
}

/// A fixture for each of them.
struct On<const BUG: usize>(Memory);

const BUGS: [Bug; 5] = [
    Bug::None,
    Bug::Unconditional,
    Bug::TwoSteps,
    Bug::CreatesAgain,
    Bug::StaleGet,
];

impl<const BUG: usize> Fixture for On<BUG> {
    type Provider = CasProvider<Wrong>;

    const CAPABILITIES: Capabilities = CAPABILITIES;

    async fn start() -> Self {
        Self(Memory::default())
    }

    async fn provider(&self) -> Self::Provider {
        CasProvider::new(Wrong::new(BUGS[BUG], &self.0))
    }
}

/// Whether the case fails on this store.
fn notices<const BUG: usize>(case: &str) -> bool {
    static SHARED: [Shared; BUGS.len()] = [const { Shared::new() }; BUGS.len()];
    catch_unwind(AssertUnwindSafe(|| {
        runner::run::<On<BUG>>(&SHARED[BUG], CASES, case);
    }))
    .is_err()
}

/// Each bug is noticed by a case, which passes without it.
#[test]
fn wrong_stores_are_noticed() {
    for (bug, noticed, case) in [
        (
            Bug::Unconditional,
            notices::<1> as fn(&str) -> bool,
            "race_of_claims_has_one_winner",
        ),
        (
            Bug::TwoSteps,
            notices::<2>,
            "race_for_a_released_lock_has_one_winner",
        ),
        (
            Bug::CreatesAgain,
            notices::<3>,
            "race_for_an_absent_record_has_one_winner",
        ),
        (
            Bug::StaleGet,
            notices::<4>,
            "every_provider_on_the_store_sees_the_same",
        ),
    ] {
        assert!(!notices::<0>(case), "{case} fails on a right store");
        assert!(noticed(case), "{case} does not notice {bug:?}");
    }
}

/// A purge would delete a lock that was just acquired.
#[test]
fn delete_without_a_condition_is_noticed() {
    let passes = |bug| {
        let store = Wrong::new(bug, &Memory::default());
        catch_unwind(AssertUnwindSafe(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            runtime
                .unwrap()
                .block_on(compare_and_set::deletes_on_a_condition(&store, "test"));
        }))
        .is_ok()
    };
    assert!(passes(Bug::None));
    assert!(!passes(Bug::DeletesAnything));
}
