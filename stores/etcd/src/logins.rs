//! A new authentication token, when etcd refuses the client's.
//!
//! The driver can request one automatically (`with_auto_token_refresh`), but inside of the refused call: a login that
//! takes longer than an attempt of the lock is dropped with it, and each next attempt starts it anew, for ever. It also
//! does not know that a JSON web token ends with each change of users or roles.

use std::{fmt, pin::Pin, sync::Arc, time::Duration};

use dlock_core::ErrorKind;
use etcd_client::{Client, Error};
use tokio::{sync::watch, time::timeout};

use crate::error::failed;

/// How long a login may take. etcd hashes the password slowly on purpose, and a silent server never answers.
const PATIENCE: Duration = Duration::from_secs(30);

type Login = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// The logins of all clones of one client: one at a time, in a separate task.
#[derive(Clone)]
pub(crate) struct Logins {
    begin: Arc<dyn Fn() -> Login + Send + Sync>,
    state: watch::Sender<State>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// The number of successful logins.
    done: u64,
    running: bool,
    /// The error of the last login.
    failed: Option<ErrorKind>,
}

impl Logins {
    pub(crate) fn of(client: &Client) -> Self {
        let client = client.clone();
        Self::new(move || {
            let client = client.clone();
            Box::pin(async move { client.refresh_token().await })
        })
    }

    pub(crate) fn new(begin: impl Fn() -> Login + Send + Sync + 'static) -> Self {
        Self {
            begin: Arc::new(begin),
            state: watch::Sender::default(),
        }
    }

    /// The number of successful logins.
    pub(crate) fn done(&self) -> u64 {
        self.state.borrow().done
    }

    /// Returns when more logins have succeeded than `done`, the number when the refused call began.
    ///
    /// # Errors
    /// The kind of the login's error.
    ///
    /// # Cancel safety
    /// The login continues without its waiters.
    pub(crate) async fn after(&self, done: u64) -> Result<(), ErrorKind> {
        let mut state = self.state.subscribe();
        let first = self.state.send_if_modified(|state| {
            let first = !state.running && state.done == done;
            state.running |= first;
            first
        });
        if first {
            let ending = Ending {
                state: self.state.clone(),
                result: Err(ErrorKind::Unknown),
            };
            tokio::spawn(ending.of((self.begin)()));
        }
        match state.wait_for(|state| !state.running).await {
            Ok(state) if state.done == done => Err(state.failed.unwrap_or(ErrorKind::Unknown)),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Logins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Logins")
            .field(&*self.state.borrow())
            .finish()
    }
}

/// Reports how a login ended, also if its runtime ends first.
struct Ending {
    state: watch::Sender<State>,
    result: Result<(), ErrorKind>,
}

impl Ending {
    async fn of(mut self, login: Login) {
        if let Ok(result) = timeout(PATIENCE, login).await {
            self.result = result.map_err(|error| failed(error).kind());
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.state.send_modify(|state| {
            state.running = false;
            state.failed = self.result.err();
            state.done += u64::from(self.result.is_ok());
        });
    }
}
