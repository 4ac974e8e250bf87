//! `dlock release`: an operator frees a lock that its holder does not give back.

use std::{
    io::{IsTerminal, Write, stderr, stdin},
    process::ExitCode,
};

use dlock_core::{
    Name, Record,
    provider::{ReleaseOutcome, Revoke, RevokeOutcome},
};
use dlock_stores::{Store, text::harmless};

use crate::{
    arguments::{self, ReleaseArguments},
    display::{self, Condition, exact, span},
    exit::{Exit, Failure, say},
    output, query,
};

/// Runs `dlock release`.
pub(crate) fn main(arguments: &ReleaseArguments) -> Result<ExitCode, Failure> {
    query::main(run(arguments))
}

async fn run(arguments: &ReleaseArguments) -> Result<ExitCode, Failure> {
    let ReleaseArguments {
        name,
        force,
        yes,
        store,
    } = arguments;
    let name = arguments::name(name)?;
    let asks = *force && !*yes;
    // Before the store: a script learns it at its first run, not at the first lock that is held.
    if asks && !(stdin().is_terminal() && stderr().is_terminal()) {
        return Err(Failure::new(
            Exit::Usage,
            "--force asks before it releases, and there is no terminal to ask on",
        )
        .advise(format!(
            "with --force the old holder may work concurrently with the next one, two at a time, for up to a lease: check who it is, and whether it is alive, with 'dlock status {:?}'. Without --force there are never two. 'dlock release --help' says how a script forces it",
            name.as_str()
        )));
    }
    let location = store.location()?;
    let Some(store) = query::open(&location).await? else {
        return Err(query::no_lock(&name));
    };
    let lock = Lock { name, store };
    let Some(record) = lock.read().await? else {
        return Err(query::no_lock(&lock.name));
    };
    let shown = lock.name.as_str();
    match Condition::of(&record) {
        Condition::Released | Condition::Expired => {
            let condition = lock.condition(&record);
            output::line(format_args!("nothing to do: {condition}"))?;
        }
        Condition::Closed if !force => {
            return Err(
                Failure::new(Exit::NotAcquired, lock.condition(&record)).advise(
                    "it has no holder, and opens automatically then: --force opens it now, and the work may run again",
                ),
            );
        }
        Condition::Held if !force => lock.revoke(&record).await?,
        condition => {
            lock.warn(&record, condition);
            if asks && !is_confirmed() {
                return Err(Failure::new(
                    Exit::Nothing,
                    format!("{shown:?} was left as it is"),
                ));
            }
            lock.force(&record).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The lock, and the store it is in.
struct Lock {
    name: Name,
    store: Store,
}

impl Lock {
    async fn read(&self) -> Result<Option<Record>, Failure> {
        let reading = self.store.provider().read(&self.name);
        query::answer(&self.store, "can't read the lock", reading).await
    }

    /// Revokes the lease (B1): it ends when it would have ended without another renewal.
    async fn revoke(&self, record: &Record) -> Result<(), Failure> {
        let name = &self.name;
        let revoking = async {
            let request = Revoke::new(name.clone(), record.version())?;
            self.store.provider().revoke(&request).await
        };
        match query::answer(&self.store, &self.doing(), revoking).await? {
            RevokeOutcome::Revoked => {}
            RevokeOutcome::Changed(now) => return Err(self.changed(now.as_ref())),
        }
        let owner = harmless(&record.owner);
        let then = match record.remaining {
            Some(left) => format!("others can have it when that ends, in {}", span(left)),
            None => format!(
                "others can have it when they have seen it unchanged for {}",
                exact(record.duration)
            ),
        };
        output::line(format_args!(
            "the lease of {owner} on {:?} will not be renewed again: {then}",
            name.as_str()
        ))
    }

    /// Warns of the consequences of an immediate release.
    fn warn(&self, record: &Record, condition: Condition) {
        let held = self.condition(record);
        if condition == Condition::Closed {
            say(format_args!(
                "{held}; once it is open, the work may run again in the same period"
            ));
        } else {
            say(format_args!(
                "{held}; if {} still works, it continues until its next renewal, for at most {}, concurrently with the next holder: only a check of the token keeps its writes out",
                harmless(&record.owner),
                // The holder may have renewed since the record was read.
                exact(record.duration),
            ));
        }
    }

    /// Releases the term that was read (B2), although another process holds it.
    async fn force(&self, record: &Record) -> Result<(), Failure> {
        let releasing = self.store.provider().force_release(&self.name, record);
        match query::answer(&self.store, &self.doing(), releasing).await? {
            ReleaseOutcome::Released { .. } => {
                output::line(format_args!("{:?} is free", self.name.as_str()))
            }
            ReleaseOutcome::NotHeld(now) => Err(self.changed(now.as_ref())),
        }
    }

    /// Another process was faster. The current state may need no action, so the user decides anew.
    fn changed(&self, now: Option<&Record>) -> Failure {
        let now = match now {
            Some(record) => self.condition(record),
            None => format!("there is no lock {:?} any more", self.name.as_str()),
        };
        Failure::new(
            Exit::NotAcquired,
            format!("it changed after it was read, and nothing was done: {now}"),
        )
        .advise("run this again if it is still what you want")
    }

    fn condition(&self, record: &Record) -> String {
        display::condition(&self.name, record)
    }

    fn doing(&self) -> String {
        format!("can't release {:?}", self.name.as_str())
    }
}

/// Asks on the terminal. Only a clear yes counts.
fn is_confirmed() -> bool {
    drop(stderr().write_all(b"dlock: release it now? [y/N] "));
    let mut answer = String::new();
    let read = stdin().read_line(&mut answer);
    read.is_ok() && ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())
}
