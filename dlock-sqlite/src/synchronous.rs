//! The setting for how much of a commit is on the disk.

/// How much of a commit has reached the disk when a call returns. Either way a lock survives the
/// death of every process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Synchronous {
    /// A power failure may undo the last commits. That is enough: it also ends every holder, and
    /// later tokens grow with the wall clock.
    #[default]
    Normal,
    /// Every commit is on the disk: for machines whose wall clock may come back wrong after a power
    /// failure while resources elsewhere remember tokens. Every write waits for the disk.
    Full,
}
