//! Writes endings: those that come while one call is in flight go into the next. Endings that a call could not write
//! are repeated concurrently with the others: a task whose row is kept locked does not delay the endings of other
//! tasks.

use std::{mem, sync::Arc, time::Duration};

use dlock_core::ErrorKind;
use futures_util::{StreamExt, future::OptionFuture, stream::FuturesUnordered};
use tokio::{sync::mpsc, time::sleep};

use crate::{Ended, Ending, State, TaskStore};

/// The most endings in one call.
const BATCH: usize = 500;

/// The most calls that are repeated at a time. While there are this many, no other ending is written, and the worker
/// runs out of places for the endings of new tasks.
const REPEATED: usize = 8;

/// The pauses between calls that fail, from the first to the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// Writes the received endings until the sender is gone.
///
/// An ending is repeated until the store answers: it is valid even when the lease has run out, as long as no other
/// worker has claimed the task.
pub(super) async fn write(store: Arc<dyn TaskStore>, mut endings: mpsc::Receiver<Ending>) {
    let mut batch = Vec::new();
    let mut calling = None;
    let mut repeated = FuturesUnordered::new();
    let mut is_open = true;
    loop {
        let may_call = is_open && calling.is_none() && repeated.len() < REPEATED;
        tokio::select! {
            biased;
            Some::<Vec<_>>(left) = OptionFuture::from(calling.as_mut()) => {
                calling = None;
                if !left.is_empty() {
                    repeated.push(repeat(&*store, left));
                }
            }
            Some(()) = repeated.next() => {}
            received = endings.recv_many(&mut batch, BATCH), if may_call => {
                is_open = received > 0;
                if is_open {
                    calling = Some(Box::pin(finish(&*store, mem::take(&mut batch))));
                }
            }
            else => return,
        }
    }
}

async fn repeat(store: &dyn TaskStore, mut endings: Vec<Ending>) {
    let mut pause = PAUSES.0;
    while !endings.is_empty() {
        sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
        endings = finish(store, endings).await;
    }
}

/// Makes one call. Returns the endings whose outcome is unknown, to be sent again.
async fn finish(store: &dyn TaskStore, endings: Vec<Ending>) -> Vec<Ending> {
    match store.finish(&endings).await {
        Ok(ended) => tell(&endings, &ended),
        // One of them cannot be written, such as an output that is too large. The others still can.
        Err(error) if error.kind() == ErrorKind::Fatal && endings.len() > 1 => {
            let mut left = Vec::new();
            for ending in endings {
                left.extend(Box::pin(finish(store, vec![ending])).await);
            }
            return left;
        }
        Err(error) if error.kind() == ErrorKind::Fatal => {
            let key = endings.first().map(|ending| ending.key);
            tracing::error!(?key, %error, "a task cannot be ended, and comes again when its lease runs out");
        }
        Err(error) => {
            tracing::warn!(%error, "tasks cannot be ended yet");
            return endings;
        }
    }
    Vec::new()
}

fn tell(endings: &[Ending], ended: &[Ended]) {
    for (ending, ended) in endings.iter().zip(ended) {
        let (task, token) = (ending.key.id, ending.key.token);
        match ended {
            Ended::Own(State::Dead) => {
                tracing::error!(%task, %token, "a task is dead: it is not tried again");
            }
            Ended::Own(state) => tracing::debug!(%task, %token, "a task is {state}"),
            Ended::Lost(state) => tracing::warn!(
                %task, %token, ?state,
                "a task was lost before it was ended: its work may be done twice"
            ),
        }
    }
}
