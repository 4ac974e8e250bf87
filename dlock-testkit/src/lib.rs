//! What any author of a dlock provider uses to prove it, and what dlock uses itself.

pub mod faults;
pub mod memory;
