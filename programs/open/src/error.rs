//! The errors of a store: what failed, why, and what to do.

use std::{error::Error as StdError, fmt};

use crate::tables::TablesError;

/// A store can't be opened or used, or gave no answer.
///
/// Its text says what failed and leaves out why: that is its source. Neither contains a password, except for a driver's
/// text about a URL: show it through [`without_credentials`](crate::text::without_credentials).
#[derive(Debug)]
pub struct StoreError {
    is_temporary: bool,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
    advice: Option<String>,
}

impl StoreError {
    /// A person has to mend it.
    pub(crate) fn unusable(message: impl Into<String>) -> Self {
        Self {
            is_temporary: false,
            message: message.into(),
            source: None,
            advice: None,
        }
    }

    /// The store did not answer, or refuses for now.
    pub(crate) fn unreachable(message: impl Into<String>) -> Self {
        Self {
            is_temporary: true,
            ..Self::unusable(message)
        }
    }

    /// A text that is no location. The error does not repeat it: it may contain a password.
    pub(crate) fn no_location(what: &str) -> Self {
        Self::unusable(format!("this is not a store: {what}"))
    }

    pub(crate) fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Whether it may pass without help: the store did not answer, or refuses for now. Otherwise a person has to mend
    /// the location, the store, or the request.
    #[must_use]
    pub const fn is_temporary(&self) -> bool {
        self.is_temporary
    }

    /// Whether the store answered, but lacks what `set_up` makes, or has something else in its place.
    #[must_use]
    pub fn lacks_tables(&self) -> bool {
        self.source
            .as_ref()
            .is_some_and(|source| source.is::<TablesError>())
    }

    /// Whether the database answered, and has no queue at all, not even one of another release.
    #[must_use]
    pub fn lacks_queue(&self) -> bool {
        let source = self.source.as_ref();
        source.is_some_and(|source| matches!(source.downcast_ref(), Some(TablesError::NoQueue(_))))
    }

    /// The advice, in words for the owner of the program.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.advice.as_deref()
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for StoreError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
