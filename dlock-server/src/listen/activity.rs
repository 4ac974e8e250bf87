//! What a connection is doing, and for how long it may.
//!
//! hyper's own limit for headers counts from the end of the request before, and so would close idle connections as
//! early as slow ones; and it knows none for HTTP/2.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll},
    time::Duration,
};

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::Notify,
    time::{Instant, sleep_until},
};

/// What a connection is doing.
#[derive(Debug)]
pub(super) struct Activity {
    state: Mutex<State>,
    /// The deadline may have come closer.
    hurried: Notify,
    head: Duration,
    idle: Duration,
    /// Whether bytes between requests are the beginning of one: those of HTTP/2 may be pings.
    bytes_are_requests: bool,
}

#[derive(Debug)]
struct State {
    requests: usize,
    /// A request was answered to a client that the server knows.
    known: bool,
    /// Another connection needs its place.
    leaving: bool,
    /// What is waited for while there is no request.
    next: Awaited,
    since: Instant,
}

/// What a connection without a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// The first byte of the first request.
    First,
    /// The rest of a request's headers.
    Head,
    /// A further request, if there is one.
    Another,
}

impl Activity {
    pub(super) fn new(head: Duration, idle: Duration, bytes_are_requests: bool) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                requests: 0,
                known: false,
                leaving: false,
                next: Awaited::First,
                since: Instant::now(),
            }),
            hurried: Notify::new(),
            head,
            idle,
            bytes_are_requests,
        })
    }

    /// Waits until the client has taken too long for what was to come next.
    pub(super) async fn overdue(&self) -> Awaited {
        loop {
            let (next, deadline) = self.deadline();
            tokio::select! {
                () = sleep_until(deadline) => {}
                () = self.hurried.notified() => continue,
            }
            if let Some(next) = next
                && self.deadline() == (Some(next), deadline)
            {
                return next;
            }
        }
    }

    /// Whether no byte of a request can have been read yet.
    pub(super) fn is_untouched(&self) -> bool {
        let state = self.state();
        self.bytes_are_requests && state.requests == 0 && state.next == Awaited::First
    }

    /// The client was told that the connection ends: it has as long for that as for headers.
    pub(super) fn expect_end(&self) {
        let mut state = self.state();
        state.next = Awaited::Head;
        state.since = Instant::now();
    }

    /// What is waited for, and until when; while there are requests, when to look again.
    fn deadline(&self) -> (Option<Awaited>, Instant) {
        let State {
            requests,
            known,
            leaving,
            next,
            since,
        } = *self.state();
        if requests > 0 {
            return (None, Instant::now() + self.head);
        }
        match next {
            // A stranger is cut off.
            _ if leaving && !known => return (Some(Awaited::Head), since),
            Awaited::Another if leaving => return (Some(next), since),
            _ => {}
        }
        let limit = match next {
            Awaited::First | Awaited::Head => self.head,
            Awaited::Another => self.idle,
        };
        (Some(next), since + limit)
    }

    /// A request was answered to a client that the server knows.
    pub(super) fn recognise(&self) {
        self.state().known = true;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client has sent something.
    fn received(&self) {
        let mut state = self.state();
        if !self.bytes_are_requests || state.requests > 0 {
            return;
        }
        match state.next {
            Awaited::Head => {}
            // Since the connection's beginning.
            Awaited::First => state.next = Awaited::Head,
            Awaited::Another => {
                state.next = Awaited::Head;
                state.since = Instant::now();
                self.hurried.notify_one();
            }
        }
    }

    /// A request's headers are there.
    pub(super) fn begin(self: &Arc<Self>) -> UnderWay {
        self.state().requests += 1;
        UnderWay(Arc::clone(self))
    }
}

/// The connections that are open.
#[derive(Debug, Default)]
pub(super) struct Crowd(Mutex<Vec<Weak<Activity>>>);

impl Crowd {
    pub(super) fn add(&self, activity: &Arc<Activity>) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that have ended are forgotten before the list grows.
        if open.len() == open.capacity() {
            open.retain(|activity| activity.strong_count() > 0);
        }
        open.push(Arc::downgrade(activity));
    }

    /// Ends the connection that has had no request for the longest time, one of a stranger before all others.
    pub(super) fn thin(&self) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|activity| activity.strong_count() > 0);
        let idle = open.iter().filter_map(|activity| {
            let activity = activity.upgrade()?;
            let State {
                requests,
                known,
                leaving,
                next,
                since,
            } = *activity.state();
            let is_idle = requests == 0 && !leaving && !(known && next == Awaited::Head);
            is_idle.then_some(((known, since), activity))
        });
        if let Some((_, longest)) = idle.min_by_key(|(order, _)| *order) {
            longest.state().leaving = true;
            longest.hurried.notify_one();
        }
    }
}

/// A request, until it is dropped.
#[derive(Debug)]
pub(super) struct UnderWay(Arc<Activity>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.requests -= 1;
        state.next = Awaited::Another;
        state.since = Instant::now();
        self.0.hurried.notify_one();
    }
}

/// The body of an answer, whose request is under way for as long as it is sent.
#[derive(Debug)]
pub(super) struct Answer {
    body: Body,
    _request: UnderWay,
}

impl Answer {
    pub(super) const fn new(body: Body, request: UnderWay) -> Self {
        Self {
            body,
            _request: request,
        }
    }
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A stream that tells when something was read.
#[derive(Debug)]
pub(super) struct Watched<S> {
    stream: S,
    activity: Arc<Activity>,
}

impl<S> Watched<S> {
    pub(super) const fn new(stream: S, activity: Arc<Activity>) -> Self {
        Self { stream, activity }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.activity.received();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buffer)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, buffers)
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
mod tests;
