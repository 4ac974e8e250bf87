//! Processes the tasks of the program `generator`. Start any number of them, kill some (`kill -9`), stop some for
//! longer than the lease (`kill -STOP`, `kill -CONT`): each task is done, and leaves its result in the database once.
//!
//! ```sh
//! cargo run -p dlock-examples --bin worker
//! cargo run -p dlock-examples --bin worker -- --lease 5 --crash 0.1 --stall 0.1 --seed 7
//! ```

use dlock_examples::{
    Failure,
    tasks::{self, Options},
};

const USAGE: &str = "[--file DATABASE] [--name NAME] [--lease SECONDS] [--poll SECONDS] [--crash 0..1] \
                     [--stall 0..1] [--seed NUMBER]";

/// One thread, so that a worker that stalls does so as a whole.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    tasks::work(Options::from_command_line(USAGE)?).await
}
