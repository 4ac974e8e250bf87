//! Calls of the client, and the news that one got no answer.

use dlock_core::{ErrorKind, ProviderError};
use etcd_client::Error;
use tokio::sync::watch;

use crate::error::failed;

/// The calls of all clones together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    unanswered: watch::Sender<()>,
}

impl Calls {
    /// The answer to a call.
    ///
    /// # Cancel safety
    /// A call that is dropped got no answer.
    pub(crate) async fn answer<T>(
        &self,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, ProviderError> {
        let mut ending = Ending {
            calls: self,
            answered: false,
        };
        let answer = call.await.map_err(failed);
        ending.answered = !matches!(&answer, Err(error) if error.kind() == ErrorKind::Unknown);
        answer
    }

    /// Changes whenever a call has ended without an answer.
    pub(crate) fn unanswered(&self) -> watch::Receiver<()> {
        self.unanswered.subscribe()
    }
}

/// Tells how a call ended, also if it is dropped.
struct Ending<'a> {
    calls: &'a Calls,
    answered: bool,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.calls.unanswered.send_replace(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tonic::Status;

    use super::*;

    #[tokio::test]
    async fn dropped_and_failed_calls_got_no_answer() {
        let calls = Calls::default();
        let mut unanswered = calls.unanswered();
        for (result, answered) in [
            (Ok(()), true),
            (Err(Status::permission_denied("permission denied")), true),
            (Err(Status::cancelled("Timeout expired")), false),
        ] {
            let text = format!("{result:?}");
            drop(calls.answer(ready(result.map_err(Error::from))).await);
            assert_eq!(unanswered.has_changed().unwrap(), !answered, "{text}");
            unanswered.mark_unchanged();
        }
        tokio::select! {
            biased;
            _ = calls.answer(pending::<Result<(), Error>>()) => panic!("it never ends"),
            () = ready(()) => {}
        }
        assert!(unanswered.has_changed().unwrap());
    }
}
