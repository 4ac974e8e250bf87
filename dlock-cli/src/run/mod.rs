//! `dlock run`: from the arguments to the exit code.

pub(crate) mod nested;
mod waiting;

use std::{ffi::OsString, process::ExitCode, time::Duration};

use dlock_core::{DLock, EndCause, Name, ReleaseEnd as Release, State};
use dlock_stores::Store;

use self::waiting::{Patience, Waited};
use crate::{
    arguments::RunArguments,
    ending::{self, Outcome},
    exit::{Exit, Failure, say},
    supervise::{self, Ended, Program, Signals, Terms},
};

/// The longest that a command which has ended waits for the store to take the lock back.
const RELEASE_PATIENCE: Duration = Duration::from_secs(10);

/// Runs `dlock run`.
pub(crate) fn main(arguments: RunArguments) -> Result<ExitCode, Failure> {
    ending::main(run(arguments))
}

async fn run(arguments: RunArguments) -> Result<Outcome, Failure> {
    let RunArguments {
        name,
        command,
        no_wait,
        wait,
        at_least,
        lease,
        grace,
        owner,
        store,
    } = arguments;
    let terms = Terms {
        lease,
        grace: ending::grace_within(lease, grace)?,
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
        signal = signals.ending() => return Ok(ending::by_signal(signal.as_raw(), false)),
        store = location.open() => store?,
    };
    let lock = build(&name, owner, lease, at_least, &store)?;
    let done = hold(&lock, command, terms, patience, &store, &mut signals).await;
    ending::close(&lock.client(), &mut signals).await;
    done
}

fn build(
    name: &Name,
    owner: Option<String>,
    lease: Duration,
    at_least: Option<Duration>,
    store: &Store,
) -> Result<DLock, Failure> {
    let lock = DLock::builder()
        .name(name.as_str())
        .duration(lease)
        .provider(store.client())
        .owner_opt(owner)
        .at_least_opt(at_least)
        .build()?;
    Ok(lock)
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
        Waited::Interrupted(signal) => return Ok(ending::by_signal(signal.as_raw(), false)),
    };
    let program = Program {
        words: command,
        environment: vec![
            ("DLOCK_NAME", lock.name().as_str().to_owned()),
            ("DLOCK_TOKEN", lease.token().to_string()),
            ("DLOCK_OWNER", lock.owner().to_owned()),
            nested::variable(lock.name(), lease.token()),
        ],
    };
    let (validity, never) = (lease.watch(), std::future::pending());
    let ended = supervise::run(&program, terms, &validity, never, signals).await;
    // The command and its whole group are gone, or never were.
    let ran = !matches!(ended, Ok(Ended::NotStarted(_)));
    let released = release(lease, ran, terms, signals).await;
    match ended? {
        Ended::ByItself { status, .. } if released == Released::Taken => Err(Failure::new(
            Exit::LeaseLost,
            format!(
                "the command ended ({status}), but the lock was not ours any more: somebody took it away by force, or the store lost its memory"
            ),
        )),
        Ended::ByItself { status, foreground } => Ok(ending::with_command(status, foreground)),
        Ended::NotStarted(error) => Err(ending::not_started(&program, error)),
        Ended::Cut(cut) => Err(ending::cut_off(cut)),
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

async fn release(
    lease: dlock_core::Guard,
    ran: bool,
    terms: Terms,
    signals: &mut Signals,
) -> Released {
    let validity = lease.watch();
    let give_back = async {
        if ran {
            lease.release().await
        } else {
            // Another machine may have the command.
            lease.release_open().await
        }
    };
    let outcome = tokio::select! {
        biased;
        outcome = give_back => outcome,
        // It goes on in the background for as long as this process lives.
        _ = signals.ending() => Ok(Release::Unconfirmed),
        () = tokio::time::sleep(terms.lease.min(RELEASE_PATIENCE)) => Ok(Release::Unconfirmed),
    };
    match outcome {
        // It has not run out before, not even in the instant before the release.
        Ok(Release::NotHeld(_)) if matches!(validity.state(), State::Ended(loss) if matches!(loss.cause, EndCause::Released)) =>
        {
            return Released::Taken;
        }
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
