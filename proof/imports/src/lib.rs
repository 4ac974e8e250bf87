//! Which source file of a crate imports which, and where such imports run in a circle.
//!
//! Files that import each other can only be understood together. The compiler does not mind, so a test
//! of this crate looks at every production crate. It reads the sources as they are, without building
//! them, and in all configurations but `test`.

mod collect;
mod graph;
mod modules;
mod resolve;
#[cfg(test)]
mod tests;

pub use self::graph::Graph;
