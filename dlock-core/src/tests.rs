//! Helpers for the unit tests of several modules.

pub(crate) mod scripted;
pub(crate) mod traced;

use std::{
    pin::Pin,
    task::{Context, Poll, Waker},
};

/// Polls a future once.
pub(crate) fn poll_once<F: Future>(future: Pin<&mut F>) -> Option<F::Output> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(ended) => Some(ended),
        Poll::Pending => None,
    }
}
