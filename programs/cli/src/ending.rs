//! How a program that runs commands ends: with a code, or by Ctrl-C; and what both ways share.

use std::{
    ops::ControlFlow,
    os::unix::process::ExitStatusExt,
    process::{ExitCode, ExitStatus},
    time::Duration,
};

use dlock_core::Client;
use dlock_stores::{Location, Store};
use rustix::process::Signal;

use crate::{
    exit::{Exit, Failure},
    supervise::{self, Cut, Program, Signals, signals},
};

/// The default grace, where it is at most a quarter of the lease.
const GRACE: Duration = Duration::from_secs(2);
/// The longest that the end waits for calls to the store that are still in flight.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

/// How it ends, unless with a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With this exit code.
    Code(u8),
    /// By Ctrl-C. Shells stop a script or a loop when a job *dies* of SIGINT, and continue when it
    /// merely exits with 130.
    Interrupted {
        /// The command had the terminal to itself, so the rest of our job did not get the signal.
        tell_job: bool,
    },
}

/// Runs `work`, which may run commands, and ends as it says.
pub(crate) fn main(
    work: impl Future<Output = Result<Outcome, Failure>>,
) -> Result<ExitCode, Failure> {
    // Before the runtime: its threads inherit the mask.
    signals::block().map_err(|error| Failure::system("can't block signals", error))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::system("can't start threads", error))?;
    let outcome = runtime.block_on(work);
    // A store call that hangs must not delay the exit.
    runtime.shutdown_background();
    match outcome? {
        Outcome::Code(code) => Ok(code.into()),
        Outcome::Interrupted { tell_job } => Ok(signals::die_interrupted(tell_job).into()),
    }
}

/// Listens to signals, and opens the store; or returns how the program ends, if a signal came
/// first.
pub(crate) async fn open(
    location: &Location,
) -> Result<ControlFlow<Outcome, (Store, Signals)>, Failure> {
    let mut signals = listen()?;
    tokio::select! {
        biased;
        signal = signals.ending() => Ok(ControlFlow::Break(by_signal(signal.as_raw(), false))),
        store = location.open() => Ok(ControlFlow::Continue((store?, signals))),
    }
}

/// From here on the signals of [`supervise`] no longer end this process by default.
pub(crate) fn listen() -> Result<Signals, Failure> {
    Signals::listen().map_err(|error| Failure::system("can't listen to signals", error))
}

/// How long a command with this lease may take to end on TERM.
pub(crate) fn grace_within(lease: Duration, asked: Option<Duration>) -> Result<Duration, Failure> {
    let most = lease / 4;
    match asked {
        Some(grace) if grace > most => Err(Failure::new(
            Exit::Usage,
            format!("a grace of {grace:?} is more than a quarter of the lease of {lease:?}"),
        )
        .advise(format!(
            "give at most --grace {most:?}, or a longer --lease"
        ))),
        Some(grace) => Ok(grace),
        None => Ok(GRACE.min(most)),
    }
}

/// Lets calls to the store that are in flight end: the release of an abandoned try.
pub(crate) async fn close(client: &Client, signals: &mut Signals) {
    tokio::select! {
        biased;
        _ = client.close() => {}
        _ = signals.ending() => {}
        () = tokio::time::sleep(CLOSE_PATIENCE) => {}
    }
}

/// The end of a program whose command has ended with this status.
pub(crate) fn with_command(status: ExitStatus, foreground: bool) -> Outcome {
    match status.signal() {
        Some(signal) => by_signal(signal, foreground),
        None => Outcome::Code(code(status.code().unwrap_or_default())),
    }
}

pub(crate) fn by_signal(signal: i32, tell_job: bool) -> Outcome {
    if signal == Signal::INT.as_raw() && supervise::is_in_foreground() {
        Outcome::Interrupted { tell_job }
    } else {
        Outcome::Code(code(128 + signal))
    }
}

/// Exit codes are bytes.
fn code(code: i32) -> u8 {
    u8::try_from(code & 0xff).unwrap_or(u8::MAX)
}

pub(crate) fn not_started(program: &Program, error: std::io::Error) -> Failure {
    let name = program.words.first().cloned().unwrap_or_default();
    match error.kind() {
        std::io::ErrorKind::NotFound => Failure::new(
            Exit::NotFound,
            format!("the command {name:?} was not found"),
        ),
        _ => Failure::new(
            Exit::NotExecutable,
            format!("the command {name:?} can't be executed"),
        ),
    }
    .because(error)
}

pub(crate) fn cut_off(cut: Cut) -> Failure {
    match cut {
        Cut::Lost(loss) => Failure::new(Exit::LeaseLost, "the command was ended").because(loss),
        Cut::RunningOut => Failure::new(
            Exit::LeaseLost,
            "the command was ended, because its lease was running out and could not be renewed",
        ),
        Cut::Unguarded => Failure::new(
            Exit::LeaseLost,
            "the command was killed, because its guard process is gone: nothing would end it if 'dlock' died",
        ),
        Cut::Resigned => Failure::new(
            Exit::LeaseLost,
            "the command was ended, because the lock was asked for",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grace_is_two_seconds_or_a_quarter_and_never_more_than_a_quarter() {
        let seconds = Duration::from_secs;
        assert_eq!(grace_within(seconds(15), None).unwrap(), seconds(2));
        assert_eq!(grace_within(seconds(4), None).unwrap(), seconds(1));
        assert_eq!(
            grace_within(seconds(60), Some(seconds(15))).unwrap(),
            seconds(15)
        );
        assert_eq!(
            grace_within(seconds(60), Some(Duration::ZERO)).unwrap(),
            Duration::ZERO
        );
        let refused = grace_within(seconds(60), Some(Duration::from_millis(15_001))).unwrap_err();
        assert_eq!(refused.exit(), Exit::Usage);
    }
}
