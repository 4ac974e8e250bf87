//! The program `dlock` as its users meet it: real processes, real stores, real terminals.

#![cfg(unix)]

#[cfg(feature = "sqlite")]
mod at_least;
#[cfg(feature = "sqlite")]
mod bad_input;
#[cfg(feature = "sqlite")]
mod bench;
#[cfg(feature = "sqlite")]
mod doctor;
#[cfg(feature = "dynamodb")]
mod dynamodb;
#[cfg(feature = "sqlite")]
mod elect;
#[cfg(feature = "sqlite")]
mod exclusion;
#[cfg(feature = "sqlite")]
mod flock;
#[cfg(feature = "sqlite")]
mod guarding;
#[cfg(feature = "sqlite")]
mod hold;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "sqlite")]
mod nested;
#[cfg(feature = "sqlite")]
mod outcomes;
mod pages;
mod permits;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod purge;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "sqlite")]
mod release;
#[cfg(feature = "redis")]
mod sentinel;
#[cfg(feature = "sqlite")]
mod setup;
#[cfg(feature = "sqlite")]
mod several;
#[cfg(feature = "sqlite")]
mod signals;
#[cfg(feature = "sqlite")]
mod status;
#[path = "../support/mod.rs"]
mod support;
#[cfg(feature = "sqlite")]
mod tasks;
#[cfg(feature = "postgres")]
mod tasks_postgres;
#[cfg(feature = "sqlite")]
mod terminal;
#[cfg(feature = "sqlite")]
mod tickets;
#[cfg(feature = "sqlite")]
mod unreachable;
#[cfg(feature = "sqlite")]
mod watch;

/// The program.
const DLOCK: &str = env!("CARGO_BIN_EXE_dlock");
