//! Standard output: the result of a subcommand. If it can't be written, the subcommand has failed,
//! whatever else it did.

use std::{
    fmt,
    io::{self, ErrorKind, Write},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::exit::{Exit, Failure, is_quiet};

/// Writes all of this text at once, so that lines of several processes do not mix. `false`: the
/// reader has had enough (`| head`).
pub(crate) fn write(text: &str) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => {
            Err(Failure::new(Exit::Output, "can't write to standard output").because(error))
        }
    }
}

/// Whether there is a reader: the other end of a pipe may have gone.
pub(crate) fn has_reader() -> bool {
    let out = io::stdout();
    let mut out = [PollFd::new(&out, PollFlags::empty())];
    !poll(&mut out, Some(&Timespec::default()))
        .is_ok_and(|_| out[0].revents().contains(PollFlags::ERR))
}

/// One line.
pub(crate) fn line(line: fmt::Arguments<'_>) -> Result<(), Failure> {
    write(&format!("{line}\n")).map(drop)
}

/// One line that says that the work is done, unless `--quiet` was given.
pub(crate) fn done(line: fmt::Arguments<'_>) -> Result<(), Failure> {
    if is_quiet() {
        return Ok(());
    }
    self::line(line)
}
