//! The processes that `dlock run` starts next to itself: this program again, distinguished by a
//! hidden first argument. They have no runtime, no store and no settings.
//!
//! Each finds its channel to `dlock run` as its standard input: the one descriptor that a program
//! without `unsafe` can hand to a child.

pub(crate) mod guard;
pub(crate) mod stub;
pub(crate) mod wire;

use std::{
    ffi::OsStr,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Command, ExitCode, Stdio},
};

const GUARD: &str = "__guard";
const ANCHOR: &str = "__anchor";
const STUB: &str = "__stub";

/// Runs this process as the helper it was started as, if it was started as one.
pub(crate) fn main() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let role = arguments.next()?;
    if role == OsStr::new(GUARD) {
        Some(guard::main())
    } else if role == OsStr::new(STUB) {
        Some(stub::main(arguments))
    } else if role == OsStr::new(ANCHOR) {
        // Its only task is to be a zombie.
        Some(ExitCode::SUCCESS)
    } else {
        None
    }
}

/// A command that starts this program in a role. `channel` becomes its standard input.
///
/// The helpers that stay next to the command have no use for the environment, which may contain a
/// store's password; only the variables that a system's loader may need to start a program stay.
fn this_program(role: &str, channel: Stdio) -> io::Result<Command> {
    let mut command = Command::new(executable()?);
    command.arg(role).stdin(channel);
    Ok(command)
}

fn without_environment(command: &mut Command) -> &mut Command {
    let loader = std::env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy();
        name.starts_with("LD_") || name.starts_with("DYLD_")
    });
    command.env_clear().envs(loader)
}

/// This very program file, even if an upgrade has replaced it since.
fn executable() -> io::Result<std::path::PathBuf> {
    let own = std::path::Path::new("/proc/self/exe");
    if own.exists() {
        Ok(own.into())
    } else {
        std::env::current_exe()
    }
}

/// The command that starts the guard.
///
/// Neither its name nor its arguments contain "dlock": a user who runs `pkill -9 dlock` means the
/// program he started, and must not take down the process that protects him from that.
pub(crate) fn guard_command(channel: UnixStream) -> io::Result<Command> {
    let mut command = this_program(GUARD, OwnedFd::from(channel).into())?;
    without_environment(&mut command)
        .arg0("lease-guard")
        .current_dir("/")
        .stdout(Stdio::null())
        .process_group(0);
    Ok(command)
}

/// The command that starts the stub of `program` as the leader of its own process group.
pub(crate) fn stub_command(
    channel: UnixStream,
    program: &[std::ffi::OsString],
) -> io::Result<Command> {
    let mut command = this_program(STUB, OwnedFd::from(channel).into())?;
    command
        .arg(std::process::id().to_string())
        .args(program)
        .process_group(0);
    Ok(command)
}

/// The command that leaves a zombie in a process group.
fn anchor_command(group: i32) -> io::Result<Command> {
    let mut command = this_program(ANCHOR, Stdio::null())?;
    without_environment(&mut command)
        .arg0("lease-anchor")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(group);
    Ok(command)
}

/// The channel that this helper was given as its standard input.
fn channel() -> io::Result<UnixStream> {
    // The copy is closed on exec, as everything that the standard library opens.
    Ok(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}
