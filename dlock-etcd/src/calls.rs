//! Calls of the client, their repeats where nothing was sent, and the news that one got no answer.

use dlock_core::{ErrorKind, ProviderError};
use etcd_client::Error;
use tokio::sync::watch;

use crate::error::{failed, was_not_sent};

/// How often a call is made, if its connection ends before it is sent. A call hands itself to a connection that is
/// there, and one may have ended without having been missed yet: after a restart of the server, say, each member's.
const TIMES: usize = 3;

/// The calls of all clones together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    unanswered: watch::Sender<()>,
}

impl Calls {
    /// The answer to a call, which is made again if it was not sent.
    ///
    /// # Cancel safety
    /// A call that is dropped got no answer.
    pub(crate) async fn answer<T, Call>(&self, call: impl Fn() -> Call) -> Result<T, ProviderError>
    where
        Call: Future<Output = Result<T, Error>>,
    {
        let mut ending = Ending {
            calls: self,
            answered: false,
        };
        let mut answer = call().await;
        for _ in 1..TIMES {
            if !answer.as_ref().is_err_and(was_not_sent) {
                break;
            }
            answer = call().await;
        }
        let answer = answer.map_err(failed);
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
    use std::{
        cell::Cell,
        future::{pending, ready},
    };

    use dlock_core::ErrorKind;
    use http_body_util::Empty;
    use hyper::{Request, body::Bytes, client::conn::http2::handshake};
    use hyper_util::rt::{TokioExecutor, TokioIo};
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
            let call = || ready(result.clone().map_err(Error::from));
            drop(calls.answer(call).await);
            assert_eq!(unanswered.has_changed().unwrap(), !answered, "{text}");
            unanswered.mark_unchanged();
        }
        tokio::select! {
            biased;
            _ = calls.answer(pending::<Result<(), Error>>) => panic!("it never ends"),
            () = ready(()) => {}
        }
        assert!(unanswered.has_changed().unwrap());
    }

    /// What the client says of a request that it hands to a connection which has ended.
    async fn unsent() -> Error {
        let (ours, _theirs) = tokio::io::duplex(1024);
        let connected = handshake(TokioExecutor::new(), TokioIo::new(ours)).await;
        let (mut sender, connection) = connected.unwrap();
        drop(connection);
        let request = Request::new(Empty::<Bytes>::new());
        let error = sender.send_request(request).await.unwrap_err();
        Error::from(Status::from_error(error.into()))
    }

    #[tokio::test]
    async fn call_that_was_not_sent_is_made_again_and_no_other_is() {
        let answered: fn() -> Result<(), Error> = || Ok(());
        let silent: fn() -> Result<(), Error> = || Err(Status::unavailable("no answer").into());
        let timed_out: fn() -> Result<(), Error> =
            || Err(Status::cancelled("Timeout expired").into());
        for (unsent_before, then, times, kind) in [
            (0, answered, 1, None),
            (1, answered, 2, None),
            (2, answered, 3, None),
            (3, answered, 3, Some(ErrorKind::NotApplied)),
            (0, silent, 1, Some(ErrorKind::Unknown)),
            (1, silent, 2, Some(ErrorKind::Unknown)),
            (0, timed_out, 1, Some(ErrorKind::Unknown)),
        ] {
            let made = Cell::new(0);
            let call = || async {
                made.set(made.get() + 1);
                if made.get() <= unsent_before {
                    Err(unsent().await)
                } else {
                    then()
                }
            };
            let answer = Calls::default().answer(call).await;
            let told = answer.err().map(|error| error.kind());
            assert_eq!((made.get(), told), (times, kind), "{unsent_before} unsent");
        }
    }
}
