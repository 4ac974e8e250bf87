//! The arguments of each command, from the command line and the environment.

mod tasks;
mod tickets;
mod waiting;
mod whole_store;

use std::{env, ffi::OsString, time::Duration};

use clap::Args;
use dlock_core::Name;
use dlock_stores::{Location, text::without_credentials};

#[cfg(unix)]
pub(crate) use self::waiting::Patience;
pub(crate) use self::{
    tasks::{EnqueueArguments, Limit, TasksArguments, TasksCommand},
    tickets::{AcquireArguments, GiveBackArguments, RenewArguments},
    waiting::WaitArguments,
    whole_store::{BenchArguments, CompletionsArguments, DoctorArguments, ManArguments},
};
use crate::exit::{Exit, Failure, PROGRAM, say};

/// The name of a lock. A store's URL given without its option is refused: the lock would show its password to everyone.
pub(crate) fn name(text: &str) -> Result<Name, Failure> {
    let shown = without_credentials(text);
    if shown != text {
        let what = format!(
            "{shown} has a password and is not the name of a lock: say --store URL, or DLOCK_STORE"
        );
        return Err(Failure::new(Exit::Usage, what));
    }
    Ok(Name::new(text)?)
}

/// Arguments of `dlock run`.
#[derive(Debug, Args)]
#[cfg_attr(not(unix), expect(dead_code, reason = "commands run on Unix only"))]
pub(crate) struct RunArguments {
    /// The lock, or several that are all needed: 1 to 1024 bytes of UTF-8; runs with the same name and the same store
    /// exclude each other
    #[arg(required = true, value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// The command and its arguments
    #[arg(last = true, required_unless_present = "shell", value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    /// Instead of a command behind two dashes: a line for the shell, $SHELL or /bin/sh
    #[arg(
        id = "shell",
        long = "command",
        short = 'c',
        value_name = "LINE",
        conflicts_with = "command"
    )]
    pub(crate) shell: Option<OsString>,
    #[command(flatten)]
    pub(crate) wait: WaitArguments,
    /// At most this many at a time, 1 to 64, instead of one. Each run has a permit, which is a lock: NAME/1, NAME/2, ..
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) permits: Option<u8>,
    /// With --permits: take all of them, so that this command runs alone
    #[arg(long, requires = "permits")]
    pub(crate) all: bool,
    /// Once per period: keep other hosts out for at least this long, however short the command, 100ms to 24h. Choose
    /// more than the clocks differ by and less than the period, and --no-wait: a host that waits runs it when the time
    /// has passed
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) at_least: Option<Duration>,
    /// How long others wait if this machine dies: the lock is renewed every third of it, 100ms to 24h.
    /// A call to the store has a sixth of it, connecting included
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "15s")]
    pub(crate) lease: Duration,
    /// If the lease can't be renewed: how long before its end the command gets TERM; it gets KILL at the end.
    /// At most a quarter of the lease [default: 2s or a quarter of the lease, whichever is less]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) grace: Option<Duration>,
    /// When the lock is asked for ('dlock ask'): send the command TERM, and KILL after the grace, and give the lock
    /// back. Without it, such a request changes nothing
    #[arg(long)]
    pub(crate) until_asked: bool,
    /// A label that others see while they wait [default: host:pid]
    #[arg(long, value_name = "LABEL")]
    pub(crate) owner: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Arguments of `dlock hold`.
#[derive(Debug, Args)]
#[cfg_attr(not(unix), expect(dead_code, reason = "locks are held on Unix only"))]
pub(crate) struct HoldArguments {
    /// The lock
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) wait: WaitArguments,
    /// How long others wait if this machine dies: renewed every third of it, 100ms to 24h
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "15s")]
    pub(crate) lease: Duration,
    /// Give it back when it is asked for ('dlock ask'), and end with code 0
    #[arg(long)]
    pub(crate) until_asked: bool,
    /// A label that others see [default: host:pid]
    #[arg(long, value_name = "LABEL")]
    pub(crate) owner: Option<String>,
    /// For programs: print the line that says the lock is held as a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Arguments of `dlock ask`.
#[derive(Debug, Args)]
pub(crate) struct AskArguments {
    /// The lock
    pub(crate) name: String,
    /// For programs: print the record of the lock whose holder was asked, as 'dlock status' shows it, on one line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Arguments of `dlock watch`.
#[derive(Debug, Args)]
pub(crate) struct WatchArguments {
    /// The lock
    pub(crate) name: String,
    /// How often to look, at least every 100ms
    #[arg(long, value_name = "TIME", value_parser = pause, default_value = "1s")]
    pub(crate) every: Duration,
    /// Print renewals too
    #[arg(long)]
    pub(crate) renewals: bool,
    /// For programs: each line is a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Arguments of `dlock elect`.
#[derive(Debug, Args)]
#[cfg_attr(not(unix), expect(dead_code, reason = "commands run on Unix only"))]
pub(crate) struct ElectArguments {
    /// The election: the name of a lock, the same for all candidates
    pub(crate) name: String,
    /// The command that runs while leading, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    /// The command, instead of behind two dashes; all that follows is the command and its arguments
    #[arg(
        long,
        value_name = "COMMAND",
        num_args = 1..,
        allow_hyphen_values = true,
        conflicts_with = "command"
    )]
    pub(crate) exec: Vec<OsString>,
    /// Don't stand: ask the leader to step down, and end
    #[arg(long, conflicts_with_all = ["exec", "command"])]
    pub(crate) resign: bool,
    /// How long others wait if this machine dies: renewed every third of it, 100ms to 24h
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "60s")]
    pub(crate) lease: Duration,
    /// How often to try while another candidate leads, besides at the end of its lease and when it steps down: 1ms to
    /// 1h [default: half the lease, at most 1h]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) attempt: Option<Duration>,
    /// When leading ends: how long the command may take after TERM; then it gets KILL. At most a quarter of the lease
    /// [default: 2s or a quarter of the lease, whichever is less]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) grace: Option<Duration>,
    /// The label under which others see this leader [default: host:pid]
    #[arg(long, value_name = "LABEL")]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Arguments of `dlock status`.
