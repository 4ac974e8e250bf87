//! Keeping a term alive (V4 to V6): one attempt, and the loop behind a guard.

use std::sync::Arc;

use crate::{LossCause, ProviderError, Renew, RenewOutcome, clock::Tick, term::Term};

/// One renewal attempt: a number and a `sent` of its own, at most D/6, and its answer told to the
/// term. `Ok` if the lease was extended or has ended (ask the term which).
pub(crate) async fn attempt(term: &Term) -> Result<(), ProviderError> {
    let Some(draw) = term.draw() else {
        return Ok(());
    };
    let request = Renew::new(term.name.clone(), term.uuid, draw.n);
    let shared = &term.shared;
    match shared
        .call(term.attempt_limit(), shared.provider.renew(&request))
        .await
    {
        Ok(RenewOutcome::Renewed { asked }) => {
            let in_time = term.renewed(draw, asked);
            tracing::trace!(n = draw.n, in_time, "renewed");
            Ok(())
        }
        Ok(RenewOutcome::Lost(_)) if planted!(RefusalIgnored) => {
            Err(ProviderError::unknown("the term is over"))
        }
        Ok(RenewOutcome::Lost(record)) => {
            if let Some(record) = &record {
                term.state.saw(&shared.clock, record);
            }
            term.refused(record);
            Ok(())
        }
        Err(error) => {
            term.failed(error.clone());
            Err(error)
        }
    }
}

/// Renews a term until it ends (V6). Runs as a task on the term's home runtime.
pub(crate) async fn keep(term: Arc<Term>) {
    let stop = term.renewals_end();
    while wait_until_due(&term, stop).await {
        // Attempt after attempt, each with the next number, until one is answered or the lease is
        // over. One that hangs costs D/6; nothing here delays the loss, whose timers are elsewhere.
        while let Err(error) = attempt(&term).await {
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "a renewal got no answer"
            );
            if !term.is_valid() || planted!(RenewalGivesUp) {
                break;
            }
            term.shared
                .clock
                .pause(term.shared.pause_after_failure(term.plan.duration))
                .await;
            if stop.is_some_and(|stop| term.shared.clock.now() >= stop) && !planted!(RetriedTooLong)
            {
                break;
            }
        }
        if planted!(RenewalGivesUp) {
            break;
        }
    }
    match term.loss() {
        Some(loss) if matches!(loss.cause, LossCause::Released | LossCause::HandedOver) => {
            tracing::trace!(cause = %loss.cause, "renewals ended");
        }
        Some(loss) => tracing::warn!(cause = %loss.cause, "the lease was lost"),
        None => {
            term.held_too_long();
            tracing::warn!("held for the longest time allowed; renewals stop");
        }
    }
}

/// Sleeps until a renewal is due. False when there will be none: the lease has ended, or it has
/// been held for the longest time allowed.
async fn wait_until_due(term: &Term, stop: Option<Tick>) -> bool {
    let clock = &term.shared.clock;
    loop {
        let mut changed = std::pin::pin!(term.changed());
        changed.as_mut().enable();
        if !term.is_valid() {
            return false;
        }
        let (now, due) = (clock.now(), term.renewal_due());
        if stop.is_some_and(|stop| now >= stop) {
            return false;
        }
        if now >= due {
            return true;
        }
        tokio::select! {
            biased;
            () = changed => {}
            () = clock.sleep_until(stop.map_or(due, |stop| stop.min(due)), term.plan.step()) => {}
        }
    }
}
