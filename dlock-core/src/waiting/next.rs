//! The next step of a waiter whose turn it is, as a function of what it knows in this round. `contend` gathers the facts,
//! does the steps, and carries a wake-up to the next round. The test has a table: a row for each step.

#[cfg(test)]
mod tests;

use std::time::Duration;

/// What a waiter knows in one round, which ends when it sleeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// Its caller had gone away when the round began; then it is late, too.
    pub(super) gone: bool,
    /// Its limit has passed, or its caller has gone.
    pub(super) is_late: bool,
    /// A wake-up came that it has not followed: it has reason to expect a grant.
    pub(super) woken: bool,
    /// It has looked for a term of its own client that is on offer to it.
    pub(super) looked: bool,
    /// How long it waits for such a term, if one will probably come: only in the first round.
    pub(super) expects_term: Option<Duration>,
    /// The outage, if there is one, lets it send a call.
    pub(super) admitted: bool,
    /// A read costs less than a refusal, and the holder that it has seen is, as far as is known, still there.
    pub(super) reads: bool,
    /// The result of its call in this round.
    pub(super) result: Option<CallResult>,
}

/// The result of a call that brought no lease.
#[derive(Clone, Copy, Debug)]
pub(super) enum CallResult {
    /// The pause until the next one. A hint ends it.
    Refused(Duration),
    /// No answer, or no call in an outage, and the pause until the next one.
    Silence(Duration),
    /// The store gives no answer for longer than a waiter puts up with: the wait ends.
    BeyondHelp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Leave,
    TimeOut,
    GiveUp,
    /// Takes the term that its own client offers.
    Take,
    Read,
    Try,
    /// No call is sent, which counts as one without an answer.
    Skip,
    /// Sleeps until the time has passed or a wake-up comes.
    Sleep(Duration),
    /// Sleeps until the time has passed, also after a wake-up, which may come from the remains of the failed try. A term
    /// on offer ends it.
    Rest(Duration),
}

pub(super) const fn next(facts: &Facts) -> Step {
    match (facts.result, facts.expects_term) {
        (Some(CallResult::BeyondHelp), _) => Step::GiveUp,
        (Some(_), _) if facts.is_late => Step::TimeOut,
        (Some(CallResult::Refused(pause)), _) => Step::Sleep(pause),
        (Some(CallResult::Silence(pause)), _) => Step::Rest(pause),
        (None, _) if facts.gone => Step::Leave,
        (None, _) if facts.woken && facts.is_late => Step::TimeOut,
        (None, _) if !facts.looked => Step::Take,
        (None, Some(pause)) => Step::Sleep(pause),
        (None, None) if !facts.admitted => Step::Skip,
        (None, None) if facts.reads && !facts.woken => Step::Read,
        (None, None) => Step::Try,
    }
}
