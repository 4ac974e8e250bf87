//! Over a store that loses replies, refuses calls, repeats writes in secret, and refuses writes for no reason, the
//! provider keeps the rules. Several providers work on it, so what each remembers is outdated most of the time.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use async_trait::async_trait;
use dlock_cas::{CasProvider, CasStore, Entry, Put};
use dlock_core::{
    Provider, ProviderError,
    provider::{
        AcquireOutcome, Capabilities, Discipline, Durability, Release, ReleaseOutcome, Renew,
        RenewOutcome,
    },
};
use dlock_testkit::{
    CASES, Case, Fixture,
    runner::{self, Shared},
};

use crate::{store::Memory, support::term};

/// How many calls in a thousand go wrong in each way.
#[derive(Clone, Copy)]
struct Rates {
    /// Fails, and was not done; fails, and was done.
    failing: u64,
    /// Is refused for no reason; is done twice.
    doubtful: u64,
}

/// Cases repeat a call that fails four times at most.
const FOR_CASES: Rates = Rates {
    failing: 5,
    doubtful: 100,
};

const HEAVY: Rates = Rates {
    failing: 100,
    doubtful: 100,
};

#[derive(Clone)]
struct Faulty {
    memory: Memory,
    rates: Rates,
    calls: Arc<AtomicU64>,
}

enum Strike {
    Before,
    After,
    Lost,
    Twice,
}

impl Faulty {
    fn new(rates: Rates) -> Self {
        Self {
            memory: Memory::default(),
            rates,
            calls: Arc::default(),
        }
    }

    /// The fate of a call follows from the number of calls before it, in no order that a case could be in step with.
    fn strike(&self) -> Option<Strike> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let Rates { failing, doubtful } = self.rates;
        let drawn = fastrand::Rng::with_seed(call).u64(..1000);
        let ends = [
            failing,
            2 * failing,
            2 * failing + doubtful,
            2 * (failing + doubtful),
        ];
        match ends.iter().position(|end| drawn < *end)? {
            0 => Some(Strike::Before),
            1 => Some(Strike::After),
            2 => Some(Strike::Lost),
            _ => Some(Strike::Twice),
        }
    }
}

#[async_trait]
impl CasStore for Faulty {
    type Version = u64;

    fn capabilities(&self) -> Capabilities {
        self.memory.capabilities()
    }

    async fn get(&self, key: &str) -> Result<Option<Entry<u64>>, ProviderError> {
        match self.strike() {
            Some(Strike::Before) => Err(ProviderError::unknown("the look was lost")),
            _ => self.memory.get(key).await,
        }
    }

    async fn put_if(
        &self,
        key: &str,
        bytes: Vec<u8>,
        expected: Option<&u64>,
    ) -> Result<Put<u64>, ProviderError> {
        match self.strike() {
            None => self.memory.put_if(key, bytes, expected).await,
            Some(Strike::Before) => Err(ProviderError::not_applied("throttled")),
            Some(Strike::Lost) => Ok(Put::Lost),
            Some(Strike::After) => {
                drop(self.memory.put_if(key, bytes, expected).await?);
                Err(ProviderError::unknown("the reply was lost"))
            }
            Some(Strike::Twice) => {
                drop(self.memory.put_if(key, bytes.clone(), expected).await?);
                tokio::task::yield_now().await;
                self.memory.put_if(key, bytes, expected).await
            }
        }
    }
}

struct Kept(Faulty);

impl Fixture for Kept {
    type Provider = CasProvider<Faulty>;

    const CAPABILITIES: Capabilities = Capabilities::new("memory", Discipline::Observer)
        .closing(true)
        .marks(true)
        .durability(Durability::Volatile);

    const UNANSWERED: u32 = 5;

    async fn start() -> Self {
        Self(Faulty::new(FOR_CASES))
    }

    async fn provider(&self) -> Self::Provider {
        CasProvider::new(self.0.clone())
    }
}

/// Cases that call the provider itself. Those of locks wait for their store no longer than a right one takes.
const MODULES: [&str; 10] = [
    "acquire", "takeover", "renew", "batch", "release", "closed", "read", "tokens", "names",
    "races",
];

/// It takes a release for lost that is repeated after the next holder has come; see below.
const LEFT_OUT: &str = "holders_exclude_each_other_and_tokens_follow_their_order";

#[test]
fn cases_of_the_published_suite_pass() {
    static SHARED: Shared = Shared::new();
    let plays = |case: &&Case| {
        case.group == "required" && MODULES.contains(&case.module) && case.name != LEFT_OUT
    };
    let played: Vec<_> = CASES
        .iter()
        .filter(plays)
        .map(|case| {
            let play = || runner::run::<Kept>(&SHARED, CASES, case.name);
            (case.name, thread::spawn(play))
        })
        .collect();
    assert!(played.len() > 60, "only {} cases", played.len());
    let failed = played
        .into_iter()
        .filter_map(|(name, play)| play.join().err().map(|_| name));
    let failed: Vec<_> = failed.collect();
    assert!(failed.is_empty(), "{failed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn holders_exclude_each_other_and_tokens_grow() {
    let store = Faulty::new(HEAVY);
    let inside = Arc::new(AtomicBool::new(false));
    let tokens = Arc::new(Mutex::new(Vec::new()));
    let (holders, turns) = (8, 25);
    let mut work = tokio::task::JoinSet::new();
    for _ in 0..holders {
        let provider = CasProvider::new(store.clone());
        let (inside, tokens) = (Arc::clone(&inside), Arc::clone(&tokens));
        work.spawn(async move {
            for _ in 0..turns {
                // A try that may have been granted is repeated; one that was refused has ended.
                let mut a = term("door");
                let token = loop {
                    match provider.acquire(&a).await {
                        Ok(AcquireOutcome::Acquired(tokens)) => break tokens.last(),
                        Ok(AcquireOutcome::Held(_)) => {
                            a = term("door");
                            tokio::time::sleep(Duration::from_millis(1)).await;
                        }
                        Ok(AcquireOutcome::Spent) => panic!("{a:?} was not released"),
                        Err(_) => {}
                    }
                };
                assert!(!inside.swap(true, Ordering::SeqCst), "two holders at once");
                tokens.lock().unwrap().push(token);
                for n in 1..4 {
                    let renew = Renew::new(a.name.clone(), a.new, n);
                    match provider.renew(&renew).await {
                        Ok(RenewOutcome::Lost(record)) => panic!("lost to {record:?}"),
                        Ok(RenewOutcome::Renewed { .. }) | Err(_) => {}
                    }
                }
                assert!(inside.swap(false, Ordering::SeqCst), "two holders at once");
                let release = Release::new(a.name.clone(), a.new, Some(token));
                let mut alone = true;
                loop {
                    match provider.release(&release).await {
                        Ok(ReleaseOutcome::Released { .. }) => break,
                        Ok(ReleaseOutcome::NotHeld(record)) => {
                            // An earlier attempt was applied, and another process was quick.
                            assert!(!alone, "the first attempt says not held: {record:?}");
                            break;
                        }
                        Err(_) => alone = false,
                    }
                }
            }
        });
    }
    let all = async {
        while let Some(done) = work.join_next().await {
            done.unwrap();
        }
    };
    let done = tokio::time::timeout(Duration::from_secs(60), all).await;
    done.unwrap_or_else(|_| panic!("a caller waits for ever"));
    let tokens = tokens.lock().unwrap();
    assert_eq!(tokens.len(), holders * turns);
    assert!(
        tokens.is_sorted_by(|earlier, later| earlier < later),
        "{tokens:?}"
    );
}
