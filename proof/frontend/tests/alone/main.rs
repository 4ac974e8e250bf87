//! Properties that need runtimes of their own. Some measure, so little else runs in this program.

mod frontend;
mod renewals;
