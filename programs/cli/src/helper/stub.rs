//! The stub: the command's process until the command may start.
//!
//! It exists so that no command ever runs that the guard does not know. `dlock run` starts the stub,
//! sends the guard its group, and only when the guard has answered does it say "go"; the stub then
//! *becomes* the command. If `dlock run` dies before, the channel ends and so does the stub.
//!
//! The channel takes the place of standard input, so the real one travels over it with the "go".
//! The channel closes automatically when the command has taken over; otherwise the stub reports why
//! it could not.

use std::{
    ffi::OsString,
    io::{self, IoSliceMut, Write},
    mem::MaybeUninit,
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Command, ExitCode},
};

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use crate::exit::{Exit, say};

/// Runs the stub. `arguments`: the process id of `dlock run`, the program, its arguments.
pub(super) fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let parent = arguments.next().and_then(|id| id.to_str()?.parse().ok());
    let (Some(parent), Some(program)) = (parent, arguments.next()) else {
        say(format_args!(
            "this is a part of 'dlock run'; it can't be started by hand"
        ));
        return Exit::Usage.into();
    };
    match take_off(parent, Command::new(program).args(arguments)) {
        // No process listens any more: `dlock run` is gone.
        Ok(()) => Exit::LeaseLost.into(),
        Err(error) => {
            say(format_args!("the command can't be started: {error}"));
            Exit::System.into()
        }
    }
}

/// Waits for "go" and becomes the command. Returns only if that failed.
fn take_off(parent: i32, command: &mut Command) -> io::Result<()> {
    die_with_parent(parent)?;
    let mut channel = super::channel()?;
    let Some(stdin) = await_go(&channel)? else {
        return Ok(());
    };
    rustix::stdio::dup2_stdin(&stdin)?;
    // It was received without "close on exec", which not every system can do.
    drop(stdin);
    // `exec` returns only on failure. It gives SIGPIPE its default action again.
    let error = command.exec();
    channel.write_all(&error.raw_os_error().unwrap_or_default().to_ne_bytes())
}

/// Asks the kernel to kill this process, and later the command, in the same moment as
/// `dlock run`. The guard does that too, and for the whole group, but it is a process that can be
/// killed itself. (The kernel means the *thread* that started us: `dlock run` does it from its main
/// thread, which lasts as long as the process.)
#[cfg(any(target_os = "linux", target_os = "android"))]
fn die_with_parent(parent: i32) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // It may have died before the request; then the signal never comes.
    if rustix::process::getppid().map(rustix::process::Pid::as_raw_pid) == Some(parent) {
        Ok(())
    } else {
        Err(io::Error::other("'dlock run' is gone"))
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn die_with_parent(_parent: i32) -> io::Result<()> {
    Ok(())
}

/// The command's standard input, which comes with the "go"; `None` at the end of the channel.
fn await_go(channel: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let message = rustix::io::retry_on_intr(|| {
        recvmsg(
            channel,
            &mut [IoSliceMut::new(&mut byte)],
            &mut ancillary,
            RecvFlags::empty(),
        )
    })?;
    if message.bytes == 0 {
        return Ok(None);
    }
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(mut descriptors) = message {
            return Ok(descriptors.next());
        }
    }
    Err(io::Error::other("'go' came without a standard input"))
}
