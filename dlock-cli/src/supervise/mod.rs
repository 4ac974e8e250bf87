//! Runs the command under the lease: starts it behind its guard, passes signals and the terminal
//! on, ends it when the lease ends, and does not return before its whole process group is gone.
//!
//! # Order
//! guard process, stub, deadline and group to the guard, its answer, "go". At no instant does a
//! command run that is not in a group which a guard knows.
//!
//! # The end
//! - The command ended by itself: what it left running in its group would go on working without the
//!   lock. It gets a moment to end by itself too (a `tee` that reads the last lines), then TERM,
//!   and KILL after the grace; all of that under the lease, which is renewed meanwhile.
//! - The lease is lost for certain: KILL at once.
//! - The lease is running out, because the store does not answer: the guard sends TERM at
//!   `valid_until` - grace and KILL just before `valid_until`. That end is settled with the TERM,
//!   also if a renewal succeeds after all. KILL is sent from here too, should the guard be stopped.
//! - The guard is gone: KILL at once. Nothing protects others from this command any more if
//!   `dlock run` is killed next, and a second guard would leave a gap before it is ready.
//!
//! If members of the group can't be killed (another user's), the lock is not given back before they
//! have ended by themselves.

mod command;
mod group;
mod guard;
pub(crate) mod signals;
mod terminal;

use std::{io, process::ExitStatus, time::Duration};

use dlock_core::Loss;
use rustix::process::Signal;

pub(crate) use self::{command::Program, group::Group, signals::Signals};
use self::{
    command::{Change, Command},
    guard::GuardProcess,
    terminal::Terminal,
};
use crate::{
    clock::HolderTime,
    exit::{Failure, say},
    helper::wire::{Deadline, Report},
};

/// How long members of the group may go on after the command itself, before they get TERM.
const SETTLE: Duration = Duration::from_millis(200);
/// How often the group is looked at while it ends.
const LOOK: Duration = Duration::from_millis(10);
/// How long the guard may take to get ready.
const PATIENCE: Duration = Duration::from_secs(10);
/// When to say what `dlock run` is still waiting for.
const SILENCE: Duration = Duration::from_secs(5);

/// How the command ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// By itself, or by a signal that was not ours.
    ByItself {
        /// How.
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
    Lost(Loss),
    /// The lease was running out.
    RunningOut,
    /// The guard process died.
    Unguarded,
}

/// How long the lease lasts and how it is divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// The lease's duration.
    pub(crate) lease: Duration,
    /// From TERM to the end of the lease.
    pub(crate) grace: Duration,
}

/// Runs the program under the lease. Call it from the main thread (see [`Command::prepare`]).
pub(crate) async fn run(
    program: &Program,
    terms: Terms,
    lease: &dlock_core::Guard,
    signals: &mut Signals,
) -> Result<Ended, Failure> {
    let failed = |error| Failure::system("can't start the command's guard process", error);
    let mut guard = GuardProcess::start().map_err(failed)?;
    guard.extend(terms.deadline(lease)).map_err(failed)?;
    let command = Command::prepare(program)
        .map_err(|error| Failure::system("can't start a process", error))?;
    tokio::time::timeout(PATIENCE, guard.watch(command.group()))
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        .map_err(failed)?;
    let mut terminal = Terminal::open();
    if let Some(terminal) = &mut terminal {
        terminal.offer(command.group());
    }
    let mut supervision = Supervision {
        terms,
        lease,
        guard,
        command,
        terminal,
        stage: Stage::Running,
        cut: None,
        end_by: None,
        killed: None,
        complained: false,
    };
    supervision
        .command
        .go()
        .map_err(|error| Failure::system("can't start the command", error))?;
    supervision.work(signals).await;
    supervision.finish().await
}

/// Whether this job is in the foreground of a terminal.
pub(crate) fn is_in_foreground() -> bool {
    Terminal::open().is_some_and(|terminal| terminal.is_ours())
}

impl Terms {
    /// When TERM and KILL are due, if the lease is not renewed from now on.
    fn deadline(self, lease: &dlock_core::Guard) -> Deadline {
        // In this order: a stop between the two makes the deadline earlier, never later.
        let now = HolderTime::now();
        let valid_until = now + lease.remaining();
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

/// How far the command has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Running,
    /// The command has ended, at this time; its group may have members left.
    Clearing {
        since: HolderTime,
        terminated: bool,
    },
    /// Nobody is left.
    Over,
}

struct Supervision<'a> {
    terms: Terms,
    lease: &'a dlock_core::Guard,
    guard: GuardProcess,
    command: Command,
    terminal: Option<Terminal>,
    stage: Stage,
    cut: Option<Cut>,
    /// The end of the group is settled: nobody of it may run after this.
    end_by: Option<HolderTime>,
    /// The first KILL.
    killed: Option<HolderTime>,
    complained: bool,
}

