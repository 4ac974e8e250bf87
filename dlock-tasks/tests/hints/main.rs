//! When an idle worker asks because of a hint, and how it ends what it got, on a store that answers as a test says, in
//! virtual time.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

mod endings;
mod fake;
mod polling;
mod streams;
mod support;
mod waking;
