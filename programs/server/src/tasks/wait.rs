//! Waiting for a task on behalf of a client: claims for the same tasks stand in line, and the first of them is sent at
//! each hint. So a hint costs at most two claims, however many wait: that of the first, and that of the next, which
//! checks whether there is another task.

use std::{future::pending, time::Duration};

use dlock_core::Stopwatch;
use dlock_http::Code;
use dlock_tasks::{Claim, Claimed};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::{
    asking::Asking, hints::Listener, memory::PageSize, problem::Refusal, store_calls::Class,
};

/// The longest pause between two claims of the first in line, where there are no hints, or one may have been lost.
const POLL: Duration = Duration::from_millis(200);
const POLL_WITH_HINTS: Duration = Duration::from_secs(1);
/// The shortest one: hints that come in the meantime cause no further claims.
const APART: Duration = Duration::from_millis(5);

/// Claims until there is a task or the deadline has come. Returns with the claim how long, by the stopwatch, it
/// certainly had not begun.
///
/// # Cancel safety
/// A dropped future sends no further claim. A claim in flight continues, and its tasks are leased to its uuid.
pub(super) async fn for_tasks(
    service: &Asking,
    claim: &Claim,
    deadline: Instant,
    stopwatch: &Stopwatch,
) -> Result<(Claimed, Duration), Refusal> {
    let tasks = service.tasks()?;
    let stopping = &service.0.stopping;
    let _place = service.wait()?;
    let line = tasks.lines.of(claim);
    let turn = tokio::select! {
        biased;
        () = stopping.cancelled() => return Err(Code::Stopping.into()),
        turn = timeout_at(deadline, line.lock()) => turn,
    };
    let Ok(mut turn) = turn else {
        return Ok((Claimed::default(), Duration::ZERO));
    };
    loop {
        // Listen first, then claim: a task that comes between the two is hinted.
        listen(service, claim, &mut turn, deadline).await;
        let sent = stopwatch.elapsed();
        let claimed = ask(&service.lowered(Class::Wait), claim).await?;
        if !claimed.tasks.is_empty() {
            return Ok((claimed, sent));
        }
        let poll = if turn.is_some() {
            POLL_WITH_HINTS
        } else {
            POLL
        };
        let pause = claimed.next.map_or(poll, |next| next.clamp(APART, poll));
        let again = (Instant::now() + pause).min(deadline);
        tokio::select! {
            biased;
            () = stopping.cancelled() => return Err(Code::Stopping.into()),
            () = hint(&mut turn) => sleep(APART).await,
            () = sleep_until(again) => {}
        }
        if Instant::now() >= deadline {
            return Ok((claimed, Duration::ZERO));
        }
    }
}

/// Listens from now on, if the store has hints and answers.
async fn listen(service: &Asking, claim: &Claim, turn: &mut Option<Listener>, deadline: Instant) {
    if let Some(listener) = turn {
        return listener.skip();
    }
    let Ok(tasks) = service.tasks() else { return };
    let limit = (Instant::now() + service.0.limits.call_time).min(deadline);
    if let Ok(Ok(opened)) = timeout_at(limit, tasks.hints.listen(claim)).await {
        *turn = opened;
    }
}

/// Waits for a hint. A stream that has ended has none, and another one is opened after the pause.
async fn hint(turn: &mut Option<Listener>) {
    if let Some(listener) = turn
        && listener.next().await.is_some()
    {
        return;
    }
    *turn = None;
    pending::<()>().await;
}

/// One claim, which requests so few tasks at a time from the store that no large one delays other clients. It ends when
/// its answer is large, and reports then that there may be more at once.
pub(super) async fn ask(service: &Asking, claim: &Claim) -> Result<Claimed, Refusal> {
    let limit = service.0.limits.call_time.min(claim.lease / 6);
    let deadline = Instant::now() + limit;
    let (mut all, mut size) = (Claimed::default(), PageSize::default());
    let mut part = claim.clone();
    loop {
        part.max = size.next_part(claim.max - all.tasks.len());
        let (most, part_of_it) = (part.max, part.clone());
        let left = deadline.saturating_duration_since(Instant::now());
        let claimed = service
            .ask_tasks(left, |store| async move { store.claim(&part_of_it).await })
            .await;
        let claimed = match claimed {
            Ok(claimed) => claimed,
            // A part that claimed nothing leaves the earlier ones as they are. After a part that may have claimed
            // something the client repeats its claim, and gets all of it.
            Err(Refusal(problem)) if problem.code != Code::Unknown && !all.tasks.is_empty() => {
                return Ok(with_more(all));
            }
            Err(refusal) => return Err(refusal),
        };
        let is_last = claimed.tasks.len() < most;
        let mut is_full = false;
        for task in &claimed.tasks {
            is_full = size.is_full_with(&(&task.payload, &task.checkpoint));
        }
        all.next = claimed.next;
        all.tasks.extend(claimed.tasks);
        if is_last || all.tasks.len() >= claim.max {
            return Ok(all);
        }
        // The next part may take as long as this one.
        let is_late = deadline.saturating_duration_since(Instant::now()) < left / 2;
        if is_full || is_late {
            return Ok(with_more(all));
        }
        // The tasks it held before have been answered already.
        part.again = false;
    }
}

/// The same, and there may be more at once.
fn with_more(claimed: Claimed) -> Claimed {
    Claimed::new(claimed.tasks, Some(Duration::ZERO))
}
