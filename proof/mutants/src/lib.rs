//! Bugs planted in a copy of `dlock-core`.
//!
//! `mutants.toml` lists bugs, each one decision away from the right code, and the checks that catch
//! each. The program of this crate copies the workspace and writes every bug into the copy of
//! `dlock-core`, behind a switch: the whole matrix needs one build, and the code that ships contains
//! nothing of it. The README says how to run the matrix and how to write a bug. The same switches serve
//! the changes that `cargo mutants` lists.

mod copy;
mod edit;
mod file;
pub mod operators;

pub use self::{
    copy::write_copy,
    edit::{Change, Edit, Refused, apply},
    file::{Bug, Mutants},
};
