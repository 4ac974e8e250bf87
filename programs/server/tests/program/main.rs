//! The program `dlock-server` as its operator sees it: real processes, signals, files.

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
