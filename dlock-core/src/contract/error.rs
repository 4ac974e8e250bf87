//! Why a provider's call has no answer: "we do not know" is a kind of its own (E1).

use std::{error::Error as StdError, fmt, sync::Arc};

/// How much is known about a call that got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the protocol knows these three; each has its own duty"
)]
pub enum ErrorKind {
    /// Certainly not applied: connection refused, throttled. Only wording and background clean-up depend on this
    /// being right.
    NotApplied,
    /// Perhaps applied: timed out, or the connection broke after sending. When in doubt, use this.
    Unknown,
    /// A retry cannot help: wrong credentials, missing table, a record that cannot be read.
    Fatal,
}

/// A provider's call got no answer. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ProviderError {
    kind: ErrorKind,
    message: Arc<str>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl ProviderError {
    /// [`ErrorKind::NotApplied`]: certainly nothing happened.
    #[must_use]
    pub fn not_applied(message: impl AsRef<str>) -> Self {
        Self::new(ErrorKind::NotApplied, message)
    }

    /// [`ErrorKind::Unknown`]: perhaps applied.
    #[must_use]
    pub fn unknown(message: impl AsRef<str>) -> Self {
        Self::new(ErrorKind::Unknown, message)
    }

    /// [`ErrorKind::Fatal`]: a retry cannot help.
    #[must_use]
    pub fn fatal(message: impl AsRef<str>) -> Self {
        Self::new(ErrorKind::Fatal, message)
    }

    /// An error of this kind. `message`: lower case, no full stop, no credentials, without the
    /// text of its source; for `Fatal` it says what to do.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl AsRef<str>) -> Self {
        Self {
            kind,
            message: message.as_ref().into(),
            source: None,
        }
    }

    /// Adds the error that the driver reported.
    #[must_use]
    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// How much is known about the call.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for ProviderError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source
            .as_ref()
            .map(|source| &**source as &(dyn StdError + 'static))
    }
}
