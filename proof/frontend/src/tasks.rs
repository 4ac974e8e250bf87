//! How the queue is proved: a store of tasks behind something that meddles with its calls.

mod behind;
pub mod cancelling;
pub mod simulation;

pub use self::behind::{Answer, Behind, Call, Passage};
