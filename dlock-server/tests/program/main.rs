//! The program `dlock-server` as who runs it meets it: real processes, signals, files.

#![cfg(all(unix, feature = "sqlite"))]

mod api;
mod check;
mod killed;
#[cfg(feature = "postgres")]
mod postgres;
mod refusals;
mod secrets;
mod serving;
mod signals;
mod support;
