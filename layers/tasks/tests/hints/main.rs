//! When an idle worker claims because of a hint, and how it ends its tasks, on a store whose answers a test sets, in
//! virtual time.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

mod endings;
mod fake;
mod polling;
mod streams;
mod support;
mod waking;
