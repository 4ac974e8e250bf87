//! The stories of `storage` pass on a minimal storage that checks tokens, and each finds the wrong storage that it is
//! meant to find.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use dlock_core::{Fence, FencingToken, Stale};
use dlock_testkit::{
    faults::{Fault, Faulty, Op},
    memory::{MemoryProvider, MemoryStore},
    storage::{
        Storage, only_lower_tokens_are_refused, paused_holder_is_refused,
        random_tokens_leave_the_highest, refused_holder_gets_above,
    },
};

/// The defect of a storage.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wrong {
    Nothing,
    /// Any write is admitted.
    Fenceless,
    /// The same holder's next write is refused.
    RefusesEqual,
    /// The refusal comes after the value was written.
    WritesAnyway,
    /// The token is checked in one step and the value written in another.
    TwoSteps,
    /// The token that it reports as seen is the writer's own.
    SaysPresented,
}

#[derive(Clone)]
struct Memory {
    inside: Arc<Mutex<(Fence, u64)>>,
    wrong: Wrong,
}

impl Memory {
    fn new(wrong: Wrong) -> Self {
        Self {
            inside: Arc::default(),
            wrong,
        }
    }

    fn with<T>(&self, look: impl FnOnce(&mut (Fence, u64)) -> T) -> T {
        look(&mut self.inside.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl Storage for Memory {
    async fn another(&self) -> Self {
        self.clone()
    }

    async fn write(&self, token: FencingToken, value: u64) -> Result<(), Stale> {
        let checked = self.with(|(fence, old)| {
            let highest = fence.highest();
            let checked = match self.wrong {
                Wrong::Fenceless => {
                    *fence = Fence::resume(Some(token));
                    Ok(())
                }
                Wrong::RefusesEqual if highest == Some(token) => Err(Stale {
                    presented: token,
                    highest: token,
                }),
                _ => fence.check(token),
            };
            let written = match self.wrong {
                Wrong::WritesAnyway => true,
                Wrong::TwoSteps => false,
                _ => checked.is_ok(),
            };
            if written {
                *old = value;
            }
            checked
        });
        if self.wrong == Wrong::TwoSteps && checked.is_ok() {
            tokio::task::yield_now().await;
            self.with(|(_, old)| *old = value);
        }
        checked.map_err(|stale| match self.wrong {
            Wrong::SaysPresented => Stale {
                highest: stale.presented,
                ..stale
            },
            _ => stale,
        })
    }

    async fn read(&self) -> Option<(u64, FencingToken)> {
        self.with(|(fence, value)| fence.highest().map(|token| (*value, token)))
    }
}

/// Whether a story detects the defect of a storage.
async fn refutes<S: Future<Output = ()> + Send + 'static>(story: S) -> bool {
    tokio::spawn(story).await.is_err()
}

fn provider(
    store: &MemoryStore,
) -> impl Fn() -> std::future::Ready<MemoryProvider> + Clone + use<> {
    let store = store.clone();
    move || std::future::ready(MemoryProvider::new(&store))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_story_passes_on_storage_that_keeps_the_rule() {
    let new = || Memory::new(Wrong::Nothing);
    let store = MemoryStore::store_clock();
    only_lower_tokens_are_refused(&new()).await;
    random_tokens_leave_the_highest(new()).await;
    refused_holder_gets_above(provider(&store), &new()).await;
    paused_holder_is_refused(provider(&store), &new()).await;
    let observed = MemoryStore::observer();
    paused_holder_is_refused(provider(&observed), &new()).await;
}

/// A slow store is not a wrong storage: the lease has ended, so an unanswered release is not repeated.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paused_holder_may_get_no_answer_to_its_release() {
    let store = MemoryStore::store_clock();
    let provider = move || {
        let provider = Faulty::new(MemoryProvider::new(&store));
        provider.always(Op::Release, Fault::LoseReply);
        std::future::ready(provider)
    };
    paused_holder_is_refused(provider, &Memory::new(Wrong::Nothing)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_wrong_storage_is_found_by_a_story() {
    use Wrong::{Fenceless, Nothing, RefusesEqual, SaysPresented, TwoSteps, WritesAnyway};
    let table = [
        (Nothing, false, false),
        (Fenceless, true, true),
        (RefusesEqual, true, false),
        (WritesAnyway, true, true),
        (TwoSteps, false, true),
        (SaysPresented, true, true),
    ];
    for (wrong, alone, crowd) in table {
        let storage = Memory::new(wrong);
        let found = refutes(async move { only_lower_tokens_are_refused(&storage).await }).await;
        assert_eq!(found, alone, "one writer, {wrong:?}");
        let found = refutes(random_tokens_leave_the_highest(Memory::new(wrong))).await;
        assert_eq!(found, crowd, "many writers, {wrong:?}");
    }
    for wrong in [Fenceless, WritesAnyway, SaysPresented] {
        let provider = provider(&MemoryStore::store_clock());
        let storage = Memory::new(wrong);
        let (makes, kept) = (provider.clone(), storage.clone());
        let floor = async move { refused_holder_gets_above(makes, &kept).await };
        // The other stories judge whether a refused write changed something.
        assert_eq!(refutes(floor).await, wrong != WritesAnyway, "{wrong:?}");
        let paused = async move { paused_holder_is_refused(provider, &Memory::new(wrong)).await };
        assert!(refutes(paused).await, "{wrong:?}");
    }
}
