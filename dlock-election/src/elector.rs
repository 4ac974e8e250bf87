//! The elector: follows, leads, steps down, follows again.

use std::{pin::pin, sync::Arc, time::Duration};

use dlock_core::{End, Error, ErrorKind, Guard, State};
use tokio::time::{Instant, sleep};

use crate::{
    Leadership, Reason, RunError, Shutdown, Transition,
    jobs::{Held, Jobs},
    observe,
    shared::Shared,
    telling::told,
};

/// Why a leadership has to end.
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
            // What it led with was given back.
            Some(Reason::Shutdown) => return Ok(()),
            Some(_) => tokio::select! {
                biased;
                () = &mut shutdown => break,
                () = sleep(shared.times.cool_down) => {}
            },
        }
    }
    // A try that was under way, and the release of what it may have been granted.
    withdraw(shared, 2).await;
    Ok(())
}

/// Waits for what goes on in the background: a process that ends before would keep everybody out until
/// the lease ends. Each of so many `calls` one after the other gets a sixth of the lease; a store that
/// does not answer keeps nobody for longer.
async fn withdraw(shared: &Shared, calls: u32) {
    tokio::select! {
        biased;
        () = shared.lock.idle() => {}
        () = sleep(shared.lock.duration() / 6 * calls) => told(
            || tracing::warn!(name: "withdrawal_unanswered", "the store does not answer: what this instance led with or has asked for may keep others out until the lease ends"),
        ),
    }
}

/// Follows until this instance has won.
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
            // The store is down, or refuses us. Its operator may mend it; we only ask again.
            Err(error) => {
                told(|| {
                    tracing::warn!(
                        name: "cannot_take_part",
                        error = &error as &dyn std::error::Error,
                        "cannot take part in the election"
                    );
                });
                // A request gets a sixth of the lease: the store has given other answers before this
                // one.
                if asked.elapsed() > shared.lock.duration() / 6 {
                    obstacle = None;
                }
                tell_of_obstacle(shared, &mut obstacle, &error);
                sleep(shared.times.poll_every).await;
            }
        }
    }
}

/// Tells why this instance cannot be elected, unless that is what was told last.
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

/// Leads until the leadership is lost, or somebody wants this instance to resign: why, also if the
/// leadership was lost before it could be given back. The work has ended when this returns, and before
/// the leadership is given back.
async fn lead(shared: &Shared, guard: Guard, shutdown: &mut Shutdown) -> Option<Reason> {
    let watch = guard.view();
    let token = guard.token();
    let held = Held::new(guard);
    let leadership = Leadership::new(token, Some(watch), &shared.label);
    // Whatever drops this future, nobody is told any more that this instance leads.
    let _reign = Reign::begin(shared, &leadership);
    let mut jobs = shared.works.under(&leadership, Some(Arc::clone(&held)));
    shared.announcer.tell(Transition::Gained { token });

    let (mut loss, reason) = match reign(shared, &leadership, &mut jobs, shutdown).await {
        ReignEnd::Lost(loss) => (Some(loss), None),
        ReignEnd::Resign(reason) => (None, Some(reason)),
    };
    leadership.end();
    if reason.is_some() {
        // What the work still does is protected: renewals go on until it has ended.
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
        // It has run out here, and not yet in the store. It is released in the background.
        (guard, Some(Reason::Shutdown)) => {
            drop(guard);
            withdraw(shared, 1).await;
        }
        _ => {}
    }
    reason
}

/// Until the leadership has to end.
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

/// Tells when the leadership becomes unsure, and when it is not so any more. Never returns.
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

/// Releases, and waits a little for it: who stops wants to be gone, and a store that does not answer
/// must not keep it. The release goes on in the background then, or the lease ends by itself.
async fn give_back(guard: Guard) {
    const PATIENCE: Duration = Duration::from_secs(10);
    tokio::select! {
        biased;
        // Its outcome is logged where it runs.
        _ = guard.release() => {}
        () = sleep(PATIENCE) => {}
    }
}

/// This instance leads, until this is dropped.
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
