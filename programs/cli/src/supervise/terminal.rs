//! The controlling terminal: which group is in its foreground, and the state in which it was found.
//!
//! To the terminal, a separate process group is a background job: Ctrl-C would not reach it and
//! reading would stop it. So the command's group is put into the foreground
//!
//! - from the start, when standard input and output both are terminals: then `dlock run` is most
//!   likely alone, and the command may well be an editor or a shell;
//! - else, as soon as the terminal stops the command because it wants to use it. In `dlock run .. |
//!   less` the pager has to keep the terminal, as long as the command does not use it. Ctrl-C and
//!   Ctrl-Z reach the command all the same: `dlock run` gets them and passes them on.
//!
//! All of this needs SIGTTOU blocked (see `signals`), or the terminal would stop `dlock run` itself.

use std::{
    fs::File,
    io::{IsTerminal, stdin, stdout},
};

use rustix::{
    process::{Pid, getpgrp},
    termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp},
};

use crate::group::Group;

/// The controlling terminal of this process.
pub(crate) struct Terminal {
    device: File,
    own: Pid,
    modes: Option<Termios>,
    eager: bool,
    lent: bool,
}

impl Terminal {
    /// `None` without a controlling terminal.
    pub(crate) fn open() -> Option<Self> {
        let device = File::options()
            .read(true)
            .write(true)
            .open("/dev/tty")
            .ok()?;
        let modes = tcgetattr(&device).ok();
        let eager = stdin().is_terminal() && stdout().is_terminal();
        Some(Self {
            device,
            own: getpgrp(),
            modes,
            eager,
            lent: false,
        })
    }

    /// Whether our own group has the terminal.
    pub(crate) fn is_ours(&self) -> bool {
        tcgetpgrp(&self.device) == Ok(self.own)
    }

    /// Whether the command's group has got it from us.
    pub(crate) const fn is_lent(&self) -> bool {
        self.lent
    }

    /// Puts the command's group into the foreground, if it is ours to give and the command is
    /// likely to want it.
    pub(crate) fn offer(&mut self, group: Group) {
        if self.eager {
            self.lend(group);
        }
    }

    /// Puts the command's group into the foreground; `false` if we are not there ourselves.
    pub(crate) fn lend(&mut self, group: Group) -> bool {
        let lent = self.is_ours() && tcsetpgrp(&self.device, group.leader()).is_ok();
        self.lent |= lent;
        lent
    }

    /// Puts our own group into the foreground again, if it was there. Returns whether it was.
    pub(crate) fn take_back(&mut self) -> bool {
        let lent = std::mem::take(&mut self.lent);
        if lent {
            // Whichever group has it now: the command's, or that of a job to which the command lent
            // it.
            tcsetpgrp(&self.device, self.own).ok();
        }
        lent
    }

    /// Restores the terminal's modes, after a command that could not do it itself.
    pub(crate) fn restore_modes(&self) {
        if let Some(modes) = &self.modes
            && self.is_ours()
        {
            tcsetattr(&self.device, OptionalActions::Drain, modes).ok();
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.take_back();
    }
}
