//! Runs the command under the lease: starts it behind its guard, passes signals and the terminal on, ends it
//! when the lease ends, and does not return before its whole process group is gone.
//!
//! # Order
//! Guard process, stub, deadline and group to the guard, its answer, "go". At no instant does a command run
//! that is not in a group known to a guard.
//!
//! # The end
//! - The command ended on its own: the processes left in its group would continue working without the lock.
//!   They get a moment to end as well (a `tee` that reads the last lines), then TERM, and KILL after the
//!   grace; all of that under the lease, which is renewed meanwhile.
//! - A lease is lost for certain (of several, any): KILL at once.
//! - The lease is running out, because the store does not answer: the guard sends TERM at
//!   `valid_until` - grace and KILL just before `valid_until`. That end is settled with the TERM, even if a
//!   renewal succeeds afterwards. KILL is sent from here too, in case the guard is stopped.
//! - Another candidate is to lead (`dlock elect`): TERM at once and KILL after the grace, under the lease.
//! - The guard is gone: KILL at once. Nothing would protect others from this command any more if `dlock run`
//!   were killed next, and a second guard would leave a gap before it is ready.
//!
//! If members of the group can't be killed (another user's), the lock is not released before they have
//! ended.

mod command;
mod guard;
mod leases;
mod orphans;
pub(crate) mod signals;
mod supervision;
mod terminal;

use std::{io, process::ExitStatus, time::Duration};

use dlock_core::End;

use self::{command::Command, guard::GuardProcess, supervision::Supervision, terminal::Terminal};
pub(crate) use self::{command::Program, leases::Leases, signals::Signals};
use crate::{clock::HolderTime, exit::Failure, helper::wire::Deadline};

/// How long the guard may take to get ready.
const PATIENCE: Duration = Duration::from_secs(10);

/// How the command ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// On its own, or by a signal that was not ours.
    ByItself {
        /// Its exit status.
        status: ExitStatus,
        /// It was in the terminal's foreground, instead of this job.
        foreground: bool,
    },
    /// By us.
    Cut(Cut),
    /// It never started, for this reason.
    NotStarted(io::Error),
}

/// Why we ended the command.
#[derive(Debug)]
pub(crate) enum Cut {
    /// The lease was lost.
    Lost(End),
    /// The lease was running out.
    RunningOut,
    /// The guard process died.
    Unguarded,
    /// The election wants the lease back.
    Resigned,
}

/// How long the lease lasts and how it is divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// The lease's duration.
    pub(crate) lease: Duration,
    /// From TERM to the end of the lease.
    pub(crate) grace: Duration,
}

/// Runs the program under all of these leases, until `stop` at the latest. Call it from the main thread (see
/// [`Command::prepare`]).
pub(crate) async fn run(
    program: &Program,
    terms: Terms,
    leases: &Leases,
    stop: impl Future<Output = ()>,
    signals: &mut Signals,
) -> Result<Ended, Failure> {
    let failed = |error| Failure::system("can't start the command's guard process", error);
    let mut guard = GuardProcess::start().map_err(failed)?;
    guard.extend(terms.deadline(leases)).map_err(failed)?;
    let command = Command::prepare(program)
        .map_err(|error| Failure::system("can't start a process", error))?;
    let ready = tokio::time::timeout(PATIENCE, guard.watch(command.group()))
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    if let Err(error) = ready {
        return if guard.is_ending() {
            Ok(Ended::Cut(Cut::RunningOut))
        } else {
            Err(failed(error))
        };
    }
    let mut terminal = Terminal::open();
    if let Some(terminal) = &mut terminal {
        terminal.offer(command.group());
    }
    if let Err(error) = command.go() {
        // Its guard has ended it: starting took longer than the remaining lease that the guard knew of.
        return if guard.is_ending() && error.kind() == io::ErrorKind::BrokenPipe {
            Ok(Ended::Cut(Cut::RunningOut))
        } else {
            Err(Failure::system("can't start the command", error))
        };
    }
    let mut supervision = Supervision::new(terms, leases, guard, command, terminal);
    supervision.work(stop, signals).await;
    supervision.finish().await
}

/// Whether this job is in the foreground of a terminal.
pub(crate) fn is_in_foreground() -> bool {
    Terminal::open().is_some_and(|terminal| terminal.is_ours())
}

impl Terms {
    /// When TERM and KILL are due, if the lease is not renewed from now on.
    fn deadline(self, leases: &Leases) -> Deadline {
        // In this order: a stop between the two makes the deadline earlier, never later.
        let now = HolderTime::now();
        let valid_until = now + leases.remaining();
        let kill = valid_until - self.hair();
        Deadline {
            terminate: kill.min(valid_until - self.grace),
            kill,
        }
    }

    /// KILL comes this much before `valid_until`, so that it has been done by then.
    fn hair(self) -> Duration {
        (self.lease / 20).min(Duration::from_millis(100))
    }

    /// How often to see whether the lease was renewed. A renewal is due every third of a lease, and
    /// TERM at the earliest 0.55 of one after it.
    fn step(self) -> Duration {
        (self.lease / 20).clamp(Duration::from_millis(2), Duration::from_millis(100))
    }
}
