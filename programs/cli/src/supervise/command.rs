//! The command, as its parent sees it: started through the stub, watched without being reaped.

use std::{
    ffi::OsString,
    io::{self, IoSlice, Read, stdin},
    mem::MaybeUninit,
    os::{fd::AsFd, unix::net::UnixStream},
    process::{Child, ExitStatus},
};

use rustix::{
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg},
    process::{Signal, WaitId, WaitIdOptions, waitid},
};

use super::signals;
use crate::{group::Group, helper};

/// The command, and the variables added to its environment.
#[derive(Debug)]
pub(crate) struct Program {
    /// The program and its arguments; at least one.
    pub(crate) words: Vec<OsString>,
    /// Added to the environment of `dlock` itself.
    pub(crate) environment: Vec<(&'static str, String)>,
}

/// The command's process. Unless [`Command::reap`] was called, dropping it kills the whole group.
pub(super) struct Command {
    process: Child,
    group: Group,
    reaped: bool,
    channel: UnixStream,
}

/// The command's last change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    None,
    /// Stopped by this signal.
    Stopped(Signal),
    /// Ended; still a zombie.
    Ended,
}

impl Command {
    /// Starts the stub, which waits for [`Command::go`]. From the main thread: the stub asks to die
    /// with the thread that started it.
    pub(super) fn prepare(program: &Program) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let mut command = helper::stub_command(theirs, &program.words)?;
        command.envs(program.environment.iter().map(|(key, value)| (key, value)));
        let process = signals::with_inherited_mask(|| command.spawn())??;
        // Its own end of the channel is in `command`; kept open here, it would hide the stub's end.
        drop(command);
        let group = i32::try_from(process.id())
            .ok()
            .and_then(Group::of_leader)
            .ok_or_else(|| io::Error::other("a process without a usable number"))?;
        Ok(Self {
            process,
            group,
            reaped: false,
            channel: ours,
        })
    }

    /// The group that the command leads. Its number is its own until [`Command::reap`].
    pub(super) const fn group(&self) -> Group {
        self.group
    }

    /// Lets the stub become the command, with our standard input.
    pub(super) fn go(&self) -> io::Result<()> {
        let stdin = stdin();
        let descriptors = [stdin.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let fits = ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        debug_assert!(fits, "the space is computed for one descriptor");
        sendmsg(
            &self.channel,
            &[IoSlice::new(b"g")],
            &mut ancillary,
            SendFlags::empty(),
        )?;
        Ok(())
    }

    /// Why the stub could not become the command, once it has ended; `None` if it could.
    pub(super) fn refusal(&self) -> Option<io::Error> {
        let mut errno = [0; 4];
        match (&self.channel).read(&mut errno) {
            Ok(4) => Some(io::Error::from_raw_os_error(i32::from_ne_bytes(errno))),
            // Closed on exec, without a message.
            Ok(_) | Err(_) => None,
        }
    }

    /// The change since the last call. Does not reap.
    pub(super) fn change(&self) -> Change {
        let look = |options| {
            let options = options | WaitIdOptions::NOHANG;
            rustix::io::retry_on_intr(|| waitid(WaitId::Pid(self.group.leader()), options))
                .ok()
                .flatten()
        };
        if look(WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).is_some() {
            return Change::Ended;
        }
        look(WaitIdOptions::STOPPED)
            .and_then(|status| Signal::from_named_raw(status.stopping_signal()?))
            .map_or(Change::None, Change::Stopped)
    }

    /// How the command ended. From here on its group's number may belong to others.
    pub(super) fn reap(mut self) -> io::Result<ExitStatus> {
        self.reaped = true;
        self.process.wait()
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        if !self.reaped {
            self.group.kill();
            drop(self.process.wait());
        }
    }
}
