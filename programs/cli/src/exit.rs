//! How the program ends: exit codes, and failures that say what to do.
//!
//! A command's own code passes through unchanged, so the codes of `dlock` itself are those of
//! sysexits(3), of shells and of env(1), plus one of our own (80) that a command hardly uses.

use std::{
    error::Error as StdError,
    fmt,
    io::Write,
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
};

use dlock_core::BuildError;
use dlock_stores::{
    Program, StoreError,
    text::{with_causes, without_credentials},
};

/// This program, as the errors of stores name it.
pub(crate) const PROGRAM: Program = Program {
    name: "dlock",
    folder: "programs/cli",
    set_up: "make it once: 'dlock setup', with the same --store",
    set_up_queue: "make it once: 'dlock tasks setup', with the same --database",
    serves_many: false,
    warn: say,
};

/// `--quiet`, of this whole process.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From here on only errors are printed.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Why `dlock` itself ends, as its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Nothing to show or to do: no such lock, no leader, or the user said no.
    Nothing = 1,
    /// The command line is wrong.
    Usage = 64,
    /// The store did not answer, or refuses for now.
    StoreUnreachable = 69,
    /// The system refused a process, a pipe or a thread.
    System = 71,
    /// Standard output can't be written.
    Output = 74,
    /// Another process has the lock, and the time to wait has passed.
    NotAcquired = 75,
    /// The store can't be used as it is.
    StoreUnusable = 78,
    /// The lease was lost, or could not be protected, while the command ran.
    LeaseLost = 80,
    /// The command exists but can't be executed.
    NotExecutable = 126,
    /// The command does not exist.
    NotFound = 127,
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// An end with a message: what went wrong, why, and what to do.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    /// Replaces the code of `exit`, if the user wants another one.
    code: Option<u8>,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
    advice: Option<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            code: None,
            message: message.into(),
            source: None,
            advice: None,
        }
    }

    pub(crate) fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// The system refused something that is needed to run a command.
    #[cfg(unix)]
    pub(crate) fn system(message: impl Into<String>, source: impl Into<std::io::Error>) -> Self {
        Self::new(Exit::System, message).because(source.into())
    }

    /// The advice to the user.
    pub(crate) fn advice(&self) -> Option<&str> {
        self.advice.as_deref()
    }

    /// Ends with this code instead.
    #[cfg(unix)]
    pub(crate) const fn with_code(mut self, code: u8) -> Self {
        self.code = Some(code);
        self
    }

    pub(crate) const fn exit(&self) -> Exit {
        self.exit
    }

    /// Prints the failure with its causes, and returns its code. That the lock is taken, or has no holder, is an
    /// answer: a user who wants quiet reads it from the code.
    pub(crate) fn report(&self) -> ExitCode {
        let is_answer = matches!(self.exit, Exit::NotAcquired | Exit::Nothing);
        if !(is_quiet() && is_answer) {
            say(format_args!("{self}"));
            if let Some(advice) = &self.advice {
                say(format_args!("  {advice}"));
            }
        }
        self.code.unwrap_or(self.exit.code()).into()
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        Self::new(Exit::Usage, error.to_string()).advise("see 'dlock run --help'")
    }
}

impl From<dlock_several::BuildError> for Failure {
    fn from(error: dlock_several::BuildError) -> Self {
        Self::new(Exit::Usage, error.to_string()).advise("see 'dlock run --help'")
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = if error.is_temporary() {
            Exit::StoreUnreachable
        } else {
            Exit::StoreUnusable
        };
        Self {
            exit,
            code: None,
            message: error.to_string(),
            advice: error.advice().map(str::to_owned),
            // The first cause repeats the message, which is left out; the actual reason follows.
            source: Some(error.into()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = self.source.as_deref().map(|source| source as &dyn StdError);
        f.write_str(&with_causes(&self.message, source))
    }
}

/// One line for people, on standard error.
pub(crate) fn say(message: fmt::Arguments<'_>) {
    // When standard error is closed, no reader is left; one write, so that lines of several processes do not
    // mix.
    let line = without_credentials(&format!("dlock: {message}\n"));
    drop(std::io::stderr().write_all(line.as_bytes()));
}

#[cfg(test)]
mod tests {
    use dlock_core::ProviderError;

    use super::*;

    #[test]
    fn report_shows_every_cause_once() {
        let inner =
            ProviderError::fatal("no table").with_source(std::io::Error::other("disk gone"));
        let failure = Failure::new(Exit::StoreUnusable, "can't read").because(inner);
        assert_eq!(failure.to_string(), "can't read: no table: disk gone");
    }
}
