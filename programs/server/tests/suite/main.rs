//! The server as its clients see it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a panic is how a test says what is wrong"
)]

mod api;
mod blocks;
mod classes;
mod conformance;
mod description;
mod history;
mod list;
mod live;
mod memory;
mod overload;
mod page;
mod refusals;
mod renewals;
mod reserved;
mod rights;
mod session;
mod shares;
mod support;
mod tasks;
mod waiting;
mod wire;
