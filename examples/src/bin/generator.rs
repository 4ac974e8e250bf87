//! Adds a task every two seconds, for the program `worker`. Start any number of them: one generates, the others wait
//! for their turn.
//!
//! ```sh
//! cargo run -p dlock-examples --bin generator
//! ```

use dlock_examples::{
    Failure,
    tasks::{self, Options},
};

const USAGE: &str = "[--file DATABASE] [--name NAME] [--lease SECONDS] [--every SECONDS] [--longest SECONDS] \
                     [--seed NUMBER]";

#[tokio::main]
async fn main() -> Result<(), Failure> {
    tasks::generate(Options::from_command_line(USAGE)?).await
}
