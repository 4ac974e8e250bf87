//! The proof of the queue: a task store behind a wrapper that interferes with its calls.

pub mod cancelling;
pub mod simulation;
mod wrapped;

pub use self::wrapped::{Answer, Call, Passage, Wrapped};
