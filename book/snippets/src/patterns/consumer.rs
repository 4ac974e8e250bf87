//! One consumer of a stream, and others that stand by.

// ANCHOR: consume
use dlock::{DLock, Error, FencingToken};

/// Every instance calls this. One consumes; when it dies or is cut off, the next
/// one goes on.
pub async fn consume(lock: &DLock, stream: &impl Stream) -> Result<(), Error> {
    loop {
        let consumed = lock
            .with(async |token| {
                // `false` when there will be no more.
                while stream.next(token).await {}
            })
            .await;
        match consumed {
            // Another instance may consume by now: stand by again. What was
            // dropped in the middle is not committed in the stream, so the
            // process that has the lock gets it once more.
            Err(Error::Lost(end)) => eprintln!("{end}"),
            ended => return ended,
        }
    }
}
// ANCHOR_END: consume

/// Messages, and where a consumer is in them.
pub trait Stream: Sync {
    /// Takes the next message, works on it with the token, and commits the
    /// position.
    fn next(&self, token: FencingToken) -> impl Future<Output = bool> + Send;
}
