//! The loop that supervises a running command: its lease, its guard, its signals, its terminal, and
//! the end of its group.

use std::time::Duration;

use rustix::process::Signal;

use super::{
    Cut, Ended, Leases, Signals, Terms,
    command::{Change, Command},
    guard::GuardProcess,
    orphans, signals,
    terminal::Terminal,
};
use crate::{
    clock::HolderTime,
    exit::{Failure, say},
    helper::wire::Report,
};

/// How long members of the group may run on after the command itself, before they get TERM.
const SETTLE: Duration = Duration::from_millis(200);
/// How often the group is checked while it ends.
const LOOK: Duration = Duration::from_millis(10);
/// When to print what `dlock run` is still waiting for.
const SILENCE: Duration = Duration::from_secs(5);

/// A command under its lease, from its start to the end of its group.
pub(super) struct Supervision<'a> {
    terms: Terms,
    leases: &'a Leases,
    guard: GuardProcess,
    command: Command,
    terminal: Option<Terminal>,
    stage: Stage,
    cut: Option<Cut>,
    /// The end of the group is settled: no member of it may run after this.
    end_by: Option<HolderTime>,
    /// The time of the first KILL.
    killed: Option<HolderTime>,
    complained: bool,
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
    /// No member is left; whether the lease was still valid when that was seen.
    Over {
        in_time: bool,
    },
}

impl<'a> Supervision<'a> {
    /// Supervises a command that its guard watches already.
    pub(super) const fn new(
        terms: Terms,
        leases: &'a Leases,
        guard: GuardProcess,
        command: Command,
        terminal: Option<Terminal>,
    ) -> Self {
        Self {
            terms,
            leases,
            guard,
            command,
            terminal,
            stage: Stage::Running,
            cut: None,
            end_by: None,
            killed: None,
            complained: false,
        }
    }

    /// Returns when no member of the command's group is left.
    pub(super) async fn work(&mut self, stop: impl Future<Output = ()>, signals: &mut Signals) {
        let mut lost = std::pin::pin!(self.leases.ended());
        let mut stop = std::pin::pin!(stop);
        loop {
            self.look();
            let pause = match self.stage {
                Stage::Running => self.terms.step(),
                Stage::Clearing { .. } => LOOK,
                Stage::Over { .. } => return,
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
                () = &mut stop, if !settled => self.resign(),
                signal = signals.next() => self.pass_on(signal),
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Checks the deadline, the command and the group, as they are now.
    fn look(&mut self) {
        orphans::reap(&[self.command.group().number(), self.guard.number()]);
        let deadline = self.terms.deadline(self.leases);
        if self.cut.is_none() && self.guard.extend(deadline).is_err() {
            self.cut(Cut::Unguarded);
        }
        let now = HolderTime::now();
        if now
            >= self
                .end_by
                .map_or(deadline.kill, |end_by| end_by.min(deadline.kill))
        {
            // The guard has done it, unless it was stopped.
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
            Stage::Over { .. } => {}
        }
    }

    /// Ends the members that the command has left in its group.
    fn clear(&mut self, now: HolderTime, since: HolderTime, terminated: bool) {
        let group = self.command.group();
        if group.living().is_empty() {
            // A member that forked during this check may have hidden its child. After this no
            // member forks.
            group.kill();
            if group.living().is_empty() {
                let in_time = self.leases.is_valid();
                self.stage = Stage::Over { in_time };
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

    /// KILL to every member; prints once what it is waiting for when that does not help.
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
            // The next check shows it.
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

    /// The command was stopped: the job it belongs to is stopped, too.
    fn stopped(&mut self, signal: Signal) {
        let group = self.command.group();
        // Without a terminal there is no job control: the process that stopped the command will
        // continue it, and until then `dlock` keeps the lease.
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
        // Continued, in the foreground (then the terminal is ours to lend) or in the background.
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

    /// TERM now, and KILL after the grace: the lease is renewed meanwhile.
    fn resign(&mut self) {
        self.command.group().terminate();
        self.end_by = Some(HolderTime::now() + self.terms.grace);
        self.cut = Some(Cut::Resigned);
    }

    fn running_out(&mut self) {
        say(format_args!(
            "the lease is running out and can't be renewed: the command gets TERM, and KILL after {:?}",
            self.terms.grace
        ));
        self.end_by = self.guard.kill_at();
        self.cut = Some(Cut::RunningOut);
    }

    /// The group is empty: cleans up, and returns how the command ended.
    pub(super) async fn finish(mut self) -> Result<Ended, Failure> {
        // The guard reports before it acts, but the end of the command may have been seen first.
        if self.cut.is_none() && matches!(self.guard.try_report(), Ok(Some(Report::Terminating))) {
            self.running_out();
        }
        let Self {
            leases,
            guard,
            command,
            terminal,
            cut,
            stage,
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
        Ok(match (cut, refusal) {
            // The loss says more.
            (Some(Cut::RunningOut), _) if !leases.is_valid() => {
                Ended::Cut(Cut::Lost(leases.ended().await))
            }
            (Some(cut), _) => Ended::Cut(cut),
            (None, Some(error)) => Ended::NotStarted(error),
            // Too late to know that it was protected to its end.
            (None, None) if stage != (Stage::Over { in_time: true }) => {
                Ended::Cut(Cut::Lost(leases.ended().await))
            }
            (None, None) => Ended::ByItself { status, foreground },
        })
    }
}
