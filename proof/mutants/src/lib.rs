//! Bugs planted in a copy of `dlock-core`.
//!
//! `mutants.toml` and `tasks.toml` list bugs, each one decision away from the right code. The program of this crate copies
//! the workspace and writes every bug into the copy of its crate, behind a switch: all bugs need one build, and the
//! released code contains none of it. The README explains how to play them and how to write a bug.

mod copy;
mod edit;
mod file;

pub use self::{
    copy::write_copy,
    edit::{Change, Edit, Refused, apply},
    file::{Bug, Mutants},
};
