//! Hundreds of concurrent writes, with random tokens.

use std::{
    collections::HashSet,
    iter,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use dlock_core::FencingToken;
use tokio::task::JoinSet;

use super::Storage;

const WRITERS: usize = 32;
const WRITES_OF_EACH: usize = 20;

/// 640 writes by 32 concurrent writers, with random tokens, leave the highest token and nothing else; and no writer,
/// and no reader in between, ever sees the resource go back.
///
/// # Panics
/// If the storage is wrong.
pub async fn random_tokens_leave_the_highest(storage: impl Storage) {
    let seed = fastrand::u64(..);
    eprintln!("tokens from seed {seed:#x}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut tokens = || FencingToken::new(random.u64(1..=FencingToken::MAX.get()));
    let shares: Vec<Vec<FencingToken>> = (0..WRITERS)
        .map(|_| {
            iter::repeat_with(&mut tokens)
                .flatten()
                .take(WRITES_OF_EACH)
                .collect()
        })
        .collect();
    let tokens: HashSet<FencingToken> = shares.iter().flatten().copied().collect();
    let highest = tokens.iter().max().copied();

    let done = Arc::new(AtomicBool::new(false));
    let watching = tokio::spawn(watch(storage.another().await, Arc::clone(&done)));
    let mut writing = JoinSet::new();
    for share in shares {
        writing.spawn(write(storage.another().await, share));
    }
    let seen: Vec<FencingToken> = writing.join_all().await.into_iter().flatten().collect();
    done.store(true, Ordering::SeqCst);
    match watching.await {
        Ok(looks) => assert!(looks > 0, "the reader saw no value"),
        Err(error) => panic!("the reader: {error}"),
    }

    assert!(!seen.is_empty(), "no write was refused");
    for token in seen {
        assert!(tokens.contains(&token), "{token} was never presented");
    }
    let left = highest.map(|token| (token.get(), token));
    assert_eq!(storage.read().await, left, "the last value and token");
}

/// Writes with these tokens, one after the other, each with its own value. Returns the tokens that refused it.
async fn write(storage: impl Storage, tokens: Vec<FencingToken>) -> Vec<FencingToken> {
    let (mut known, mut seen) = (None, Vec::new());
    for token in tokens {
        match storage.write(token, token.get()).await {
            Ok(()) => {
                assert!(
                    Some(token) >= known,
                    "{token} was admitted after {known:?} (I5)"
                );
                known = Some(token);
            }
            Err(stale) => {
                assert_eq!(stale.presented, token);
                assert!(stale.highest > token, "not stale: {stale}");
                assert!(
                    Some(stale.highest) >= known,
                    "{stale}, which had seen {known:?}"
                );
                known = Some(stale.highest);
                seen.push(stale.highest);
            }
        }
    }
    seen
}

/// Reads until `done` is set; returns how often it saw a value.
async fn watch(storage: impl Storage, done: Arc<AtomicBool>) -> usize {
    let (mut looks, mut last) = (0, None);
    loop {
        let enough = done.load(Ordering::SeqCst);
        if let Some((value, token)) = storage.read().await {
            assert_eq!(value, token.get(), "value and token are not of one write");
            assert!(Some(token) >= last, "{token} after {last:?}");
            (looks, last) = (looks + 1, Some(token));
        }
        if enough {
            return looks;
        }
        tokio::task::yield_now().await;
    }
}
