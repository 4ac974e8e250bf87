//! Waiting for a lease on behalf of a client: read until it may be free, then ask once. It also asks in order to mark a
//! term that keeps it out (N1), whose release is hinted then.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Name, Record, Stopwatch,
    provider::{Acquire, AcquireOutcome, Wakeup, mark},
};
use dlock_http::Code;
use tokio::{
    sync::OwnedMutexGuard,
    time::{Instant, sleep, timeout_at},
};

use super::answer::pseudonymous;
use crate::{
    asking::Asking,
    hints::Listener,
    long_polls::{LONGEST, Turn},
    problem::Refusal,
    store_calls::Class,
};

/// How long after one waiter for a name the next one reads.
const APART: Duration = Duration::from_millis(5);
/// How often a waiter reads where there are no hints, or where one may have been lost.
const POLL: Duration = Duration::from_millis(100);
const POLL_WITH_HINTS: Duration = Duration::from_secs(1);

/// The result of a wait.
#[derive(Debug)]
pub(super) struct Waited {
    /// How long the term has certainly not begun, counted from the start of the wait.
    pub(super) waited: Duration,
    /// The request to send: with the claim on a term that this server has observed unchanged for long enough.
    pub(super) request: Acquire,
    /// The answer, if the name was free when a mark was asked for.
    pub(super) outcome: Option<AcquireOutcome>,
}

/// Waits until the name of this request may be free, or until `longest` has passed.
pub(super) async fn until_free(
    service: &Asking,
    request: Acquire,
    longest: Duration,
) -> Result<Waited, Refusal> {
    let shared = &service.0;
    let mut waited = Waited {
        waited: Duration::ZERO,
        request,
        outcome: None,
    };
    // For a client that sends none.
    if waited.request.marks == 0 {
        waited.request.marks = mark(&waited.request.owner);
    }
    let stopwatch = shared.clock.stopwatch();
    let deadline = Instant::now() + longest.min(LONGEST);
    let _place = service.wait()?;
    let turn = shared.waits.turn(&waited.request.name);
    tokio::select! {
        biased;
        () = shared.stopping.cancelled() => Err(Code::Stopping.into()),
        looked = timeout_at(deadline, look(service, turn, &stopwatch, &mut waited)) => match looked {
            Ok(Err(refusal)) => Err(refusal),
            // The time has passed: one answer of the store says who has it.
            Ok(Ok(())) | Err(_) => Ok(waited),
        },
    }
}

/// Reads, as the oldest waiter for the name, until it may be free.
async fn look(
    service: &Asking,
    turn: Arc<Turn>,
    stopwatch: &Stopwatch,
    waited: &mut Waited,
) -> Result<(), Refusal> {
    let name = waited.request.name.clone();
    let _turn: OwnedMutexGuard<()> = match Arc::clone(&turn).try_lock_owned() {
        Ok(first) => first,
        Err(_) => {
            let next = turn.lock_owned().await;
            // The waiter before this one is about to ask, and would be in the way.
            sleep(APART).await;
            next
        }
    };
    let marks = service.0.provider.capabilities().marks;
    let mut marking = false;
    let mut hints = None;
    let mut listened = false;
    let mut observed: Option<(Record, Stopwatch)> = None;
    loop {
        let sent = stopwatch.elapsed();
        let record = if marking {
            match ask(service, &waited.request).await? {
                AcquireOutcome::Held(record) => Some(record),
                outcome => {
                    waited.waited = sent;
                    waited.outcome = Some(outcome);
                    return Ok(());
                }
            }
        } else {
            read(service, &name).await?
        };
        let Some(record) = record else {
            waited.waited = sent;
            return Ok(());
        };
        if record.uuid == waited.request.new {
            // A repeat of a request that got it.
            return Ok(());
        }
        waited.waited = sent;
        let (claimed, version) = (waited.request.prev, Some(record.version()));
        let is_claimed = claimed == version || claimed.map(pseudonymous) == version;
        if is_claimed || record.released || record.remaining.is_some_and(|left| left.is_zero()) {
            return Ok(());
        }
        let is_marked = record.wanted != 0;
        let pause = match (&observed, record.remaining) {
            (_, Some(remaining)) => remaining,
            // Only an observer can find out that its holder is gone.
            (Some((seen, since)), None) if seen.version() == record.version() => {
                let left = record.duration.saturating_sub(since.elapsed());
                if left.is_zero() {
                    waited.request.prev = Some(record.version());
                    return Ok(());
                }
                left
            }
            (_, None) => {
                let duration = record.duration;
                observed = Some((record, service.0.clock.stopwatch()));
                duration
            }
        };
        // A release from before the server listened is not hinted: it reads once more.
        let mut again = false;
        if !listened {
            listened = true;
            hints = listen(service).await;
            again = hints.is_some();
        }
        // A mark that the store left out is requested again after the pause.
        marking = marks && !is_marked && !marking;
        if !(again || marking) {
            let poll = if hints.is_some() && (is_marked || !marks) {
                POLL_WITH_HINTS
            } else {
                POLL
            };
            pause_for(service, &mut hints, &name, pause, poll).await;
        }
    }
}

async fn read(service: &Asking, name: &Name) -> Result<Option<Record>, Refusal> {
    let (limit, name) = (service.0.limits.call_time, name.clone());
    let service = service.lowered(Class::Wait);
    let read = service.ask(limit, |store| async move { store.read(&name).await });
    read.await
}

async fn ask(service: &Asking, request: &Acquire) -> Result<AcquireOutcome, Refusal> {
    let limit = service.0.limits.call_time.min(request.duration / 6);
    let (service, request) = (service.lowered(Class::Wait), request.clone());
    let asked = service.ask(limit, |store| async move { store.acquire(&request).await });
    asked.await
}

/// The store's hints, if it has any and can be listened to.
async fn listen(service: &Asking) -> Option<Listener> {
    let capabilities = service.0.provider.capabilities();
    if !capabilities.watch {
        return None;
    }
    let listening = tokio::time::timeout(service.0.limits.call_time, service.0.hints.listen());
    listening.await.ok()?.ok()?
}

/// Waits until there is a hint for this name, or the time has passed, or it is time to read again.
async fn pause_for(
    service: &Asking,
    hints: &mut Option<Listener>,
    name: &Name,
    pause: Duration,
    poll: Duration,
) {
    let poll = service.0.waits.stretched(poll);
    let hinted = async {
        let Some(listener) = hints else {
            return std::future::pending().await;
        };
        loop {
            match listener.next().await {
                Some(Wakeup::Name(free)) if free != *name => {}
                Some(_) => return,
                None => break,
            }
        }
        *hints = None;
    };
    // At least a millisecond: a store that answers the same at once would be asked without end.
    let pause = pause.clamp(Duration::from_millis(1), poll);
    tokio::select! {
        () = hinted => {}
        () = sleep(pause) => {}
    }
}
