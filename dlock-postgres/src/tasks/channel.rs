//! One connection for all streams of hints of a store: with one for each set of queues, a server with many workers
//! would use up the sessions that others need.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use dlock_core::{
    ProviderError,
    provider::{Wakeup, WakeupSender, Wakeups},
};
use tokio::sync::{self, mpsc};

use crate::wakeups::Read;

/// The place where the streams of a store find its connection, if one is open.
#[derive(Clone, Default)]
pub(super) struct Channel(Arc<sync::Mutex<Weak<Open>>>);

/// An open connection. It is closed when the last stream drops this.
pub(super) struct Open {
    streams: Mutex<Streams>,
    /// Dropped with it.
    _alive: mpsc::Sender<Infallible>,
}

#[derive(Default)]
struct Streams {
    /// By the text of the notifications that they are for.
    by_text: HashMap<String, Vec<WakeupSender>>,
    has_ended: bool,
}

impl Channel {
    /// A stream of the notifications with one of these texts, from the return of this call on; it also keeps the
    /// connection open. `listen` opens a connection that passes what it hears to its argument.
    ///
    /// # Cancel safety
    /// A connection that is being opened is closed.
    pub(super) async fn stream<Opening>(
        &self,
        texts: &[String],
        listen: impl FnOnce(Read) -> Opening,
    ) -> Result<(Wakeups, Arc<Open>), ProviderError>
    where
        Opening: Future<Output = Result<Wakeups, ProviderError>>,
    {
        let mut current = self.0.lock().await;
        if let Some(open) = current.upgrade()
            && let Some(stream) = open.add(texts)
        {
            return Ok((stream, open));
        }
        let (alive, unused) = mpsc::channel(1);
        let open = Arc::new(Open {
            streams: Mutex::default(),
            _alive: alive,
        });
        let heard_by = Arc::downgrade(&open);
        let heard = listen(Box::new(move |text| {
            if let Some(open) = heard_by.upgrade() {
                open.tell(text);
            }
            None
        }))
        .await?;
        // A connection that has already ended has no streams.
        let stream = open.add(texts).unwrap_or_else(|| Wakeups::channel(1).1);
        *current = Arc::downgrade(&open);
        tokio::spawn(attend(heard, Arc::downgrade(&open), unused));
        Ok((stream, open))
    }
}

/// Ends the streams with the connection, and the connection with the last stream.
async fn attend(mut heard: Wakeups, open: Weak<Open>, mut unused: mpsc::Receiver<Infallible>) {
    tokio::select! {
        // Hints go directly to the streams: this means that there will be no more.
        _ = heard.next() => {}
        _ = unused.recv() => {}
    }
    if let Some(open) = open.upgrade() {
        let mut streams = open.streams();
        streams.has_ended = true;
        streams.by_text.clear();
    }
}

impl Open {
    /// `None`: the connection has ended.
    fn add(&self, texts: &[String]) -> Option<Wakeups> {
        let mut streams = self.streams();
        if streams.has_ended {
            return None;
        }
        streams.by_text.retain(|_, senders| {
            senders.retain(|sender| !sender.is_closed());
            !senders.is_empty()
        });
        let (sender, stream) = Wakeups::channel(1);
        for text in texts {
            let senders = streams.by_text.entry(text.clone()).or_default();
            senders.push(sender.clone());
        }
        Some(stream)
    }

    fn tell(&self, text: &str) {
        let streams = self.streams();
        // A hint that is still unread stands for this one. Texts of other queues and schemas have no stream.
        for sender in streams.by_text.get(text).into_iter().flatten() {
            let _heard = sender.is_full() || sender.send(Wakeup::Everyone);
        }
    }

    fn streams(&self) -> std::sync::MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The notifications of a connection, and whether it is open.
    struct Connection {
        read: Read,
        sender: WakeupSender,
    }

    async fn stream(
        channel: &Channel,
        connections: &Mutex<Vec<Connection>>,
        text: &str,
    ) -> (Wakeups, Arc<Open>) {
        let listen = |read: Read| {
            let (sender, wakeups) = Wakeups::channel(1);
            connections
                .lock()
                .unwrap()
                .push(Connection { read, sender });
            std::future::ready(Ok(wakeups))
        };
        channel.stream(&[text.to_owned()], listen).await.unwrap()
    }

    #[tokio::test]
    async fn streams_share_a_connection_and_each_hears_its_own() {
        let (channel, connections) = (Channel::default(), Mutex::default());
        let (mut a, open) = stream(&channel, &connections, "a").await;
        let (mut b, too) = stream(&channel.clone(), &connections, "b").await;
        assert_eq!(connections.lock().unwrap().len(), 1);
        for text in ["b", "other", "b"] {
            assert_eq!((connections.lock().unwrap()[0].read)(text), None);
        }
        assert_eq!(b.next().await, Some(Wakeup::Everyone));
        tokio::select! {
            biased;
            _ = a.next() => panic!("a hint for another queue"),
            _ = b.next() => panic!("one unread hint stands for all"),
            () = tokio::task::yield_now() => {}
        }
        // The connection ends: both learn of it, and the next stream opens another one.
        let Connection { sender, .. } = connections.lock().unwrap().remove(0);
        drop(sender);
        assert_eq!((a.next().await, b.next().await), (None, None));
        let (_c, again) = stream(&channel, &connections, "c").await;
        assert_eq!(connections.lock().unwrap().len(), 1);
        // The last stream is gone: so is the connection.
        drop((open, too, again));
        let sender = connections.lock().unwrap()[0].sender.clone();
        sender.closed().await;
    }
}
