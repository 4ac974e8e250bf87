//! dlock under chaos: worker processes lock and write on a real store, a nemesis subjects them, the
//! wire and the store to the faults of real machines, and a checker judges the history.
//!
//! One program plays every part:
//! - `dlock-chaos run` is the controller. It starts the store, a proxy and a process for each worker,
//!   the storage that the workers write to, and the nemesis; in the end it prints the verdict.
//! - `dlock-chaos tasks` does the same to the workers of a queue, and judges the outcome of their tasks.
//! - `dlock-chaos worker` is one worker, `dlock-chaos dynamodb` a DynamoDB-compatible server. The
//!   controller starts them.
//!
//! The README of this crate explains how to run it, and how to read its output.

#![cfg(unix)]

mod cli;
mod fleet;
mod limits;
mod nemesis;
mod orders;
mod run;
mod stalls;
mod storage;
mod store;
#[cfg_attr(
    not(any(feature = "postgres", feature = "sqlite")),
    expect(dead_code, unused_imports, reason = "other stores have no queues")
)]
mod tasks;
mod tether;
mod verdict;
mod worker;

pub use self::cli::main;
