//! Why locks cannot be combined.

/// Why several locks cannot be one, or a lock cannot be a semaphore.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Several locks as one.
    #[error("these locks cannot be held as one: {reason}")]
    Many {
        /// The reason.
        reason: &'static str,
    },
    /// The permits of a semaphore.
    #[error("{permits} permits are not possible: a semaphore has 1 to 64")]
    Permits {
        /// The number that was requested.
        permits: usize,
    },
    /// The name of a permit.
    #[error(transparent)]
    Name(#[from] dlock_core::BuildError),
}
