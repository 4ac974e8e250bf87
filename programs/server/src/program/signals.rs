//! Signals: the requests to this process.

use super::failure::{Exit, Failure};

/// The request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// SIGTERM, SIGINT.
    Stop,
    /// SIGHUP.
    Reload,
}

/// The signals of this process, from now on.
#[cfg(unix)]
#[derive(Debug)]
pub(super) struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(super) fn new() -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let signal = |kind| {
            signal(kind).map_err(|error| {
                Failure::new(Exit::System, "can't wait for signals").because(&error)
            })
        };
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    pub(super) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::Stop,
            _ = self.interrupt.recv() => Signal::Stop,
            _ = self.hang_up.recv() => Signal::Reload,
        }
    }
}

#[cfg(not(unix))]
#[derive(Debug)]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub(super) fn new() -> Result<Self, Failure> {
        Ok(Self)
    }

    pub(super) async fn next(&mut self) -> Signal {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::error!(%error, "can't wait for Ctrl-C");
            std::future::pending::<()>().await;
        }
        Signal::Stop
    }
}

impl Signals {
    /// Waits for one more signal to stop.
    pub(super) async fn stopped_again(&mut self) {
        while self.next().await != Signal::Stop {}
    }
}
