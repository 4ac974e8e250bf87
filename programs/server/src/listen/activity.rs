//! The state of a connection, and how long it may last.
//!
//! hyper's own limit for headers counts from the end of the previous request, and so would close idle connections as
//! early as slow ones; and it has none for HTTP/2.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::{Body, Bytes, HttpBody as _};
use http_body::{Frame, SizeHint};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use super::Bounds;

/// The state of a connection.
#[derive(Debug)]
pub(super) struct Activity {
    state: Mutex<State>,
    /// Notified when the deadline may have come closer.
    hurried: Notify,
    head: Duration,
    idle: Duration,
    write: Duration,
}

#[derive(Debug)]
struct State {
    /// Whether bytes between requests are the beginning of one: those of TLS are not, and those of HTTP/2 may be pings.
    bytes_are_requests: bool,
    requests: usize,
    /// A request came from a client that the server knows.
    known: bool,
    /// Another connection needs its place.
    leaving: bool,
    /// The next expected event while there is no request.
    next: Awaited,
    since: Instant,
    /// Answers that are not fully sent yet, by the time at which their last piece was given out: streams that have
    /// nothing to send are not among them.
    answers: BTreeMap<Instant, usize>,
}

impl State {
    /// An answer made progress, or has ended.
    fn forget(&mut self, since: Instant) {
        if let Entry::Occupied(mut answers) = self.answers.entry(since) {
            *answers.get_mut() -= 1;
            if *answers.get() == 0 {
                answers.remove();
            }
        }
    }
}

/// The event that a connection without a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// The first byte of the first request.
    First,
    /// The rest of a request's headers.
    Head,
    /// A further request, if there is one.
    Another,
    /// The client's reading of an answer.
    Taking,
}

impl Activity {
    pub(super) fn new(bounds: &Bounds) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                bytes_are_requests: false,
                requests: 0,
                known: false,
                leaving: false,
                next: Awaited::First,
                since: Instant::now(),
                answers: BTreeMap::new(),
            }),
            hurried: Notify::new(),
            head: bounds.head,
            idle: bounds.idle,
            write: bounds.write,
        })
    }

    /// Requests can come, from now on.
    pub(super) fn open(&self, bytes_are_requests: bool) {
        let mut state = self.state();
        state.bytes_are_requests = bytes_are_requests;
        state.since = Instant::now();
    }

    /// Waits until another connection needs the place of this one, which is not open yet.
    pub(super) async fn crowded_out(&self) {
        while !self.state().leaving {
            self.hurried.notified().await;
        }
    }

    /// Waits until the client has taken too long for the next expected event.
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
        state.bytes_are_requests && state.requests == 0 && state.next == Awaited::First
    }

    /// The client was notified that the connection ends: it has as long for that as for headers.
    pub(super) fn expect_end(&self) {
        let mut state = self.state();
        state.next = Awaited::Head;
        state.since = Instant::now();
    }

    /// The expected event, and its deadline; while there are requests, when to check again.
    fn deadline(&self) -> (Option<Awaited>, Instant) {
        let State {
            requests,
            known,
            leaving,
            next,
            since,
            ref answers,
            ..
        } = *self.state();
        if leaving && !known {
            // A stranger is cut off.
            return (Some(Awaited::Head), since);
        }
        if requests > 0 {
            let now = Instant::now();
            let taking = answers.first_key_value();
            let taking = taking.map(|(since, _)| *since + self.write);
            return match taking.filter(|deadline| *deadline <= now) {
                Some(deadline) => (Some(Awaited::Taking), deadline),
                None => (None, now + self.head.min(self.write)),
            };
        }
        let limit = match next {
            Awaited::Another if leaving => Duration::ZERO,
            Awaited::First | Awaited::Head | Awaited::Taking => self.head,
            Awaited::Another => self.idle,
        };
        (Some(next), since + limit)
    }

    /// A request came from a client that the server knows.
    pub(super) fn recognise(&self) {
        self.state().known = true;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client has sent something.
    pub(super) fn received(&self) {
        let mut state = self.state();
        if !state.bytes_are_requests || state.requests > 0 {
            return;
        }
        match state.next {
            Awaited::Head => {}
            // Since the connection's beginning.
            Awaited::First => state.next = Awaited::Head,
            Awaited::Another | Awaited::Taking => {
                state.next = Awaited::Head;
                state.since = Instant::now();
                self.hurried.notify_one();
            }
        }
    }

    /// A request's headers have arrived.
    pub(super) fn begin(self: &Arc<Self>) -> UnderWay {
        self.state().requests += 1;
        UnderWay {
            activity: Arc::clone(self),
            since: None,
        }
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

    /// Ends the connection that has had no request for the longest time: a stranger's before all others, even one that has
    /// a request if no stranger's is without; a known client's only if it has none.
    pub(super) fn thin(&self) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|activity| activity.strong_count() > 0);
        let thinned = open.iter().filter_map(|activity| {
            let activity = activity.upgrade()?;
            let State {
                requests,
                known,
                leaving,
                next,
                since,
                ..
            } = *activity.state();
            let is_busy = requests > 0 || next == Awaited::Head;
            let order = (known, requests > 0, since);
            (!(leaving || known && is_busy)).then_some((order, activity))
        });
        if let Some((_, longest)) = thinned.min_by_key(|(order, _)| *order) {
            longest.state().leaving = true;
            longest.hurried.notify_one();
        }
    }
}

