//! How requests end, and a signal that one got no answer.

use tokio::sync::watch;

/// The requests of a store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    /// The number of answered requests. Only a request without an answer wakes those who wait for a change.
    answers: watch::Sender<u64>,
}

impl Calls {
    /// A request begins. Unless it is [answered](Call::answered), it ends without an answer, also if it is dropped.
    pub(crate) const fn begin(&self) -> Call<'_> {
        Call {
            calls: self,
            answered: false,
        }
    }

    /// The number of answered requests so far.
    pub(crate) fn answers(&self) -> u64 {
        *self.answers.borrow()
    }

    /// Changes whenever a request has ended without an answer.
    pub(crate) fn unanswered(&self) -> watch::Receiver<u64> {
        self.answers.subscribe()
    }
}

/// A request in flight.
pub(crate) struct Call<'calls> {
    calls: &'calls Calls,
    answered: bool,
}

impl Call<'_> {
    pub(crate) fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.calls.answers.send_if_modified(|answers| {
            *answers += u64::from(self.answered);
            !self.answered
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_call_without_an_answer_is_told_of() {
        let calls = Calls::default();
        let mut unanswered = calls.unanswered();
        calls.begin().answered();
        assert_eq!(calls.answers(), 1);
        assert!(!unanswered.has_changed().unwrap());
        drop(calls.begin());
        assert_eq!(calls.answers(), 1);
        assert!(unanswered.has_changed().unwrap());
        unanswered.mark_unchanged();
        calls.begin().answered();
        assert!(!unanswered.has_changed().unwrap());
    }
}
