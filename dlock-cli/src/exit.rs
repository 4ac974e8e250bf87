//! How the program ends: exit codes, and failures that say what to do.
//!
//! A command's own code passes through unchanged, so the codes of `dlock` itself are those of
//! sysexits(3), of shells and of env(1), plus one of our own (80) that a command hardly uses.

use std::{error::Error as StdError, fmt, io::Write, process::ExitCode};

use dlock_core::{ConfigError, Error, ErrorKind, ProviderError};

/// Why `dlock` itself ends, as its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// `dlock status`: there is no such lock.
    NoRecord = 1,
    /// The command line is wrong.
    Usage = 64,
    /// The store did not answer.
    StoreUnreachable = 69,
    /// The system refused a process, a pipe or a thread.
    System = 71,
    /// Somebody else has the lock, and the time to wait is over.
    NotAcquired = 75,
    /// The store can't be used as it is.
    StoreUnusable = 78,
    /// The lease was lost, or could not be protected, while the command ran.
    LeaseLost = 80,
    /// The command exists but can't be executed.
    NotExecutable = 126,
    /// There is no such command.
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
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
    advice: Option<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
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

    /// The system refused something that running a command needs.
    #[cfg(unix)]
    pub(crate) fn system(message: impl Into<String>, source: impl Into<std::io::Error>) -> Self {
        Self::new(Exit::System, message).because(source.into())
    }

    /// The store gave no answer.
    pub(crate) fn provider(doing: &str, store: &impl fmt::Display, error: ProviderError) -> Self {
        match error.kind() {
            ErrorKind::Fatal => Self::new(
                Exit::StoreUnusable,
                format!("{doing}: the store {store} can't be used"),
            )
            .because(error),
            ErrorKind::NotApplied | ErrorKind::Unknown => Self::new(
                Exit::StoreUnreachable,
                format!("{doing}: the store {store} does not answer"),
            )
            .because(error)
            .advise(
                "is another program keeping it locked, or its disk full or gone? try again later",
            ),
        }
    }

    /// An acquire of the core ended without the lock.
    pub(crate) fn acquire(name: &str, store: &impl fmt::Display, error: Error) -> Self {
        let doing = format!("can't acquire {name:?}");
        match error {
            Error::Provider(error) => Self::provider(&doing, store, error),
            Error::Timeout {
                holder: None,
                source: Some(error),
                ..
            } => Self::provider(&doing, store, error),
            other => Self::new(Exit::NotAcquired, doing).because(other),
        }
    }

    #[cfg(test)]
    pub(crate) const fn exit(&self) -> Exit {
        self.exit
    }

    /// Prints the failure with its causes, and yields its code.
    pub(crate) fn report(&self) -> ExitCode {
        say(format_args!("{self}"));
        if let Some(advice) = &self.advice {
            say(format_args!("  {advice}"));
        }
        self.exit.into()
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::new(Exit::Usage, error.to_string()).advise("see 'dlock run --help'")
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let mut cause = self.source.as_deref().map(|source| source as &dyn StdError);
        let mut last = self.message.clone();
        while let Some(error) = cause {
            let text = error.to_string();
            // Transparent errors repeat the text of their source.
            if text != last {
                write!(f, ": {text}")?;
            }
            last = text;
            cause = error.source();
        }
        Ok(())
    }
}

/// One line for people, on standard error.
pub(crate) fn say(message: fmt::Arguments<'_>) {
    // Nobody is left to tell when standard error is closed; one write, so that lines of several
    // processes do not mix.
    drop(std::io::stderr().write_all(format!("dlock: {message}\n").as_bytes()));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn kind_of_error_decides_the_code() {
        let acquire = |error| Failure::acquire("n", &"s", error).exit();
        assert_eq!(
            acquire(Error::Provider(ProviderError::fatal("x"))),
            Exit::StoreUnusable
        );
        assert_eq!(
            acquire(Error::Provider(ProviderError::unknown("x"))),
            Exit::StoreUnreachable
        );
        assert_eq!(
            acquire(Error::Provider(ProviderError::not_applied("x"))),
            Exit::StoreUnreachable
        );
        let timeout = |source| Error::Timeout {
            waited: Duration::ZERO,
            holder: None,
            source,
        };
        assert_eq!(acquire(timeout(None)), Exit::NotAcquired);
        assert_eq!(
            acquire(timeout(Some(ProviderError::unknown("x")))),
            Exit::StoreUnreachable
        );
    }

    #[test]
    fn report_shows_every_cause_once() {
        let inner =
            ProviderError::fatal("no table").with_source(std::io::Error::other("disk gone"));
        let failure = Failure::acquire("n", &"sqlite:x", Error::Provider(inner));
        assert_eq!(
            failure.to_string(),
            "can't acquire \"n\": the store sqlite:x can't be used: no table: disk gone"
        );
    }
}
