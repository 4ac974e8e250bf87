//! The queue under chaos: workers of [`dlock_tasks`] run tasks on a real store, while the nemesis subjects them to
//! the same faults as the workers that lock.
//!
//! A task leaves its traces in four places: in an account that checks tokens and in one that does not (the
//! storage that no fault reaches), in a table of the queue's own database that is written in the
//! transaction that completes the task, and in the notes of its worker. If the task has a lane, or its queue a limit, a
//! ledger also records every change that the store has made to it. The verdict compares them.

mod database;
mod evidence;
mod handler;
mod late;
mod ledger;
mod note;
mod payload;
mod run;
mod verdict;
mod worker;

pub(crate) use self::{run::run, worker::work};

/// The queues that all workers serve,
const QUEUE: &str = "errands";
/// one of them with a limit: the tables of the shops name it, too.
const LIMITED: &str = "limited";
/// How many tasks of that one may run at a time.
const LIMIT: u32 = 3;
/// The lanes of some of the tasks, in both queues.
const LANES: [&str; 6] = ["north", "east", "south", "west", "up", "down"];
