//! How much of the server's memory requests and their answers take at a time.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use axum::body::{Body, Bytes};
use dlock_http::Code;
use http_body::{Frame, SizeHint};
use serde::Serialize;

use crate::{measure, problem::Refusal, share::Part, store_calls::Class};

/// Bodies and answers of at most this many bytes do not count: what holders send is this small, and each connection
/// takes more.
pub(crate) const SMALL: usize = 4 * 1024;

/// The largest page of a list, in bytes of its text: a page ends after the item that exceeds it.
const PAGE: usize = 1024 * 1024;

/// Bytes of bodies and answers. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    taken: Arc<AtomicUsize>,
    most: usize,
}

/// Bytes that are taken until this is dropped.
#[derive(Debug)]
pub(crate) struct Taken {
    all: Arc<AtomicUsize>,
    bytes: usize,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Memory {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            taken: Arc::default(),
            most,
        }
    }

    /// Takes bytes for a body, or for a list before it is read.
    ///
    /// # Errors
    /// A refusal if there is no room for this class: as with calls of the store, lists are refused first. A holder is
    /// refused if twice the bytes that all others may have are taken.
    pub(crate) fn take(&self, class: Class, bytes: usize) -> Result<Taken, Refusal> {
        let room = self.room(class);
        let taken = self.add(bytes);
        if taken.all.load(Ordering::Relaxed) > room {
            measure::shed(class.name());
            return Err(Code::Overloaded.into());
        }
        Ok(taken)
    }

    /// How many bytes may be taken in total for one of this class to get some.
    pub(crate) const fn room(&self, class: Class) -> usize {
        match class.share() {
            Some(share) => self.most.saturating_mul(share) / 100,
            None => self.most.saturating_mul(2),
        }
    }

    /// Takes bytes for an answer, which is already in memory.
    pub(crate) fn add(&self, bytes: usize) -> Taken {
        self.taken.fetch_add(bytes, Ordering::Relaxed);
        Taken {
            all: Arc::clone(&self.taken),
            bytes,
        }
    }
}

/// The bytes that a request has taken, until it is answered. Clones belong to the same request.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfRequest(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    is_admitted: bool,
    taken: Vec<(Taken, Option<Part>)>,
}

impl OfRequest {
    pub(crate) fn keep(&self, taken: (Taken, Option<Part>)) {
        self.state().taken.push(taken);
    }

    /// Its sender may have what it asked for.
    pub(crate) fn admit(&self) {
        self.state().is_admitted = true;
    }

    /// Whether its answer has its own memory: an answer that is the same for every client is shared.
    pub(crate) fn is_admitted(&self) -> bool {
        self.state().is_admitted
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The body of an answer that occupies its bytes until it is sent, or dropped.
#[derive(Debug)]
pub(crate) struct Counted {
    body: Body,
    _taken: (Taken, Option<Part>),
}

impl Counted {
    pub(crate) const fn new(body: Body, taken: (Taken, Option<Part>)) -> Self {
        Self {
            body,
            _taken: taken,
        }
    }
}

impl http_body::Body for Counted {
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

/// The number of items that one call of the store answers: for the first call of a page, and at most.
const FIRST: usize = 8;
const MOST: usize = 50;

/// A page that grows until it is large.
#[derive(Debug, Default)]
pub(crate) struct PageSize {
    bytes: usize,
    items: usize,
    part: usize,
}

impl PageSize {
    /// Counts one more item, and returns whether it was the last one that the page has room for.
    pub(crate) fn is_full_with(&mut self, item: &impl Serialize) -> bool {
        // Counting cannot fail, and an item that cannot be serialised has no size.
        drop(serde_json::to_writer(&mut *self, item));
        self.items += 1;
        self.bytes >= PAGE
    }

    /// How many items to request from the store next, at most `wanted`: few at first, then twice as many each time, as
    /// far as the page has room for them. A task has up to half a megabyte, and a large answer delays other clients
    /// while it is read.
    pub(crate) fn next_part(&mut self, wanted: usize) -> usize {
        let mean = self.bytes.checked_div(self.items).unwrap_or_default();
        let room = PAGE.saturating_sub(self.bytes) / mean.max(1);
        self.part = (2 * self.part).clamp(FIRST, MOST).min(room.max(1));
        self.part.min(wanted)
    }
}

impl io::Write for PageSize {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_refused_first_and_holders_have_as_much_again() {
        let memory = Memory::new(100);
        let held = memory.add(50);
        assert!(memory.take(Class::List, 1).is_err());
        let claims = memory.take(Class::Claim, 50).unwrap();
        assert!(memory.take(Class::Claim, 1).is_err());
        let holder = memory.take(Class::Hold, 100).unwrap();
        assert!(memory.take(Class::Hold, 1).is_err());
        drop((held, claims, holder));
        assert!(memory.take(Class::List, 50).is_ok());
    }

    #[test]
    fn parts_grow_as_far_as_the_page_has_room() {
        let parts = |item: &str| {
            let mut size = PageSize::default();
            let mut parts = Vec::new();
            loop {
                let part = size.next_part(usize::MAX);
                parts.push(part);
                let is_full = (0..part).any(|_| size.is_full_with(&item));
                if is_full || parts.len() == 5 {
                    return parts;
                }
            }
        };
        assert_eq!(parts("small"), [8, 16, 32, 50, 50]);
        assert_eq!(parts(&"x".repeat(512 * 1024)), [8]);
        assert_eq!(parts(&"x".repeat(50 * 1024)), [8, 12, 1]);
        assert_eq!(PageSize::default().next_part(1), 1);
    }
}
