//! Waiting for the first, or for all, of as many futures as there are locks.

use std::{future::poll_fn, pin::Pin, task::Poll};

/// The output of the first that is ready; never, if there are none.
pub(crate) async fn first<F: Future>(futures: Vec<F>) -> F::Output {
    let mut futures = pinned(futures);
    poll_fn(move |context| {
        let mut ready = futures
            .iter_mut()
            .map(|future| future.as_mut().poll(context));
        ready.find(Poll::is_ready).unwrap_or(Poll::Pending)
    })
    .await
}

/// The outputs of all, in their order, when the last is ready.
pub(crate) async fn all<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut outputs = Vec::new();
    let mut pending: Vec<_> = pinned(futures).into_iter().enumerate().collect();
    poll_fn(|context| {
        pending.retain_mut(|(place, future)| match future.as_mut().poll(context) {
            Poll::Ready(output) => {
                outputs.push((*place, output));
                false
            }
            Poll::Pending => true,
        });
        if pending.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    outputs.sort_by_key(|(place, _)| *place);
    outputs.into_iter().map(|(_, output)| output).collect()
}

fn pinned<F: Future>(futures: Vec<F>) -> Vec<Pin<Box<F>>> {
    futures.into_iter().map(Box::pin).collect()
}
