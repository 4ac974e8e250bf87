//! Hints to workers that there may be something to claim, from the notifications of the database's functions
//! (`sql/tasks/tell.sql`).

use std::time::Duration;

use deadpool_postgres::tokio_postgres::types::Type;
use dlock_core::{
    ProviderError,
    provider::{Wakeup, WakeupSender, Wakeups},
};
use tokio::time::{Instant, sleep_until, timeout};

use super::{PostgresTasks, schema::CHANNEL};
use crate::{
    connections::Caller,
    error,
    record::value,
    wakeups::{self, Connect, Listen},
};

/// How long the channel may be silent before the session is queried whether it still listens: an idle worker should
/// rarely query the server, and also finds tasks without hints.
const ASK_EVERY: Duration = Duration::from_secs(20);

/// How long after a notification the tasks are hinted whose transactions sent none because of it: the 20 ms of
/// `tell.sql`, and as much again for transactions that took longer than the one that notified.
const AGAIN: Duration = Duration::from_millis(40);

impl PostgresTasks {
    /// Opens a stream of hints about these queues. All streams of a store share a connection.
    pub(super) async fn listen(
        &self,
        connect: &Connect,
        queues: &[String],
    ) -> Result<Wakeups, ProviderError> {
        let rows = self
            .connections
            .query(
                Caller::Other,
                &self.statements.hints,
                &[(&queues, Type::TEXT_ARRAY)],
            )
            .await?;
        let texts = rows.iter().map(|row| value(row, "hint", 0));
        let texts: Vec<String> = texts
            .collect::<Result<_, _>>()
            .map_err(|flaw| error::bad_answer(&flaw))?;
        let limit = self.connections.limit();
        let listen = |read| {
            let listen = Listen {
                channel: CHANNEL,
                read,
                limit,
                ask_every: ASK_EVERY,
            };
            wakeups::open(connect, listen)
        };
        // While another stream opens the connection, this one waits for it.
        let opened = timeout(limit, self.channel.stream(&texts, listen)).await;
        let (heard, open) = opened.map_err(|_| error::timed_out(false, limit))??;
        let (sender, wakeups) = Wakeups::channel(1);
        tokio::spawn(async move {
            pass_on(heard, sender).await;
            drop(open);
        });
        Ok(wakeups)
    }
}

/// Passes hints on until the receiver is gone, or the channel has ended; and each once more a little later.
async fn pass_on(mut heard: Wakeups, sender: WakeupSender) {
    let mut again = None;
    loop {
        let last = again;
        let later = async {
            match last {
                Some(instant) => sleep_until(instant).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = sender.closed() => return,
            () = later => again = None,
            hint = heard.next() => match hint {
                Some(_) => again = Some(again.unwrap_or_else(|| Instant::now() + AGAIN)),
                None => return,
            },
        }
        // A hint that is still unread stands for this one.
        if !sender.is_full() && !sender.send(Wakeup::Everyone) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(1);

    /// So tasks without a notification because of it are found; and no hint waits for one that is not read.
    #[tokio::test(start_paused = true)]
    async fn notification_is_hinted_at_once_and_once_more() {
        let (said, heard) = Wakeups::channel(9);
        let (sender, mut stream) = Wakeups::channel(1);
        let passing = tokio::spawn(pass_on(heard, sender));
        let began = Instant::now();
        for _ in 0..3 {
            assert!(said.send(Wakeup::Everyone));
        }
        let first = timeout(SHORT, stream.next()).await;
        assert_eq!(first, Ok(Some(Wakeup::Everyone)));
        // The second notification came before the first hint was read, or after it.
        drop(timeout(SHORT, stream.next()).await);
        let again = timeout(AGAIN, stream.next()).await;
        assert_eq!(again, Ok(Some(Wakeup::Everyone)));
        assert!(began.elapsed() >= AGAIN);
        assert!(timeout(10 * AGAIN, stream.next()).await.is_err());

        for _ in 0..9 {
            assert!(said.send(Wakeup::Everyone));
        }
        tokio::time::sleep(10 * AGAIN).await;
        assert!(!said.is_full(), "what is said waits for what is read");
        assert_eq!(stream.next().await, Some(Wakeup::Everyone));
        drop(said);
        assert_eq!(stream.next().await, None);
        passing.await.unwrap();
    }

    #[tokio::test]
    async fn nobody_listens_for_a_stream_that_was_dropped() {
        let (_said, heard) = Wakeups::channel(9);
        let (sender, stream) = Wakeups::channel(1);
        let passing = tokio::spawn(pass_on(heard, sender));
        drop(stream);
        passing.await.unwrap();
    }
}
