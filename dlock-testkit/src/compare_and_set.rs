//! A check that the suite for providers cannot make of a compare-and-set store: the conditional delete, which only a
//! purge of week-old records uses.

#![expect(
    clippy::panic,
    reason = "it is a test, and the message is what people read"
)]

use dlock_cas::{CasAdmin, Entry, Put};
use dlock_core::ProviderError;

/// Proves that [`CasAdmin::delete_if`] deletes exactly what was seen, and that [`CasAdmin::list`] shows the keys that
/// exist. A store whose deletes ignore the version passes the suite for providers; a purge on it then deletes a lock
/// that was just acquired.
///
/// The store may hold other keys; the test's keys start with `prefix/`, which no other key may do.
///
/// # Panics
/// If something does not hold, or the store gives no answer.
pub async fn deletes_on_a_condition<S: CasAdmin>(store: &S, prefix: &str) {
    let start = format!("{prefix}/");
    let keys = ["a", "b", "c"].map(|name| format!("{start}{name}"));
    let [key, ..] = &keys;
    let seen = put(store, key, "first", None).await;
    let renewed = put(store, key, "second", Some(&seen)).await;
    assert!(
        !deleted(store, key, &seen).await,
        "it changed since it was seen"
    );
    assert_eq!(contents(store, key).await.as_deref(), Some("second"));
    assert!(deleted(store, key, &renewed).await, "it is what was seen");
    assert_eq!(contents(store, key).await, None);
    assert!(!deleted(store, key, &renewed).await, "it is gone");
    put(store, key, "third", None).await;
    assert!(!deleted(store, key, &renewed).await, "it is another one");
    assert_eq!(contents(store, key).await.as_deref(), Some("third"));

    for key in &keys[1..] {
        put(store, key, "another", None).await;
    }
    assert_eq!(listed(store, &start, None, 2).await, keys[..2]);
    assert_eq!(listed(store, &start, Some(&keys[1]), 2).await, keys[2..]);
    for key in &keys {
        let Some(Entry { version, .. }) = answered(store.get(key).await) else {
            panic!("the key {key:?} is missing");
        };
        assert!(deleted(store, key, &version).await, "it is unchanged");
    }
    assert!(listed(store, &start, None, 1).await.is_empty());
}

async fn put<S: CasAdmin>(
    store: &S,
    key: &str,
    text: &str,
    expected: Option<&S::Version>,
) -> S::Version {
    match answered(store.put_if(key, text.into(), expected).await) {
        Put::Done(version) => version,
        Put::Lost | Put::LostTo(_) => panic!("{text:?} is refused, and the condition holds"),
    }
}

async fn contents<S: CasAdmin>(store: &S, key: &str) -> Option<String> {
    let entry = answered(store.get(key).await)?;
    Some(String::from_utf8_lossy(&entry.bytes).into_owned())
}

async fn deleted<S: CasAdmin>(store: &S, key: &str, expected: &S::Version) -> bool {
    answered(store.delete_if(key, expected).await)
}

async fn listed<S: CasAdmin>(
    store: &S,
    start: &str,
    after: Option<&str>,
    limit: usize,
) -> Vec<String> {
    let listed = answered(store.list(start, after, limit).await);
    listed.into_iter().map(|(key, _)| key).collect()
}

fn answered<T>(result: Result<T, ProviderError>) -> T {
    result.unwrap_or_else(|error| panic!("the store gives no answer: {error:?}"))
}
