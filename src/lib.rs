//! dlock.
