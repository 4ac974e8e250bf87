//! The elector: follows, leads, steps down, follows again.

use std::{pin::pin, sync::Arc, time::Duration};

use dlock_core::{End, Error, ErrorKind, Guard, State};
use tokio::time::{Instant, sleep};

use crate::{
    Leadership, Reason, RunError, Shutdown, Transition,
    jobs::{Held, Jobs},
    observe,
    shared::Shared,
    subscriber::told,
};

/// The reason why a leadership has to end.
enum ReignEnd {
    Lost(End),
    Resign(Reason),
}

/// Follows and leads until `shutdown` resolves.
pub(crate) async fn run(shared: &Shared, mut shutdown: Shutdown) -> Result<(), RunError> {
    let _turn = shared
        .running
        .try_lock()
        .map_err(|_| RunError::AlreadyRunning)?;
    observe::takes_part(&shared.label, Some(shared.lock.duration()));
    shared.works.show();
    loop {
        let guard = tokio::select! {
            biased;
            () = &mut shutdown => break,
            guard = win(shared) => guard?,
        };
        match lead(shared, guard, &mut shutdown).await {
            None => {}
            // Its leadership has been released.
            Some(Reason::Shutdown) => return Ok(()),
            Some(_) => tokio::select! {
                biased;
                () = &mut shutdown => break,
                () = sleep(shared.times.cool_down) => {}
            },
        }
    }
    // For an attempt in flight, and for the release of its possible grant.
    withdraw(shared, 2).await;
    Ok(())
}

/// Waits for the calls in the background: a process that ends before them would keep all others out until the lease
/// ends. There are `calls` of them, one after the other, and each gets a sixth of the lease: a store that does not
/// answer cannot delay the end for longer.
async fn withdraw(shared: &Shared, calls: u32) {
    tokio::select! {
        biased;
        () = shared.lock.idle() => {}
        () = sleep(shared.lock.duration() / 6 * calls) => told(
            || tracing::warn!(name: "withdrawal_unanswered", "the store does not answer: a leadership that this instance had or requested may keep others out until the lease ends"),
        ),
    }
}

/// Follows until this instance wins.
async fn win(shared: &Shared) -> Result<Guard, RunError> {
    if shared.never_lead {
        return std::future::pending().await;
    }
    let mut obstacle = None;
    loop {
        let asked = Instant::now();
        match shared.lock.hold().await {
            Ok(guard) => return Ok(guard),
            Err(Error::Closed) => return Err(RunError::Closed),
            // The store is down, or refuses this instance. Its operator may mend that; the instance only tries again.
            Err(error) => {
                told(|| {
                    tracing::warn!(
                        name: "cannot_take_part",
                        error = &error as &dyn std::error::Error,
                        "cannot take part in the election"
                    );
                });
                // A request gets a sixth of the lease, so the store has given other answers before this one.
                if asked.elapsed() > shared.lock.duration() / 6 {
                    obstacle = None;
                }
                tell_of_obstacle(shared, &mut obstacle, &error);
                sleep(shared.times.poll_every).await;
            }
        }
    }
}

/// Announces why this instance cannot be elected, unless the last announcement gave the same reason.
fn tell_of_obstacle(shared: &Shared, told: &mut Option<String>, error: &Error) {
    let error = match error {
        Error::Provider(error) if error.kind() == ErrorKind::Fatal => error.clone(),
        _ => return *told = None,
    };
    let obstacle = error.to_string();
    if told.as_ref() != Some(&obstacle) {
        *told = Some(obstacle);
        shared.announcer.tell(Transition::Ineligible { error });
    }
}

