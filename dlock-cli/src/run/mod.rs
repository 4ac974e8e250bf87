//! `dlock run`: from the arguments to the exit code.

mod waiting;

use std::{ffi::OsString, os::unix::process::ExitStatusExt, process::ExitCode, time::Duration};

use dlock_core::{DLock, Ended as Release, Name};
use rustix::process::Signal;

use self::waiting::{Patience, Waited};
use crate::{
    cli::RunArguments,
    exit::{Exit, Failure, say},
    store::Store,
    supervise::{self, Cut, Ended, Program, Signals, Terms, signals},
};

/// The default grace, where it is at most a quarter of the lease.
const GRACE: Duration = Duration::from_secs(2);
/// The longest that a command which has ended waits for the store to take the lock back.
const RELEASE_PATIENCE: Duration = Duration::from_secs(10);
/// The longest that an end waits for what is still under way to the store.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

/// Runs `dlock run`.
pub(crate) fn main(arguments: RunArguments) -> Result<ExitCode, Failure> {
    // Before the runtime: its threads inherit the mask.
    signals::block().map_err(|error| Failure::system("can't block signals", error))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::system("can't start threads", error))?;
    let outcome = runtime.block_on(run(arguments));
    // A store call that hangs must not keep us.
    runtime.shutdown_background();
    match outcome? {
        Outcome::Code(code) => Ok(code.into()),
        Outcome::Interrupted { tell_job } => Ok(signals::die_interrupted(tell_job).into()),
    }
}

/// How `dlock run` ends, if not by a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// With this exit code.
    Code(u8),
    /// By Ctrl-C. Shells stop a script or a loop when a job *dies* of SIGINT, and go on when it
    /// merely exits with 130.
    Interrupted {
        /// The command had the terminal to itself, so the rest of our job has not heard of it.
        tell_job: bool,
    },
}

async fn run(arguments: RunArguments) -> Result<Outcome, Failure> {
    let RunArguments {
        name,
        command,
        no_wait,
        wait,
        lease,
        grace,
        owner,
        store,
    } = arguments;
    let terms = Terms {
        lease,
        grace: grace_within(lease, grace)?,
    };
    let patience = match (no_wait, wait) {
        (true, _) => Patience::None,
        (false, Some(limit)) => Patience::Limited(limit),
        (false, None) => Patience::Endless,
    };
    // Before the store: a wrong name leaves no trace.
    let name = Name::new(name)?;
    let location = store.location()?;
    let mut signals =
        Signals::listen().map_err(|error| Failure::system("can't listen to signals", error))?;
    let store = tokio::select! {
        biased;
        signal = signals.ending() => return Ok(ended_by(signal.as_raw(), false)),
        store = location.open() => store?,
    };
    let lock = build(&name, owner, lease, &store)?;
    let done = hold(&lock, command, terms, patience, &store, &mut signals).await;
    close(&lock, &mut signals).await;
    done
}

fn grace_within(lease: Duration, asked: Option<Duration>) -> Result<Duration, Failure> {
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

fn build(
    name: &Name,
    owner: Option<String>,
    lease: Duration,
    store: &Store,
) -> Result<DLock, Failure> {
    let builder = DLock::builder()
        .name(name.as_str())
        .duration(lease)
        .provider(store.provider.clone());
    Ok(match owner {
        Some(owner) => builder.owner(owner).build()?,
        None => builder.build()?,
    })
}

/// Waits for the lock, runs the command under it, and gives it back.
async fn hold(
    lock: &DLock,
    command: Vec<OsString>,
    terms: Terms,
    patience: Patience,
    store: &Store,
    signals: &mut Signals,
) -> Result<Outcome, Failure> {
    let lease = match waiting::acquire(lock, patience, store, signals).await? {
        Waited::Acquired(lease) => lease.keep_alive(),
        Waited::Interrupted(signal) => return Ok(ended_by(signal.as_raw(), false)),
    };
    let program = Program {
        words: command,
        environment: vec![
            ("DLOCK_NAME", lock.name().as_str().to_owned()),
            ("DLOCK_TOKEN", lease.token().to_string()),
            ("DLOCK_OWNER", lock.owner().to_owned()),
        ],
    };
    let ended = supervise::run(&program, terms, &lease, signals).await;
    // The command and its whole group are gone, or never were.
    let released = release(lease, terms, signals).await;
    match ended? {
        Ended::ByItself { status, .. } if released == Released::Taken => Err(Failure::new(
            Exit::LeaseLost,
            format!(
                "the command ended ({status}), but the lock was not ours any more: somebody took it away by force, or the store lost its memory"
            ),
        )),
        Ended::ByItself { status, foreground } => Ok(match status.signal() {
            Some(signal) => ended_by(signal, foreground),
            None => Outcome::Code(code(status.code().unwrap_or_default())),
        }),
        Ended::NotStarted(error) => Err(not_started(&program, error)),
        Ended::Cut(cut) => Err(cut_off(cut)),
    }
}

/// How giving the lock back went, as far as it matters to the outcome of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Released {
    /// It is free, or will be.
    Given,
    /// It was somebody else's, although we believed in it to the end.
    Taken,
}

async fn release(lease: dlock_core::Guard, terms: Terms, signals: &mut Signals) -> Released {
    let was_valid = lease.is_valid();
    let outcome = tokio::select! {
        biased;
        outcome = lease.release() => outcome,
        // It goes on in the background for as long as this process lives.
        _ = signals.ending() => Ok(Release::Unconfirmed),
        () = tokio::time::sleep(terms.lease.min(RELEASE_PATIENCE)) => Ok(Release::Unconfirmed),
    };
    match outcome {
        Ok(Release::NotHeld(_)) if was_valid => return Released::Taken,
        Ok(Release::Released | Release::NotHeld(_)) => {}
        Ok(Release::Unconfirmed) => say(format_args!(
            "the store did not confirm that the lock was given back; it is free at the latest when its lease of {:?} has ended",
            terms.lease
        )),
        // The exit code is the command's; this is for people.
        Err(error) => {
            Failure::new(
                Exit::StoreUnreachable,
                "the lock could not be given back; it is free when its lease has ended",
            )
            .because(error)
            .report();
        }
    }
    Released::Given
}

/// Lets what is under way to the store end: the release of a try that was given up.
async fn close(lock: &DLock, signals: &mut Signals) {
    let client = lock.client();
    tokio::select! {
        biased;
        _ = client.close() => {}
        _ = signals.ending() => {}
        () = tokio::time::sleep(CLOSE_PATIENCE) => {}
    }
}

fn ended_by(signal: i32, tell_job: bool) -> Outcome {
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

fn not_started(program: &Program, error: std::io::Error) -> Failure {
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

fn cut_off(cut: Cut) -> Failure {
    match cut {
        Cut::Lost(loss) => Failure::new(Exit::LeaseLost, "the command was ended").because(loss),
        Cut::RunningOut => Failure::new(
            Exit::LeaseLost,
            "the command was ended, because its lease was running out and could not be renewed",
        ),
        Cut::Unguarded => Failure::new(
            Exit::LeaseLost,
            "the command was killed, because its guard process is gone: nothing would end it if 'dlock run' died",
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
