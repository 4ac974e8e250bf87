//! Whether a client reads what it is sent.

use std::{
    io::IoSlice,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::Notify,
    time::{Instant, sleep_until},
};

/// The writes of a connection.
#[derive(Debug)]
pub(super) struct Writes {
    /// Since when the write in progress has made no progress.
    stuck: Mutex<Option<Instant>>,
    /// Notified when one is stuck.
    hurried: Notify,
    limit: Duration,
}

/// A stream whose writes are watched. It lies under TLS, so that each byte that is taken counts.
#[derive(Debug)]
pub(super) struct Written<S> {
    stream: S,
    writes: Arc<Writes>,
}

impl Writes {
    /// Waits until a write has made no progress for too long. It never resolves for a stream that has nothing to
    /// send.
    pub(super) async fn stalled(&self) {
        loop {
            match self.stuck() {
                None => self.hurried.notified().await,
                Some(since) => {
                    sleep_until(since + self.limit).await;
                    if self.stuck() == Some(since) {
                        return;
                    }
                }
            }
        }
    }

    fn stuck(&self) -> Option<Instant> {
        *self.stuck.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result of a write.
    fn went(&self, written: &Poll<std::io::Result<usize>>) {
        let mut stuck = self.stuck.lock().unwrap_or_else(PoisonError::into_inner);
        if written.is_ready() {
            *stuck = None;
        } else if stuck.is_none() {
            *stuck = Some(Instant::now());
            self.hurried.notify_one();
        }
    }
}

impl<S> Written<S> {
    /// The stream, and the state of its writes, each of which may be stuck for this long.
    pub(super) fn new(stream: S, limit: Duration) -> (Self, Arc<Writes>) {
        let writes = Arc::new(Writes {
            stuck: Mutex::default(),
            hurried: Notify::new(),
            limit,
        });
        let watched = Self {
            stream,
            writes: Arc::clone(&writes),
        };
        (watched, writes)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Written<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Written<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buffer);
        self.writes.went(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, buffers);
        self.writes.went(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, duplex},
        time::sleep,
    };

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    /// Paused time: it advances when every task waits.
    #[tokio::test(start_paused = true)]
    async fn client_that_reads_slowly_is_kept_and_one_that_does_not_read_is_not() {
        let (mut client, server) = duplex(1);
        let (mut server, writes) = Written::new(server, LIMIT);
        let stalled = tokio::spawn(async move { writes.stalled().await });
        // Nothing to send.
        sleep(LIMIT * 10).await;
        assert!(!stalled.is_finished());
        let sending = tokio::spawn(async move { server.write_all(&[0; 100]).await });
        for _ in 0..10 {
            sleep(LIMIT * 9 / 10).await;
            client.read_exact(&mut [0]).await.unwrap();
        }
        assert!(!stalled.is_finished());
        let since = Instant::now();
        stalled.await.unwrap();
        assert_eq!(since.elapsed(), LIMIT);
        assert!(!sending.is_finished());
    }
}