impl Supervision<'_> {
    async fn work(&mut self, signals: &mut Signals) {
        let mut lost = std::pin::pin!(self.lease.lost());
        loop {
            self.look();
            let pause = match self.stage {
                Stage::Running => self.terms.step(),
                Stage::Clearing { .. } => LOOK,
                Stage::Over => return,
            };
            let settled = self.cut.is_some();
            tokio::select! {
                biased;
                loss = &mut lost, if !settled => self.cut(Cut::Lost(loss)),
                report = self.guard.report(), if !settled => match report {
                    Some(Report::Terminating) => self.running_out(),
                    Some(Report::Ready) => {}
                    None => self.cut(Cut::Unguarded),
                },
                signal = signals.next() => self.pass_on(signal),
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Deadline, command and group, as they are now.
    fn look(&mut self) {
        let deadline = self.terms.deadline(self.lease);
        if self.cut.is_none() && self.guard.extend(deadline).is_err() {
            self.cut(Cut::Unguarded);
        }
        let now = HolderTime::now();
        if now
            >= self
                .end_by
                .map_or(deadline.kill, |end_by| end_by.min(deadline.kill))
        {
            // The guard has done it, unless somebody stopped it.
            self.kill(now);
            self.cut.get_or_insert(Cut::RunningOut);
        }
        match self.stage {
            Stage::Running => match self.command.change() {
                Change::Ended => self.clear(now, now, false),
                Change::Stopped(signal) => self.stopped(signal),
                Change::None => {}
            },
            Stage::Clearing { since, terminated } => self.clear(now, since, terminated),
            Stage::Over => {}
        }
    }

    /// Sees the members off that the command has left in its group.
    fn clear(&mut self, now: HolderTime, since: HolderTime, terminated: bool) {
        let group = self.command.group();
        if group.living().is_empty() {
            // A member that forked while we looked may have hidden its child. After this nobody
            // forks.
            group.kill();
            if group.living().is_empty() {
                self.stage = Stage::Over;
                return;
            }
        }
        let term_due = now >= since + SETTLE;
        if now >= since + SETTLE + self.terms.grace {
            self.kill(now);
        } else if term_due && !terminated {
            group.terminate();
        }
        self.stage = Stage::Clearing {
            since,
            terminated: terminated || term_due,
        };
    }

    /// KILL to everybody; says once what keeps us when that does not help.
    fn kill(&mut self, now: HolderTime) {
        let group = self.command.group();
        group.kill();
        let since = *self.killed.get_or_insert(now);
        if !self.complained && now >= since + SILENCE {
            self.complained = true;
            say(format_args!(
                "processes of the command can't be killed: {:?} (do they belong to another user?); \
                 waiting for their end",
                group.living()
            ));
        }
    }

    fn pass_on(&mut self, signal: Signal) {
        let group = self.command.group();
        match signal {
            // The next look tells.
            Signal::CHILD => return,
            // Perhaps by `fg`.
            Signal::CONT => {
                if let Some(terminal) = &mut self.terminal {
                    terminal.offer(group);
                }
            }
            _ => {}
        }
        group.signal(signal);
    }

    /// The command was stopped: so is the job that it is the work of.
    fn stopped(&mut self, signal: Signal) {
        let group = self.command.group();
        // Without a terminal nobody has jobs. Whoever stopped the command will continue it; until
        // then it keeps its lease.
        let Some(terminal) = &mut self.terminal else {
            return;
        };
        let wants_terminal = matches!(signal, Signal::TTIN | Signal::TTOU);
        if wants_terminal && terminal.lend(group) {
            group.signal(Signal::CONT);
            return;
        }
        if signal == Signal::STOP && !terminal.is_lent() {
            return;
        }
        let had_it = terminal.take_back();
        signals::stop(if wants_terminal { signal } else { Signal::TSTP });
        // Continued, in the foreground (then the terminal is ours to lend) or behind it.
        if had_it || wants_terminal {
            terminal.lend(group);
        }
        group.signal(Signal::CONT);
    }

    fn cut(&mut self, cut: Cut) {
        let now = HolderTime::now();
        self.kill(now);
        self.end_by = Some(now);
        self.cut = Some(cut);
    }

    fn running_out(&mut self) {
        say(format_args!(
            "the lease is running out and can't be renewed: the command gets TERM, and KILL after {:?}",
            self.terms.grace
        ));
        self.end_by = self.guard.kill_at();
        self.cut = Some(Cut::RunningOut);
    }

    /// The group is empty: clears up, and says how the command ended.
    async fn finish(mut self) -> Result<Ended, Failure> {
        // The guard tells before it acts, but the end of the command may have been seen first.
        if self.cut.is_none() && matches!(self.guard.try_report(), Ok(Some(Report::Terminating))) {
            self.running_out();
        }
        let Self {
            lease,
            guard,
            command,
            terminal,
            cut,
            ..
        } = self;
        guard.dismiss().await;
        let refusal = command.refusal();
        let status = command
            .reap()
            .map_err(|error| Failure::system("can't learn how the command ended", error))?;
        let mut foreground = false;
        if let Some(mut terminal) = terminal {
            foreground = terminal.take_back();
            if foreground && status.code().is_none() {
                terminal.restore_modes();
            }
        }
        let lost = !lease.is_valid();
        Ok(match (cut, refusal) {
            // The loss knows more.
            (Some(Cut::RunningOut), _) if lost => Ended::Cut(Cut::Lost(lease.lost().await)),
            (Some(cut), _) => Ended::Cut(cut),
            (None, Some(error)) => Ended::NotStarted(error),
            // Too late to know that it was protected to its end (V9).
            (None, None) if lost => Ended::Cut(Cut::Lost(lease.lost().await)),
            (None, None) => Ended::ByItself { status, foreground },
        })
    }
}
