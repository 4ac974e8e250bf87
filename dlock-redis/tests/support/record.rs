//! A lock's record, accessed without the provider: its words, and how to corrupt or age it.

use dlock_core::{Name, Provider, provider::AcquireOutcome};
use redis::{
    Script,
    aio::{ConnectionLike, MultiplexedConnection},
};

use super::{LONG, ask, key, try_for, words};

/// The words of a record, in their order; label and data follow.
pub(crate) const WORDS: [&str; 11] = [
    "format", "state", "uuid", "renewals", "extended", "token", "duration", "since", "wanted",
    "owner", "data",
];

/// One word of a lock's record.
pub(crate) async fn word(connection: &mut MultiplexedConnection, key: &str, word: &str) -> String {
    let text: Vec<u8> = ask(connection, &words(&format!("GET {key}"))).await;
    let (at, part) = (place(word), String::from_utf8_lossy(&text));
    match part.split(' ').nth(at) {
        Some(found) => found.to_owned(),
        None => panic!("no {word} in {part:?}"),
    }
}

/// Writes another word into a lock's record; the key keeps its life.
pub(crate) async fn rewrite(
    connection: &mut MultiplexedConnection,
    key: &str,
    word: &str,
    to: &[u8],
) {
    let text: Vec<u8> = ask(connection, &words(&format!("GET {key}"))).await;
    let mut parts: Vec<&[u8]> = text.splitn(WORDS.len() + 1, |byte| *byte == b' ').collect();
    parts[place(word)] = to;
    overwrite(connection, key, &parts.join(&b' ')).await;
}

/// Writes another text into a key, which keeps its life.
pub(crate) async fn overwrite(connection: &mut MultiplexedConnection, key: &str, text: &[u8]) {
    let mut set = redis::cmd("SET");
    set.arg(key).arg(text).arg("KEEPTTL");
    ask::<()>(connection, &set).await;
}

fn place(word: &str) -> usize {
    match WORDS.iter().position(|known| *known == word) {
        Some(at) => at,
        None => panic!("a record has no word for {word}"),
    }
}

/// An attempt that is refused, and leaves its mark: the mark in the record that it was shown.
pub(crate) async fn mark(provider: &dyn Provider, name: &Name) -> u32 {
    match provider.acquire(&try_for(name, LONG).marks(7)).await {
        Ok(AcquireOutcome::Held(record)) => record.wanted,
        other => panic!("should have been refused: {other:?}"),
    }
}

/// Makes a lease end that many microseconds earlier, or later if the number is below 0; in one step,
/// because others may be writing. False if there is no lock.
pub(crate) async fn age(
    connection: &mut (impl ConnectionLike + Send),
    name: &Name,
    micros: i64,
) -> bool {
    let earlier = Script::new(
        "local before, extended, behind = string.match(redis.call('GET', KEYS[1]), '^(dlock1 %S+ %S+ %d+ )(%d+)(.*)$')
         local now = string.format('%.0f', math.max(0, extended - ARGV[1]))
         redis.call('SET', KEYS[1], before .. now .. behind, 'KEEPTTL')",
    );
    let mut call = earlier.key(key(name));
    call.arg(micros)
        .invoke_async::<()>(connection)
        .await
        .is_ok()
}
