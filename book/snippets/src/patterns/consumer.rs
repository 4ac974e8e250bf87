//! One consumer of a stream, and others on standby.

// ANCHOR: consume
use dlock::{DLock, Error, FencingToken};

/// Every instance calls this. One consumes; when it dies or is cut off, the next
/// one continues.
pub async fn consume(lock: &DLock, stream: &impl Stream) -> Result<(), Error> {
    loop {
        let consumed = lock
            .with(async |token| {
                // `false` after the last message.
                while stream.next(token).await {}
            })
            .await;
        match consumed {
            // Another instance may consume by now: wait for the lock again. The
            // message that was in progress is not committed in the stream, so the
            // process that has the lock gets it once more.
            Err(Error::Lost(end)) => eprintln!("{end}"),
            ended => return ended,
        }
    }
}
// ANCHOR_END: consume

/// A stream of messages, and a consumer's position in it.
pub trait Stream: Sync {
    /// Takes the next message, works on it with the token, and commits the
    /// position.
    fn next(&self, token: FencingToken) -> impl Future<Output = bool> + Send;
}