#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// Only this lock
    pub(crate) name: Option<String>,
    /// Only locks that keep others out now, held or closed, and whose names match: * stands for any characters, ? for
    /// one, \ takes the next one literally [default: all names]
    #[arg(long, value_name = "PATTERN", num_args = 0..=1, default_missing_value = "*", conflicts_with = "name")]
    pub(crate) held: Option<String>,
    /// For programs: a JSON array, or one object if a name is given
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Arguments of `dlock release`.
#[derive(Debug, Args)]
pub(crate) struct ReleaseArguments {
    /// The lock
    pub(crate) name: String,
    /// At once, although the holder may still be working; also opens a lock that is closed (--at-least)
    #[arg(long)]
    pub(crate) force: bool,
    /// Don't ask for confirmation
    #[arg(long, short, requires = "force")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Arguments of `dlock purge`.
#[derive(Debug, Args)]
pub(crate) struct PurgeArguments {
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Arguments of `dlock setup`.
#[derive(Debug, Args)]
pub(crate) struct SetupArguments {
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

fn store_help() -> String {
    format!(
        "Where the locks are: {}; with ?prefix=PREFIX and other settings, see 'dlock setup --help'. Every user of this \
         machine sees a password that is given here: put the whole URL into DLOCK_STORE instead [env: DLOCK_STORE] \
         [default: locks of this host only, in dlock/locks.db of this user's state directory, $XDG_STATE_HOME or \
         ~/.local/state]",
        dlock_stores::all_forms()
    )
}

/// Which store.
#[derive(Debug, Args)]
pub(crate) struct StoreArguments {
    // Help, not a doc comment: clippy wants variables in doc comments in backticks.
    #[arg(help = store_help(), long, value_name = "STORE")]
    store: Option<OsString>,
    #[arg(
        help = "Locks of this host only, in this user's file, whatever DLOCK_STORE says",
        long,
        conflicts_with = "store"
    )]
    this_host: bool,
}

impl StoreArguments {
    /// The store that is named, or otherwise the user's file.
    pub(crate) fn location(&self) -> Result<Location, Failure> {
        Ok(dlock_stores::locate(&PROGRAM, self.named()?.as_deref())?)
    }

    /// The same for a command that takes locks: it warns if they are local to this host and perhaps not meant to be.
    /// From the crontabs of three hosts such a command runs three times.
    pub(crate) fn location_of_locks(&self) -> Result<Location, Failure> {
        let location = self.location()?;
        if !self.this_host && self.named()?.is_none() {
            say(format_args!(
                "locks of this host only, since neither --store nor DLOCK_STORE names a store (--this-host says that this is meant)"
            ));
        }
        Ok(location)
    }

    fn named(&self) -> Result<Option<OsString>, Failure> {
        if self.this_host {
            return Ok(None);
        }
        let store = self.store.clone().or_else(|| env::var_os("DLOCK_STORE"));
        // Where a script or a unit should have filled it in but did not, the user's file would be a different lock.
        if self.store.is_none() && store.as_ref().is_some_and(|store| store.is_empty()) {
            let advice =
                "name a store in it, or unset it; --this-host takes locks of this host only";
            return Err(Failure::new(Exit::StoreUnusable, "DLOCK_STORE is empty").advise(advice));
        }
        Ok(store)
    }
}

/// A time with its units, or plain seconds as flock(1) takes them: 500ms, 1h 5m, 30, 2.5.
fn time(text: &str) -> Result<Duration, String> {
    let is_plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    match text.parse() {
        Ok(seconds) if is_plain => {
            Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
        }
        _ => humantime::parse_duration(text).map_err(|error| error.to_string()),
    }
}

/// The time between two reads.
fn pause(text: &str) -> Result<Duration, String> {
    let pause = time(text)?;
    if pause < Duration::from_millis(100) {
        return Err("a store is queried every 100ms at most".to_owned());
    }
    Ok(pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_or_are_seconds() {
        for (text, milliseconds) in [
            ("0", 0),
            ("30", 30_000),
            ("2.5", 2_500),
            (".5", 500),
            ("0s", 0),
            ("2.5s", 2_500),
            ("500ms", 500),
            ("5m", 300_000),
            ("1h 5m", 3_900_000),
        ] {
            let expected = Ok(Duration::from_millis(milliseconds));
            assert_eq!(time(text), expected, "{text}");
        }
        for text in [
            "",
            ".",
            "-1",
            "-1s",
            "+1",
            "1e3",
            "1.s",
            "1e9s",
            "inf",
            "NaN",
            "1 2",
            "s",
            "99999999999999999999s",
            "1 year of mine",
            "9".repeat(400).as_str(),
        ] {
            assert!(time(text).is_err(), "{text}");
        }
    }
}
