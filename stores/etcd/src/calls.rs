//! Calls of the client, their repeats where nothing was done, and a signal that one got no answer.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use dlock_core::{ErrorKind, ProviderError};
use etcd_client::Error;
use tokio::sync::watch;

use crate::{
    error::{failed, not_logged_in, wants_login, was_not_sent},
    logins::Logins,
};

/// How often a call is made, if its connection ends before it is sent. A call goes to an existing connection, and that
/// may have ended unnoticed: each member's after a restart of the server, for example. The same holds if its token is
/// refused: each change of users or roles may end another one.
const TIMES: usize = 3;

/// The calls of all clones together.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    logins: Logins,
    /// Whether the last call found no connection in all its attempts. The next one is made once.
    down: Arc<AtomicBool>,
    unanswered: watch::Sender<()>,
}

impl Calls {
    pub(crate) fn new(logins: Logins) -> Self {
        Self {
            logins,
            down: Arc::default(),
            unanswered: watch::Sender::default(),
        }
    }

    /// The answer to a call, which is repeated if it was not sent, and after a login if its token was refused.
    ///
    /// # Cancel safety
    /// A dropped call counts as one without an answer.
    pub(crate) async fn answer<T, Call>(&self, call: impl Fn() -> Call) -> Result<T, ProviderError>
    where
        Call: Future<Output = Result<T, Error>>,
    {
        let mut ending = Ending {
            calls: self,
            answered: false,
        };
        let answer = self.repeated(call).await;
        ending.answered = !matches!(&answer, Err(error) if error.kind() == ErrorKind::Unknown);
        answer
    }

    async fn repeated<T, Call>(&self, call: impl Fn() -> Call) -> Result<T, ProviderError>
    where
        Call: Future<Output = Result<T, Error>>,
    {
        let mut made = 0;
        loop {
            let logins = self.logins.done();
            let error = match call().await {
                Ok(answer) => {
                    self.down.store(false, Relaxed);
                    return Ok(answer);
                }
                Err(error) => error,
            };
            made += 1;
            let unsent = was_not_sent(&error);
            let again = made < TIMES && (unsent && !self.down.load(Relaxed) || wants_login(&error));
            if !again {
                self.down.store(unsent, Relaxed);
                return Err(failed(error));
            }
            if !unsent && let Err(kind) = self.logins.after(logins).await {
                return Err(not_logged_in(error, kind));
            }
        }
    }

    /// Changes whenever a call has ended without an answer.
    pub(crate) fn unanswered(&self) -> watch::Receiver<()> {
        self.unanswered.subscribe()
    }
}

/// Reports how a call ended, also if it is dropped.
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
        sync::atomic::AtomicUsize,
        time::Duration,
    };

    use dlock_core::ErrorKind;
    use http_body_util::Empty;
    use hyper::{Request, body::Bytes, client::conn::http2::handshake};
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use tonic::Status;

    use super::*;

    #[tokio::test]
    async fn dropped_and_failed_calls_got_no_answer() {
        let calls = Calls::new(Logins::new(|| panic!("no login")));
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

    /// The client's error for a request that it hands to a connection which has ended.
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
            let calls = Calls::new(Logins::new(|| panic!("no login")));
            let answer = calls.answer(call).await;
            let told = answer.err().map(|error| error.kind());
            assert_eq!((made.get(), told), (times, kind), "{unsent_before} unsent");
        }
    }

    /// While the server is down, calls go at the pace of the connections.
    #[tokio::test]
    async fn call_after_one_that_found_no_connection_is_made_once() {
        let calls = Calls::new(Logins::new(|| panic!("no login")));
        for (found, times) in [(false, 3), (false, 1), (false, 1), (true, 1), (false, 3)] {
            let made = Cell::new(0);
            let call = || async {
                made.set(made.get() + 1);
                if found { Ok(()) } else { Err(unsent().await) }
            };
            assert_eq!(calls.answer(call).await.is_ok(), found);
            assert_eq!(made.get(), times);
        }
    }

    #[tokio::test]
    async fn refused_token_costs_one_login_and_a_repeat() {
        let refused: fn() -> Status = || Status::unauthenticated("etcdserver: invalid auth token");
        let older: fn() -> Status =
            || Status::invalid_argument("etcdserver: revision of auth store is old");
        let denied: fn() -> Status =
            || Status::invalid_argument("authentication failed, invalid user ID or password");
        let silent: fn() -> Status = || Status::unavailable("no answer");
        for (refusal, refused_before, login, calls, logins, kind) in [
            (refused, 1, None, 2, 1, None),
            (older, 2, None, 3, 2, None),
            (older, 3, None, 3, 2, Some(ErrorKind::NotApplied)),
            (refused, 3, None, 3, 2, Some(ErrorKind::Fatal)),
            (refused, 1, Some(denied), 1, 1, Some(ErrorKind::Fatal)),
            (older, 1, Some(silent), 1, 1, Some(ErrorKind::NotApplied)),
        ] {
            let begun = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&begun);
            let login = Logins::new(move || {
                counted.fetch_add(1, Relaxed);
                Box::pin(ready(login.map_or(Ok(()), |status| Err(status().into()))))
            });
            let made = Cell::new(0);
            let call = || {
                made.set(made.get() + 1);
                ready(if made.get() <= refused_before {
                    Err(refusal().into())
                } else {
                    Ok(())
                })
            };
            let answer = Calls::new(login).answer(call).await;
            let told = answer.err().map(|error| error.kind());
            let case = (made.get(), begun.load(Relaxed), told);
            assert_eq!(case, (calls, logins, kind), "{:?}", refusal());
        }
    }

    /// A login takes longer than the calls that need it.
    #[tokio::test]
    async fn login_continues_without_the_calls_that_began_it() {
        let (begun, mut logins) = tokio::sync::mpsc::unbounded_channel();
        let login = Logins::new(move || {
            let (end, ended) = tokio::sync::oneshot::channel::<()>();
            drop(begun.send(end));
            Box::pin(async move {
                drop(ended.await);
                Ok(())
            })
        });
        let (calls, known) = (Calls::new(login), Cell::new(false));
        let call = || {
            ready(if known.get() {
                Ok(())
            } else {
                Err(Error::from(Status::unauthenticated("invalid auth token")))
            })
        };
        for _ in 0..3 {
            let cut_off = tokio::time::timeout(Duration::from_millis(1), calls.answer(call)).await;
            cut_off.unwrap_err();
        }
        let end = logins.recv().await.unwrap();
        known.set(true);
        end.send(()).unwrap();
        calls.answer(call).await.unwrap();
        assert!(logins.try_recv().is_err(), "more than one login");
    }
}
