//! Waiting for the lock, and showing the user who holds it.

use std::{convert::Infallible, io::IsTerminal, time::Duration};

use dlock_core::{DLock, Error, ErrorKind, Holder, Lease, Record, TryAcquire};
use dlock_several::{Permit, Semaphore};
use dlock_stores::Store;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rustix::{
    process::{Signal, getpgrp},
    termios::tcgetpgrp,
};

use super::nested;
use crate::{
    arguments::Patience,
    clock::HolderTime,
    display::{Condition, Holding, exact, span},
    exit::{Exit, Failure, is_quiet, say},
    supervise::Signals,
};

/// A free lock is ours by then; there is nothing to print.
const QUIET: Duration = Duration::from_millis(300);
/// How often the store is queried for the holder of the lock.
const REFRESH: Duration = Duration::from_secs(1);
/// How often the spinner turns.
const FRAME: Duration = Duration::from_millis(125);

/// The outcome of the wait.
pub(crate) enum Waited<T = Lease> {
    Acquired(T),
    Interrupted(Signal),
}

/// Acquires the lock.
pub(crate) async fn acquire(
    lock: &DLock,
    patience: Patience,
    store: &Store,
    signals: &mut Signals,
) -> Result<Waited, Failure> {
    tokio::select! {
        biased;
        signal = signals.ending() => return Ok(Waited::Interrupted(signal)),
        refused = nested::refuse(lock) => refused?,
    }
    let outcome = tokio::select! {
        biased;
        signal = signals.ending() => return Ok(Waited::Interrupted(signal)),
        outcome = ask(lock, patience) => outcome,
        never = tell(format!("{:?}", lock.name().as_str()), patience, || look(lock)) => match never {},
    };
    match outcome {
        Ok(lease) => Ok(Waited::Acquired(lease)),
        Err(Error::Timeout {
            holder: Some(holder),
            ..
        }) => {
            let what = format!("the lock {:?} is", lock.name().as_str());
            Err(refused(&what, &holder, store))
        }
        Err(error) => Err(failed(lock.name().as_str(), store, error).await),
    }
}

/// Acquires one of several permits. The lock has the name of the whole, and is not one of them.
pub(crate) async fn acquire_permit(
    (permits, lock, count): (&Semaphore, &DLock, u8),
    patience: Patience,
    store: &Store,
    signals: &mut Signals,
) -> Result<Waited<Permit>, Failure> {
    let name = lock.name().as_str();
    let taken = format!("each of the {count} permits of {name:?} is taken");
    let ask = async {
        match patience {
            Patience::Endless => permits.acquire().await.map(Some),
            Patience::Limited(limit) => permits.acquire_timeout(limit).await.map(Some),
            Patience::None => permits.try_acquire().await,
        }
    };
    let is_there = || async {
        match look(lock).await {
            Seen::Silent(error) => Seen::Silent(error),
            Seen::Held(_) | Seen::Nothing | Seen::Taken => Seen::Taken,
        }
    };
    let outcome = tokio::select! {
        biased;
        signal = signals.ending() => return Ok(Waited::Interrupted(signal)),
        outcome = ask => outcome,
        never = tell(format!("one of the {count} permits of {name:?}"), patience, is_there) => match never {},
    };
    match outcome {
        Ok(Some(permit)) => Ok(Waited::Acquired(permit)),
        Ok(None) => Err(Failure::new(Exit::NotAcquired, taken)),
        Err(Error::Timeout {
            holder: Some(holder),
            ..
        }) => Err(refused(&format!("{taken}; one is"), &holder, store)),
        Err(error) => Err(failed(name, store, error).await),
    }
}

/// An acquire ended without the lock, and not because the lock is taken.
async fn failed(name: &str, store: &Store, error: Error) -> Failure {
    let doing = format!("can't acquire {name:?}");
    match error {
        Error::Provider(error)
        | Error::Timeout {
            holder: None,
            source: Some(error),
            ..
        } => store.failure(&doing, error).await.into(),
        other => Failure::new(Exit::NotAcquired, doing).because(other),
    }
}

/// Another process has the lock; and where only an observer can find out that the holder is dead, when one can.
fn refused(what: &str, holder: &Holder, store: &Store) -> Failure {
    let Holder {
        record,
        observed,
        kept,
        ..
    } = holder;
    let failure = Failure::new(Exit::NotAcquired, format!("{what} {}", Holding(record)));
    if !store.needs_observers() {
        return failure;
    }
    let lease = exact(record.duration);
    let young = if record.is_closed() {
        "if that has passed, no observation is old enough to tell"
    } else {
        "if its holder is dead, no observation is old enough to tell"
    };
    failure.advise(if *kept {
        format!(
            "{young}: this machine has seen it unchanged for {} of {lease}; try again in {}",
            span(*observed),
            span(record.duration.saturating_sub(*observed)),
        )
    } else {
        format!(
            "{young}, and the observations of this run are not kept for the next one (DLOCK_LOG=warn says why): wait longer than {lease}, with --wait"
        )
    })
}

async fn ask(lock: &DLock, patience: Patience) -> Result<Lease, Error> {
    match patience {
        Patience::Endless => lock.acquire().await,
        Patience::Limited(limit) => lock.acquire_timeout(limit).await,
        Patience::None => match lock.try_acquire().await? {
            TryAcquire::Acquired(lease) => Ok(lease),
            TryAcquire::Held(holder) => Err(Error::Timeout {
                waited: Duration::ZERO,
                holder: Some(Box::new(holder)),
                source: None,
            }),
        },
    }
}