/// A request, until it is dropped.
#[derive(Debug)]
pub(super) struct UnderWay {
    activity: Arc<Activity>,
    /// When the last piece of its answer was given out, if there is more.
    since: Option<Instant>,
}

impl UnderWay {
    /// The client takes what it is sent.
    fn given_out(&mut self) {
        let now = Instant::now();
        let mut state = self.activity.state();
        if let Some(since) = self.since.replace(now) {
            state.forget(since);
        }
        *state.answers.entry(now).or_default() += 1;
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut state = self.activity.state();
        if let Some(since) = self.since {
            state.forget(since);
        }
        state.requests -= 1;
        state.next = Awaited::Another;
        state.since = Instant::now();
        self.activity.hurried.notify_one();
    }
}

/// The body of an answer, whose request is in flight for as long as the answer is being sent. It is given out in
/// pieces, so that an HTTP/2 client that reads nothing of a stream is noticed.
#[derive(Debug)]
pub(super) struct Answer {
    body: Body,
    /// The part of the body that was not given out yet.
    rest: Bytes,
    request: UnderWay,
}

/// The most that is given out at a time, and that a connection keeps of an answer that is not read.
const PIECE: usize = 16 * 1024;

impl Answer {
    pub(super) fn new(body: Body, mut request: UnderWay) -> Self {
        // A stream may have nothing to send.
        if body.size_hint().exact().is_some_and(|size| size > 0) {
            request.given_out();
        }
        Self {
            body,
            rest: Bytes::new(),
            request,
        }
    }

    fn piece(&mut self) -> Bytes {
        self.request.given_out();
        if self.rest.len() <= PIECE {
            return std::mem::take(&mut self.rest);
        }
        // A slice of the whole would keep the whole in memory.
        let piece = Bytes::copy_from_slice(&self.rest[..PIECE]);
        self.rest = self.rest.slice(PIECE..);
        piece
    }
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                end => return Poll::Ready(end),
            }
        }
        let piece = self.piece();
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, body) = (self.rest.len() as u64, self.body.size_hint());
        let mut whole = SizeHint::new();
        whole.set_lower(body.lower().saturating_add(rest));
        if let Some(upper) = body.upper() {
            whole.set_upper(upper.saturating_add(rest));
        }
        whole
    }
}

#[cfg(test)]
mod tests;
