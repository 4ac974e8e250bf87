//! How the program ends when it does not serve, or can't: a message, what to do, and an exit code of sysexits(3).

use std::{error::Error, fmt, io::Write, process::ExitCode};

use dlock_stores::{
    StoreError,
    text::{with_causes, without_credentials},
};

/// Why the program ends, as its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// The command line is wrong.
    Usage = 64,
    /// The store did not answer.
    StoreUnreachable = 69,
    /// The system refused an address or a thread.
    System = 71,
    /// The configuration, or the store, can't be used as it is.
    Unusable = 78,
}

/// The error, and what to do.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) exit: Exit,
    message: String,
    advice: Option<String>,
}

impl Failure {
    pub(super) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            advice: None,
        }
    }

    /// Something that was configured can't be used.
    pub(super) fn unusable(message: impl Into<String>) -> Self {
        Self::new(Exit::Unusable, message)
    }

    pub(super) fn because(mut self, cause: &(dyn Error + 'static)) -> Self {
        self.message = with_causes(&self.message, Some(cause));
        self
    }

    pub(super) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Prints it, and yields its code.
    pub(super) fn report(&self) -> ExitCode {
        say(format_args!("{self}"));
        ExitCode::from(self.exit as u8)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = if error.is_temporary() {
            Exit::StoreUnreachable
        } else {
            Exit::Unusable
        };
        Self {
            exit,
            message: with_causes("", Some(&error)),
            advice: error.advice().map(str::to_owned),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.advice {
            Some(advice) => write!(f, "\n  {advice}"),
            None => Ok(()),
        }
    }
}

/// The error in the command line, or the help that was asked for.
pub(super) fn explain(error: &clap::Error) -> ExitCode {
    // It may repeat a word that was meant as the value of --store. If it can't be printed, no reader is left.
    let text = without_credentials(&error.render().to_string());
    if error.use_stderr() {
        drop(std::io::stderr().write_all(text.as_bytes()));
        return ExitCode::from(Exit::Usage as u8);
    }
    drop(std::io::stdout().write_all(text.as_bytes()));
    ExitCode::SUCCESS
}

/// Lines for people, on standard error.
pub(super) fn say(message: fmt::Arguments<'_>) {
    let line = without_credentials(&format!("dlock-server: {message}\n"));
    // When standard error is closed, no reader is left.
    drop(std::io::stderr().write_all(line.as_bytes()));
}
