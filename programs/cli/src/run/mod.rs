//! `dlock run`: from the arguments to the exit code.

mod acquiring;
pub(crate) mod nested;
mod permits;
pub(crate) mod waiting;

use std::{env, ffi::OsString, ops::ControlFlow, process::ExitCode};

use dlock_core::DLock;
use dlock_stores::Store;

use self::{
    acquiring::{Acquired, Locks},
    permits::Permits,
};
use crate::{
    arguments::{Patience, RunArguments},
    ending::{self, Outcome},
    exit::{Exit, Failure},
    giving_back::{self, GivenBack},
    supervise::{self, Ended, Leases, Program, Signals, Terms},
};

/// Runs `dlock run`.
pub(crate) fn main(arguments: RunArguments) -> Result<ExitCode, Failure> {
    let RunArguments {
        names,
        command,
        shell,
        wait,
        permits,
        all,
        at_least,
        lease,
        grace,
        until_asked,
        owner,
        store,
    } = arguments;
    let terms = Terms {
        lease,
        grace: ending::grace_within(lease, grace)?,
    };
    let job = Job {
        words: shell.map_or(command, line_of_shell),
        terms,
        until_asked,
    };
    // Before the store: a wrong name leaves no trace.
    let names = match permits {
        Some(permits) if all => acquiring::in_order(&permits::names(&names, permits)?)?,
        Some(_) => acquiring::in_order(std::slice::from_ref(permits::name(&names)?))?,
        None => acquiring::in_order(&names)?,
    };
    let location = store.location_of_locks()?;
    let work = async {
        let (store, mut signals) = match ending::open(&location).await? {
            ControlFlow::Continue(opened) => opened,
            ControlFlow::Break(outcome) => return Ok(outcome),
        };
        let client = store.client();
        let lock = DLock::builder()
            .name("of this run")
            .duration(lease)
            .provider(&client)
            .owner_opt(owner)
            .at_least_opt(at_least)
            .build()?;
        let wanted = match permits.filter(|_| !all) {
            Some(permits) => Wanted::Permit(Permits::new(&lock, &names, permits)?),
            None => Wanted::Locks(Locks::new(&lock, &names)?),
        };
        let done = hold(&wanted, job, wait.patience(), &store, &mut signals).await;
        ending::close(&client, &mut signals).await;
        done
    };
    ending::main(work).map_err(|failure| wait.coded(failure))
}

/// The locks that a command runs under.
enum Wanted {
    Locks(Locks),
    Permit(Permits),
}

/// The command, and how to run it.
struct Job {
    words: Vec<OsString>,
    terms: Terms,
    until_asked: bool,
}

/// Lets the user's shell, or the one that every system has, run this line.
fn line_of_shell(line: OsString) -> Vec<OsString> {
    let shell = env::var_os("SHELL").filter(|shell| !shell.is_empty());
    vec![shell.unwrap_or_else(|| "/bin/sh".into()), "-c".into(), line]
}

/// Waits for the locks or the permit, runs the command under them, and releases them.
async fn hold(
    wanted: &Wanted,
    job: Job,
    patience: Patience,
    store: &Store,
    signals: &mut Signals,
) -> Result<Outcome, Failure> {
    let Job {
        words,
        terms,
        until_asked,
    } = job;
    let acquired = match wanted {
        Wanted::Locks(locks) => locks.acquire(patience, store, signals).await?,
        Wanted::Permit(permits) => permits.acquire(patience, store, signals).await?,
    };
    let held = match acquired {
        Acquired::All(held) => held,
        Acquired::Interrupted(signal) => return Ok(ending::by_signal(signal.as_raw(), false)),
    };
    let program = Program {
        words,
        environment: held.environment(),
    };
    let leases = Leases::new(held.guards.iter().map(|guard| guard.view()));
    let asked = leases.until_asked();
    let stop = async {
        if !until_asked {
            std::future::pending::<()>().await;
        }
        // It resolves at the end of a lease too, of which the supervision knows more: it looks
        // there first.
        asked.await;
    };
    let ended = supervise::run(&program, terms, &leases, stop, signals).await;
    // The command and its whole group are gone, or never existed.
    let ran = !matches!(ended, Ok(Ended::NotStarted(_)));
    let given_back = giving_back::give_back(held.guards, ran, terms.lease, signals).await;
    match ended? {
        Ended::ByItself { status, .. } if given_back == GivenBack::NotOurs => Err(Failure::new(
            Exit::LeaseLost,
            format!(
                "the command ended ({status}), but the lock was not ours any more: it was taken away by force, or the store lost its memory"
            ),
        )),
        Ended::ByItself { status, foreground } => Ok(ending::with_command(status, foreground)),
        Ended::NotStarted(error) => Err(ending::not_started(&program, error)),
        Ended::Cut(cut) => Err(ending::cut_off(cut)),
    }
}
