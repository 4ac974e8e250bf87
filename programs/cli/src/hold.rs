//! `dlock hold`: holds a lock without a command, until it is ended.

use std::{ops::ControlFlow, process::ExitCode};

use dlock_core::{DLock, End};
use dlock_stores::{Store, text::harmless};
use rustix::process::Signal;
use serde_json::json;

use crate::{
    arguments::{self, HoldArguments},
    ending::{self, Outcome},
    exit::{Exit, Failure, is_quiet},
    giving_back::{self, GivenBack},
    output,
    run::waiting::{self, Waited},
    supervise::Signals,
};

/// Runs `dlock hold`.
pub(crate) fn main(arguments: &HoldArguments) -> Result<ExitCode, Failure> {
    ending::main(run(arguments)).map_err(|failure| arguments.wait.coded(failure))
}

async fn run(arguments: &HoldArguments) -> Result<Outcome, Failure> {
    let HoldArguments {
        name,
        lease,
        owner,
        store,
        ..
    } = arguments;
    // Before the store: a wrong name leaves no trace.
    let name = arguments::name(name)?;
    let location = store.location_of_locks()?;
    let (store, mut signals) = match ending::open(&location).await? {
        ControlFlow::Continue(opened) => opened,
        ControlFlow::Break(outcome) => return Ok(outcome),
    };
    let lock = DLock::builder()
        .name(name.as_str())
        .duration(*lease)
        .provider(store.client())
        .owner_opt(owner.clone())
        .build()?;
    let done = hold(arguments, &lock, &store, &mut signals).await;
    ending::close(&lock.client(), &mut signals).await;
    done
}

/// Why the lock is no longer held.
enum Over {
    Lost(End),
    Signal(Signal),
    Asked,
}

async fn hold(
    arguments: &HoldArguments,
    lock: &DLock,
    store: &Store,
    signals: &mut Signals,
) -> Result<Outcome, Failure> {
    let patience = arguments.wait.patience();
    let guard = match waiting::acquire(lock, patience, store, signals).await? {
        Waited::Acquired(lease) => lease.keep_alive(),
        Waited::Interrupted(signal) => return Ok(ending::by_signal(signal.as_raw(), false)),
    };
    let told = tell(arguments, lock, guard.token().get());
    let watch = guard.view();
    let asked = async {
        if !arguments.until_asked {
            std::future::pending::<()>().await;
        }
        watch.until_asked().await;
    };
    let over = match &told {
        // A script that waits for the line would wait forever.
        Err(_) => Over::Asked,
        Ok(_) => tokio::select! {
            biased;
            end = watch.ended() => Over::Lost(end),
            signal = signals.ending() => Over::Signal(signal),
            () = asked => Over::Asked,
        },
    };
    let given_back = giving_back::give_back(vec![guard], true, arguments.lease, signals).await;
    told?;
    match over {
        Over::Lost(end) => Err(Failure::new(
            Exit::LeaseLost,
            format!("{:?} is not held any more", lock.name().as_str()),
        )
        .because(end)),
        Over::Signal(_) | Over::Asked if given_back == GivenBack::NotOurs => Err(Failure::new(
            Exit::LeaseLost,
            format!(
                "{:?} was not ours any more when it was to be given back: it was taken away by force, or the store lost its memory",
                lock.name().as_str()
            ),
        )),
        Over::Signal(signal) => Ok(ending::by_signal(signal.as_raw(), false)),
        Over::Asked => Ok(Outcome::Code(0)),
    }
}

/// Prints that the lock is held: scripts wait for this line. `false`: no reader is left.
fn tell(arguments: &HoldArguments, lock: &DLock, token: u64) -> Result<bool, Failure> {
    let (name, owner) = (lock.name().as_str(), lock.owner());
    if arguments.json {
        let line = json!({"name": name, "token": token, "owner": owner});
        return output::write(&format!("{line}\n"));
    }
    if is_quiet() {
        return Ok(true);
    }
    let owner = harmless(owner);
    output::write(&format!("holding {name:?} as {owner}, token {token}\n"))
}
