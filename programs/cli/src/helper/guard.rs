//! The guard: ends the command's process group when `dlock run` can't.
//!
//! - `dlock run` dies, however: its end of the channel closes, the group gets KILL at once.
//! - `dlock run` is stopped, or its store is: the deadline it sent last passes, the group gets TERM
//!   at `valid_until` - grace, and KILL just before `valid_until`.
//!
//! # Assumptions
//! The deadline is an absolute instant on a clock that it reads itself, so nothing that happens to `dlock run` can move
//! it; it only ever moves forward. Once TERM was sent the end is settled: a renewal that succeeds after that does not
//! save a group of which half has gone.
//!
//! The group's number stays the group's. A number is taken again only when no process, not even a
//! zombie, has it as its id or its group, and the guard keeps a zombie in the group: the *anchor*,
//! a child that joined the group and exited, and that is reaped at the very end. Without it, the
//! command could end and be reaped by init between the death of `dlock run` and our KILL, which
//! would then hit the process that got the number next.
//!
//! It has its own process group and blocks every signal that can be blocked, so nothing that a
//! terminal or a shell sends to the others reaches it. It stays in the session, since a group can't
//! be joined from another one.
//!
//! # Limits
//! A command that changes its user, or moves to another group or session, is out of reach; if the
//! guard is killed, `dlock run` ends the command; if both are killed in the same moment, the kernel
//! still kills the command itself (see `stub`), but not the processes that it has started.

use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    process::{Child, ExitCode},
    time::Duration,
};

use nix::sys::signal::SigSet;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::wire::{Deadline, Order, Report};
use crate::{
    clock::HolderTime,
    exit::{Exit, say},
    group::Group,
};

/// The longest sleep: timers stand still while a machine is suspended, so the clock is read again at least this often.
const STEP: Duration = Duration::from_millis(100);