/// Shows for whom we wait, until it is dropped: a live line on a terminal, otherwise one line, after one that says
/// so where the store did not answer at first. A process that does not wait learns who has the lock when it is
/// refused.
async fn tell<F: Future<Output = Seen> + Send>(
    what: String,
    patience: Patience,
    look: impl Fn() -> F + Send + Sync,
) -> Infallible {
    if is_quiet() {
        return std::future::pending().await;
    }
    tokio::time::sleep(QUIET).await;
    let waits = patience != Patience::None;
    let verb = if waits { "waiting" } else { "asking" };
    let doing = format!("{verb} for {what}");
    let look = async || match look().await {
        Seen::Held(_) | Seen::Taken if !waits => Seen::Nothing,
        seen => seen,
    };
    if !std::io::stderr().is_terminal() {
        let mut silent = false;
        loop {
            let seen = look().await;
            let news = match seen {
                Seen::Held(_) | Seen::Taken => true,
                Seen::Nothing => false,
                Seen::Silent(_) => !std::mem::replace(&mut silent, true),
            };
            if news {
                say(format_args!("{}", describe(&doing, &seen, Duration::ZERO)));
            }
            if matches!(seen, Seen::Held(_) | Seen::Taken) {
                break;
            }
            tokio::time::sleep(REFRESH).await;
        }
        return std::future::pending().await;
    }
    let line = Line::new();
    loop {
        let asked = HolderTime::now();
        let seen = look().await;
        loop {
            let age = HolderTime::now().after(asked);
            if age >= REFRESH {
                break;
            }
            line.show(|| describe(&doing, &seen, age));
            tokio::time::sleep(FRAME).await;
        }
    }
}

/// The store's last answer.
enum Seen {
    Held(Box<Record>),
    /// All permits are taken, too.
    Taken,
    /// Nothing to show: the lock is free for a moment between two holders, or the store's fault ends the wait,
    /// with its own message.
    Nothing,
    Silent(Error),
}

async fn look(lock: &DLock) -> Seen {
    match lock.read().await {
        Ok(Some(record))
            if matches!(Condition::of(&record), Condition::Held | Condition::Closed) =>
        {
            Seen::Held(Box::new(record))
        }
        Ok(_) => Seen::Nothing,
        Err(Error::Provider(error)) if error.kind() == ErrorKind::Fatal => Seen::Nothing,
        Err(error) => Seen::Silent(error),
    }
}

fn describe(doing: &str, seen: &Seen, age: Duration) -> String {
    match seen {
        Seen::Held(record) if record.is_closed() => {
            let mut record = record.clone();
            record.remaining = record.remaining.map(|left| left.saturating_sub(age));
            format!("{doing}, {}", Holding(&record))
        }
        Seen::Held(record) => {
            let left = record.remaining.map_or_else(String::new, |left| {
                format!(", {} left unless renewed", span(left.saturating_sub(age)))
            });
            format!("{doing}, {}{left}", Holding(record))
        }
        Seen::Nothing | Seen::Taken => doing.to_owned(),
        Seen::Silent(error) => {
            let failure = Failure::new(Exit::StoreUnreachable, doing);
            failure.because(error.clone()).to_string()
        }
    }
}

/// The line on the terminal. Erased when it is dropped.
struct Line(ProgressBar);

impl Line {
    fn new() -> Self {
        let style = ProgressStyle::with_template("{spinner} {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        Self(bar.with_style(style))
    }

    /// Turns the spinner, if this job is in the foreground: in the background, it would scribble over the output
    /// of others.
    fn show(&self, text: impl FnOnce() -> String) {
        if tcgetpgrp(std::io::stderr()).is_ok_and(|foreground| foreground == getpgrp()) {
            self.0.set_message(text());
            self.0.tick();
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use dlock_testkit::{
        faults::{Fault, Faulty, Op},
        memory::{MemoryProvider, MemoryStore},
    };

    use super::*;

    async fn seen_after(fault: Fault) -> Result<Seen, Box<dyn std::error::Error>> {
        let store = Faulty::new(MemoryProvider::new(&MemoryStore::store_clock()));
        store.always(Op::Read, fault);
        let lock = DLock::builder().name("job").provider(store).build()?;
        Ok(look(&lock).await)
    }

    /// A slow machine shows it before the wait has ended; at the end it is shown in words for users of the
    /// program.
    #[tokio::test]
    async fn what_ends_the_wait_by_itself_is_not_told_meanwhile()
    -> Result<(), Box<dyn std::error::Error>> {
        let fatal = seen_after(Fault::FATAL).await?;
        assert!(matches!(fatal, Seen::Nothing));
        let silent = seen_after(Fault::UNKNOWN_BEFORE).await?;
        assert!(matches!(silent, Seen::Silent(_)));
        Ok(())
    }

    #[cfg(feature = "sqlite")]
    #[tokio::test]
    async fn nobody_who_has_it_and_no_error_of_the_store_is_a_lock_not_acquired()
    -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let location = format!("sqlite:{}", folder.path().join("locks.db").display());
        let store = dlock_stores::locate(&crate::exit::PROGRAM, Some(location.as_ref()))?
            .open()
            .await?;
        let silent = Error::Timeout {
            waited: Duration::ZERO,
            holder: None,
            source: None,
        };
        let failure = failed("job", &store, silent).await;
        assert_eq!(failure.exit(), Exit::NotAcquired);
        Ok(())
    }
}
