//! Releasing locks when the work they were for has ended.

use std::time::Duration;

use dlock_core::{EndCause, Error, Guard, LeaseView, ReleaseEnd, State};
use tokio::task::JoinSet;

use crate::{
    exit::{Exit, Failure, say},
    supervise::Signals,
};

/// The longest that a program whose work has ended waits for the store to release the lock.
const PATIENCE: Duration = Duration::from_secs(10);

/// How the release went, as far as it matters to the outcome of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenBack {
    /// All are free, or will be.
    Free,
    /// One belonged to another process, although we believed in it to the end.
    NotOurs,
}

/// Releases all of these at once. If the work was not done, other hosts need not wait for
/// `--at-least`.
pub(crate) async fn give_back(
    guards: Vec<Guard>,
    done: bool,
    lease: Duration,
    signals: &mut Signals,
) -> GivenBack {
    let mut releases = JoinSet::new();
    for guard in guards {
        releases.spawn(async move {
            let validity = guard.view();
            let end = if done {
                guard.release().await
            } else {
                // Another machine may be able to do it.
                guard.release_open().await
            };
            of_release(end, &validity)
        });
    }
    let mut given_back = GivenBack::Free;
    let all = async {
        while let Some(released) = releases.join_next().await {
            match released {
                Ok(Released::Free) => {}
                Ok(Released::NotOurs) => given_back = GivenBack::NotOurs,
                Ok(Released::Unconfirmed) | Err(_) => return false,
            }
        }
        true
    };
    let confirmed = tokio::select! {
        biased;
        confirmed = all => confirmed,
        // The releases continue in the background for as long as this process lives.
        _ = signals.ending() => false,
        () = tokio::time::sleep(lease.min(PATIENCE)) => false,
    };
    if !confirmed {
        say(format_args!(
            "the store did not confirm that the lock was given back; it is free at the latest when its lease of {lease:?} has ended"
        ));
    }
    given_back
}

/// How one release went.
enum Released {
    Free,
    NotOurs,
    Unconfirmed,
}

fn of_release(end: Result<ReleaseEnd, Error>, validity: &LeaseView) -> Released {
    match end {
        // It did not expire earlier, not even in the instant before the release.
        Ok(ReleaseEnd::NotHeld(_)) if matches!(validity.state(), State::Ended(loss) if matches!(loss.cause, EndCause::Released)) => {
            Released::NotOurs
        }
        Ok(ReleaseEnd::Released | ReleaseEnd::NotHeld(_)) => Released::Free,
        Ok(ReleaseEnd::Unconfirmed) => Released::Unconfirmed,
        // The exit code is that of the work; this message is for people.
        Err(error) => {
            Failure::new(
                Exit::StoreUnreachable,
                "the lock could not be given back; it is free when its lease has ended",
            )
            .because(error)
            .report();
            Released::Free
        }
    }
}