/// Leads until the leadership is lost, or this instance is to resign; returns the reason for resigning, even if the
/// leadership was lost before it could be released. The work has ended when this returns, and before the leadership is
/// released.
async fn lead(shared: &Shared, guard: Guard, shutdown: &mut Shutdown) -> Option<Reason> {
    let watch = guard.view();
    let token = guard.token();
    let held = Held::new(guard);
    let leadership = Leadership::new(token, Some(watch), &shared.label);
    // However this future is dropped, this instance no longer counts as leader afterwards.
    let _reign = Reign::begin(shared, &leadership);
    let mut jobs = shared.works.under(&leadership, Some(Arc::clone(&held)));
    shared.announcer.tell(Transition::Gained { token });

    let (mut loss, reason) = match reign(shared, &leadership, &mut jobs, shutdown).await {
        ReignEnd::Lost(loss) => (Some(loss), None),
        ReignEnd::Resign(reason) => (None, Some(reason)),
    };
    leadership.end();
    if reason.is_some() {
        // The work is still protected: renewals continue until it has ended.
        tokio::select! {
            biased;
            lost = lost(&leadership) => loss = Some(lost),
            () = jobs.finish(shared.times.grace) => {}
            () = observe::watch(&shared.label, &leadership) => {}
        }
    }
    if let Some(loss) = &loss {
        let loss = loss.clone();
        shared.announcer.tell(Transition::Lost { loss });
    }
    jobs.cancel().await;
    drop(jobs);
    match (held.take(), reason) {
        (Some(guard), Some(reason)) if loss.is_none() => {
            give_back(guard).await;
            let resigned = Transition::Resigned { token, reason };
            shared.announcer.tell(resigned);
        }
        // The lease has run out here, but not yet in the store. It is released in the background.
        (guard, Some(Reason::Shutdown)) => {
            drop(guard);
            withdraw(shared, 1).await;
        }
        _ => {}
    }
    reason
}

/// Resolves when the leadership has to end.
async fn reign(
    shared: &Shared,
    leadership: &Leadership,
    jobs: &mut Jobs,
    shutdown: &mut Shutdown,
) -> ReignEnd {
    let mut working = pin!(jobs.run());
    let mut lost = pin!(lost(leadership));
    let mut asked = pin!(asked(leadership));
    let mut told = pin!(tell_of_doubt(shared, leadership));
    let mut resign = pin!(leadership.resigning());
    let mut watched = pin!(observe::watch(&shared.label, leadership));
    tokio::select! {
        biased;
        loss = &mut lost => ReignEnd::Lost(loss),
        () = shutdown => ReignEnd::Resign(Reason::Shutdown),
        () = &mut resign => ReignEnd::Resign(Reason::Requested),
        () = &mut asked => ReignEnd::Resign(Reason::Asked),
        () = &mut told => std::future::pending().await,
        () = &mut watched => std::future::pending().await,
        () = &mut working => std::future::pending().await,
    }
}

/// Resolves when the leadership is lost.
async fn lost(leadership: &Leadership) -> End {
    match leadership.view() {
        Some(watch) => watch.ended().await,
        None => std::future::pending().await,
    }
}

/// Resolves when another process has asked this one to resign.
async fn asked(leadership: &Leadership) {
    if let Some(watch) = leadership.view() {
        watch.until_asked().await;
        if watch.asked() {
            return;
        }
    }
    std::future::pending::<()>().await;
}

/// Announces when the leadership becomes unsure, and when it is certain again. Never returns.
async fn tell_of_doubt(shared: &Shared, leadership: &Leadership) {
    let token = leadership.token();
    while let Some(watch) = leadership.view() {
        watch.unsure().await;
        if !matches!(watch.state(), State::Unsure) {
            break;
        }
        shared.announcer.tell(Transition::Unsure { token });
        watch.settled().await;
        if !matches!(watch.state(), State::Valid) {
            break;
        }
        shared.announcer.tell(Transition::Recovered { token });
    }
    std::future::pending::<()>().await;
}

/// Releases the leadership, and waits for that for a limited time: a store that does not answer must not delay a
/// process that stops. After that time, the release continues in the background, or the lease runs out.
async fn give_back(guard: Guard) {
    const PATIENCE: Duration = Duration::from_secs(10);
    tokio::select! {
        biased;
        // The release logs its own outcome.
        _ = guard.release() => {}
        () = sleep(PATIENCE) => {}
    }
}

/// This instance leads until this is dropped.
struct Reign<'a>(&'a Shared, Leadership);

impl<'a> Reign<'a> {
    fn begin(shared: &'a Shared, leadership: &Leadership) -> Self {
        shared.lead(Some(leadership.clone()));
        Self(shared, leadership.clone())
    }
}

impl Drop for Reign<'_> {
    fn drop(&mut self) {
        self.1.over();
        self.0.lead(None);
        observe::leads_no_more(&self.0.label);
    }
}
