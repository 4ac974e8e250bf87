//! Reports to the `metrics` facade: one function for each event, never called with one of this crate's mutexes held.
//! The names are in [`metrics`](crate::metrics).
//!
//! `observe/silent.rs` has the same functions for builds without the feature: they do nothing.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dlock_core::{EndCause, metrics::SharedString};
use tokio::time::Instant;

use crate::{
    Leadership, Reason, Transition,
    label::Label,
    metrics::{
        IS_LEADER, LEADER_UNTIL, LEASE, RENEWED, TASK, TASK_FINISHED, TASK_PERIOD, TRANSITIONS,
    },
};

/// A run of a periodic task that has not ended. Dropping it reports that it was cancelled.
pub(crate) struct Run {
    election: Label,
    task: &'static str,
    began: Instant,
    outcome: &'static str,
}

/// An instance takes part from now on. Reports zero for events that have not happened yet: a counter that appears only
/// with its first event has no rate at that event.
pub(crate) fn takes_part(election: &Label, lease: Option<Duration>) {
    IS_LEADER.known([election.word()]);
    LEADER_UNTIL.known([election.word()]);
    if let Some(lease) = lease {
        LEASE.set([election.word()], lease.as_secs_f64());
    }
    for (transition, reason) in [
        ("gained", "none"),
        ("unsure", "none"),
        ("lost", "expired"),
        ("lost", "refused"),
        ("ineligible", "none"),
    ] {
        TRANSITIONS.known([election.word(), transition.into(), reason.into()]);
    }
}

/// The leader has this work.
pub(crate) fn knows(election: &Label, work: &'static str, period: Option<Duration>) {
    if let Some(period) = period {
        let labels = || [election.word(), work.into()];
        TASK_PERIOD.set(labels(), period.as_secs_f64());
        TASK_FINISHED.known(labels());
    }
}

/// Reports at each renewal the instant until which this instance leads. Never returns.
pub(crate) async fn watch(election: &Label, leadership: &Leadership) {
    loop {
        // Armed before the check.
        let renewed = leadership.view().map(dlock_core::LeaseView::renewed);
        leads(election, leadership);
        match renewed {
            Some(renewed) if leadership.is_valid() => renewed.await,
            _ => std::future::pending().await,
        }
    }
}

/// Reports that this instance leads, if the clock says so.
fn leads(election: &Label, leadership: &Leadership) {
    let now = wall();
    let left = leadership.remaining();
    if left.is_zero() {
        return leads_no_more(election);
    }
    let until = if left == Duration::MAX {
        f64::INFINITY
    } else {
        now + left.as_secs_f64()
    };
    IS_LEADER.set([election.word()], 1.0);
    LEADER_UNTIL.set([election.word()], until);
    if let Some(watch) = leadership.view() {
        let since = watch.since_success().as_secs_f64();
        RENEWED.set([election.word()], now - since);
    }
}

/// Reports that this instance does not lead.
pub(crate) fn leads_no_more(election: &Label) {
    IS_LEADER.set([election.word()], 0.0);
    LEADER_UNTIL.set([election.word()], 0.0);
}

/// Reports a transition of this instance's leadership.
pub(crate) fn changed(election: &Label, transition: &Transition) {
    let (transition, reason) = match transition {
        Transition::Gained { .. } => ("gained", "none"),
        Transition::Unsure { .. } => ("unsure", "none"),
        Transition::Recovered { .. } => ("recovered", "none"),
        Transition::Lost { loss } => ("lost", cause(&loss.cause)),
        Transition::Resigned { reason, .. } => ("resigned", word(*reason)),
        Transition::Ineligible { .. } => ("ineligible", "none"),
    };
    if matches!(transition, "lost" | "resigned") {
        leads_no_more(election);
    }
    TRANSITIONS.count([election.word(), transition.into(), reason.into()]);
}

impl Run {
    pub(crate) fn begin(election: &Label, task: &'static str) -> Self {
        Self {
            election: election.clone(),
            task,
            began: Instant::now(),
            outcome: "cancelled",
        }
    }

    pub(crate) fn end(mut self, finished: bool) {
        self.outcome = if finished { "finished" } else { "panicked" };
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let (election, task) = (self.election.word(), SharedString::const_str(self.task));
        if self.outcome == "finished" {
            TASK_FINISHED.set([election.clone(), task.clone()], wall());
        }
        let took = self.began.elapsed().as_secs_f64();
        TASK.record([election, task, self.outcome.into()], took);
    }
}

fn cause(cause: &EndCause) -> &'static str {
    match cause {
        EndCause::Expired { .. } => "expired",
        EndCause::Refused { .. } => "refused",
        EndCause::HeldTooLong => "held_too_long",
        // Another process ended this lease, or it ended in a way that this version does not know.
        _ => "other",
    }
}

const fn word(reason: Reason) -> &'static str {
    match reason {
        Reason::Shutdown => "shutdown",
        Reason::Requested => "requested",
        Reason::Asked => "asked",
    }
}

/// The wall clock, in seconds since 1970.
fn wall() -> f64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "told to people and their monitoring, which have no other clock in common with us; \
                  nothing is decided by it"
    )]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}
