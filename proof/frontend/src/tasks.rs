//! The proof of the queue: a task store behind a wrapper that interferes with its calls.

mod behind;
pub mod cancelling;
pub mod simulation;

pub use self::behind::{Answer, Behind, Call, Passage};
