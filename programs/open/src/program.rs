//! The description of the program that opens stores.

use std::fmt;

/// The program, as errors and their advice name it.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a program says all of it, or does not compile"
)]
pub struct Program {
    /// Its name: "dlock".
    pub name: &'static str,
    /// The folder of the package that is built with the features of the stores, in a clone: "programs/cli".
    pub folder: &'static str,
    /// How to have the tables of locks made: "make it once: 'dlock setup', with the same --store".
    pub set_up: &'static str,
    /// How to have the tables of a queue made.
    pub set_up_queue: &'static str,
    /// Whether it acts for many others at once, as a server does. Then it takes more connections to a store, and on
    /// Postgres one more that listens for releases and tasks. On Redis every program listens while it waits; all
    /// programs notify the listeners.
    pub serves_many: bool,
    /// Shows people messages that are no errors: for example that a password file is ignored.
    pub warn: fn(fmt::Arguments<'_>),
}
