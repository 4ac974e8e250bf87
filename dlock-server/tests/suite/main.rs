//! The server as its clients see it.

mod conformance;
mod description;
mod overload;
mod refusals;
mod rights;
mod support;
mod tasks;
mod waiting;
mod wire;
