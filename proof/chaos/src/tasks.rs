//! The queue under chaos: workers of [`dlock_tasks`] run tasks on a real store, while the nemesis does to
//! them what it does to those that lock.
//!
//! A task leaves its traces in four places: in an account that checks tokens and one that does not (the
//! storage that lies beyond all faults), in a table of the queue's own database that is written in the
//! transaction that completes the task, and in the notes of its worker. The verdict compares them.

mod errand;
mod evidence;
mod handler;
mod late;
mod note;
mod run;
mod shop;
mod verdict;
mod worker;

pub(crate) use self::{run::run, worker::work};

/// The queue that all work for.
const QUEUE: &str = "errands";
