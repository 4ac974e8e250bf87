//! Properties that need runtimes of their own. They measure, so nothing else runs in this program.

mod frontend;
mod renewals;
