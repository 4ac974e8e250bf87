//! The program `dlock`: runs a command while it holds a distributed lock, and shows locks.
//!
//! Owns what belongs to processes and people: arguments, exit codes, the command's process group, its guard process,
//! the terminal, the output. Leaves the lock itself to `dlock-core`.
//!
//! `dlock run` is up to four processes:
//!
//! | process | what it does | module |
//! |---|---|---|
//! | `dlock run` | takes the lock, renews it, supervises the command, releases the lock | `run`, `supervise` |
//! | the command | leads its own process group; until it may start it is a stub of `dlock` | `helper::stub` |
//! | the guard | ends the command's group when `dlock run` dies, or stops past the deadline | `helper::guard` |
//! | the anchor | a zombie in the command's group: keeps the group's number from being reused | `helper::anchor` |
//!
//! `dlock elect` is the same with a lock that it takes again and again (`elect`). `dlock hold` has no command, and
//! `dlock acquire` leaves the lock to the next commands of a script (`tickets`). `dlock tasks` does not concern the
//! locks of a store: it looks at a queue (`tasks`).
//!
//! The helpers are this same program, started again with a hidden first argument. The guard and the
//! anchor have no environment, and so no password of the store.
//!
//! Each kind of store is a feature, `sqlite` by default; `dlock-stores` opens them.

mod arguments;
mod ask;
mod bench;
mod cli;
mod display;
mod doctor;
mod exit;
mod giving_back;
mod output;
mod pages;
mod purge;
mod query;
mod setup;
mod status;
mod tasks;
mod tickets;
mod watch;

#[cfg(unix)]
mod clock;
#[cfg(unix)]
mod elect;
#[cfg(unix)]
mod ending;
#[cfg(unix)]
mod group;
#[cfg(unix)]
mod helper;
#[cfg(unix)]
mod hold;
#[cfg(unix)]
mod release;
#[cfg(unix)]
mod run;
#[cfg(unix)]
mod supervise;

use std::process::ExitCode;

/// Runs the program with this process's arguments.
#[must_use]
pub fn main() -> ExitCode {
    #[cfg(unix)]
    if let Some(code) = helper::main() {
        return code;
    }
    cli::main()
}
