//! One renewal attempt and the meaning of its answer. `renewals` decides when attempts are made, or a user who renews
//! by hand.

use crate::{
    ProviderError,
    emit::log,
    events::Operation,
    lease::{RenewalAttempt, Term},
    provider::{Renew, RenewOutcome},
};

/// One attempt for one term: a number and a `sent` of its own, at most D/6; the term gets its answer. `Ok` if the
/// lease was extended or has ended (the term says which).
pub(crate) async fn attempt(term: &Term) -> Result<(), ProviderError> {
    let Some(attempt) = term.next_attempt() else {
        return Ok(());
    };
    let request = request(term, attempt);
    let store = &term.store;
    let what = (Operation::Renew, term.plan.group.as_ref());
    let answer = store
        .call(what, term.attempt_limit(), store.provider.renew(&request))
        .await;
    settle(term, attempt, answer)
}

/// The request of this attempt.
pub(crate) fn request(term: &Term, RenewalAttempt { n, .. }: RenewalAttempt) -> Renew {
    Renew::new(term.name.clone(), term.uuid, n)
}

/// Settles an attempt with its answer: a success counts for the attempt that it answers. `Ok` if the store has
/// answered.
pub(crate) fn settle(
    term: &Term,
    attempt: RenewalAttempt,
    answer: Result<RenewOutcome, ProviderError>,
) -> Result<(), ProviderError> {
    match answer {
        Ok(RenewOutcome::Renewed { asked }) => {
            let in_time = term.renewed(attempt, asked);
            log!(
                trace,
                name: "renewed",
                lock = %term.name,
                token = term.token.get(),
                n = attempt.n,
                in_time,
                "renewed"
            );
            Ok(())
        }
        Ok(RenewOutcome::Lost(record)) => {
            if let Some(record) = &record {
                term.state.saw(&term.store.clock, record);
            }
            term.refused(record.as_ref());
            Ok(())
        }
        Err(error) => {
            term.unanswered(error.clone());
            log!(
                debug,
                name: "renewal_unanswered",
                lock = %term.name,
                backend = term.store.backend,
                token = term.token.get(),
                n = attempt.n,
                error = &error as &dyn std::error::Error,
                "a renewal got no answer"
            );
            Err(error)
        }
    }
}