/// Runs the guard.
pub(super) fn main() -> ExitCode {
    // Best effort both: the parent started us with everything blocked, and the name is for people.
    SigSet::all().thread_block().ok();
    rename().ok();
    match Guard::new().and_then(|mut guard| guard.watch()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(format_args!("the guard of 'dlock run' failed: {error}"));
            Exit::System.into()
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn rename() -> rustix::io::Result<()> {
    rustix::thread::set_name(c"lease-guard")
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn rename() -> rustix::io::Result<()> {
    Ok(())
}

struct Guard {
    channel: UnixStream,
    unread: Vec<u8>,
    deadline: Option<Deadline>,
    stage: Stage,
    watched: Option<Watched>,
}

/// How far the end of the group has progressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Running,
    Terminating,
    Killed,
}

/// The group, and the zombie in it that keeps its number.
struct Watched {
    group: Group,
    anchor: Child,
}

/// The state of the channel.
enum Channel {
    Open,
    /// All has ended, and `dlock run` said so.
    Dismissed,
    /// `dlock run` is gone.
    Gone,
}

impl Guard {
    fn new() -> io::Result<Self> {
        let channel = super::channel()?;
        channel.set_nonblocking(true)?;
        Ok(Self {
            channel,
            unread: Vec::new(),
            deadline: None,
            stage: Stage::Running,
            watched: None,
        })
    }

    fn watch(&mut self) -> io::Result<()> {
        loop {
            self.sleep()?;
            // The clock first: if this process is stopped after reading it, a deadline that was
            // moved in time is still seen to have been moved.
            let now = HolderTime::now();
            match self.read_orders()? {
                Channel::Open => self.enforce(now),
                Channel::Dismissed => return Ok(()),
                Channel::Gone => {
                    if let (Some(Watched { group, .. }), Stage::Running | Stage::Terminating) =
                        (&self.watched, self.stage)
                    {
                        // First: what follows may block.
                        group.kill();
                        say(format_args!(
                            "'dlock run' is gone, so its command was killed too; the lock is free when its lease ends"
                        ));
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Sleeps until orders arrive or the deadline is reached, at most one step.
    fn sleep(&self) -> io::Result<()> {
        let next = self
            .deadline
            .zip(self.watched.as_ref())
            .and_then(|(deadline, _)| match self.stage {
                Stage::Running => Some(deadline.terminate),
                Stage::Terminating => Some(deadline.kill),
                Stage::Killed => None,
            });
        let timeout = next
            .map(|next| next.after(HolderTime::now()).min(STEP))
            .map(|left| Timespec {
                tv_sec: 0,
                tv_nsec: left.subsec_nanos().into(),
            });
        match poll(
            &mut [PollFd::new(&self.channel, PollFlags::IN)],
            timeout.as_ref(),
        ) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn read_orders(&mut self) -> io::Result<Channel> {
        let mut buffer = [0; 64 * Order::SIZE];
        loop {
            match self.channel.read(&mut buffer) {
                Ok(0) => return Ok(Channel::Gone),
                Ok(read) => self.unread.extend_from_slice(&buffer[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A reset is an end too.
                Err(_) => return Ok(Channel::Gone),
            }
        }
        while let Some((frame, rest)) = self.unread.split_first_chunk() {
            let order = Order::decode(frame).ok_or_else(|| io::Error::other("an invalid frame"))?;
            self.unread = rest.to_vec();
            match order {
                Order::Extend(deadline) => self.extend(deadline),
                Order::Watch { group } => self.begin(group)?,
                Order::Dismiss => return Ok(Channel::Dismissed),
            }
        }
        Ok(Channel::Open)
    }

    /// Moves the deadline later only, and not once the end has begun.
    fn extend(&mut self, deadline: Deadline) {
        let later = self.deadline.is_none_or(|known| deadline.kill > known.kill);
        if later && self.stage == Stage::Running {
            self.deadline = Some(deadline);
        }
    }

    fn begin(&mut self, group: i32) -> io::Result<()> {
        let group =
            Group::of_leader(group).ok_or_else(|| io::Error::other("not a process group"))?;
        let anchor = super::anchor_command(group.number())?.spawn()?;
        self.watched = Some(Watched { group, anchor });
        self.report(Report::Ready);
        Ok(())
    }

    fn enforce(&mut self, now: HolderTime) {
        let (Some(deadline), Some(&Watched { group, .. })) = (self.deadline, self.watched.as_ref())
        else {
            return;
        };
        if now >= deadline.terminate && self.stage == Stage::Running {
            self.stage = Stage::Terminating;
            // Reported before the signal: the reason is known before the command can end by it.
            self.report(Report::Terminating);
            group.terminate();
        }
        if now >= deadline.kill && self.stage != Stage::Killed {
            group.kill();
            self.stage = Stage::Killed;
        }
    }

    fn report(&mut self, report: Report) {
        // If it can't be written, `dlock run` is gone, as the next read will show.
        drop(self.channel.write_all(&[report.encode()]));
    }
}

impl Drop for Guard {
    /// Also on the way out after an error: a group without a guard must not live.
    fn drop(&mut self) {
        if let Some(Watched { group, mut anchor }) = self.watched.take() {
            group.kill();
            // Now the number may go.
            drop(anchor.wait());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::process::CommandExt, process::Command};

    use super::*;

    /// A slow machine may get to it this late. `dlock run` would take the end of the command for
    /// its own doing.
    #[test]
    fn guard_that_comes_too_late_for_term_tells_why_it_kills() -> io::Result<()> {
        let (mut run, channel) = UnixStream::pair()?;
        run.set_nonblocking(true)?;
        let anchor = Command::new("sleep").arg("60").process_group(0).spawn()?;
        let group = i32::try_from(anchor.id()).ok().and_then(Group::of_leader);
        let now = HolderTime::now();
        let mut guard = Guard {
            channel,
            unread: Vec::new(),
            deadline: Some(Deadline {
                terminate: now,
                kill: now,
            }),
            stage: Stage::Running,
            watched: group.map(|group| Watched { group, anchor }),
        };
        guard.enforce(now);
        let mut told = [0];
        run.read_exact(&mut told)?;
        assert_eq!(Report::decode(told[0]), Some(Report::Terminating));
        let killed = guard.watched.as_mut().map(|watched| watched.anchor.wait());
        assert!(matches!(killed, Some(Ok(status)) if status.code().is_none()));
        Ok(())
    }
}
