//! How long to wait for a lock. The short options are those of flock(1), and mean what they mean there.

use std::time::Duration;

use clap::Args;

use super::time;
#[cfg(unix)]
use crate::exit::{Exit, Failure};

/// How long to wait, and which exit code says that the lock was not acquired.
#[derive(Debug, Args)]
#[cfg_attr(not(unix), expect(dead_code, reason = "locks are held on Unix only"))]
pub(crate) struct WaitArguments {
    /// Don't wait: if another has the lock, exit with code 75 at once. A silent store takes about ten seconds (69)
    #[arg(long, short = 'n', conflicts_with = "wait", aliases = ["nonblock", "nb"])]
    no_wait: bool,
    /// Wait at most this long (500ms, 30s, 5m, 1h, or seconds: 30, 2.5), then exit with code 75
    /// [default: as long as it takes]
    #[arg(long, short, value_name = "TIME", value_parser = time, alias = "timeout")]
    wait: Option<Duration>,
    /// If another still has the lock after that time, exit with this code, 0 to 255, instead of 75
    #[arg(long, short = 'E', value_name = "CODE")]
    conflict_exit_code: Option<u8>,
}

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg(unix)]
pub(crate) enum Patience {
    None,
    Limited(Duration),
    Endless,
}

#[cfg(unix)]
impl WaitArguments {
    pub(crate) fn patience(&self) -> Patience {
        match (self.no_wait, self.wait) {
            (true, _) => Patience::None,
            (false, Some(limit)) => Patience::Limited(limit),
            (false, None) => Patience::Endless,
        }
    }

    /// The failure with the code that the user wants when the lock cannot be acquired.
    pub(crate) fn coded(&self, failure: Failure) -> Failure {
        match self.conflict_exit_code {
            Some(code) if failure.exit() == Exit::NotAcquired => failure.with_code(code),
            _ => failure,
        }
    }
}
