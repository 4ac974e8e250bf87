//! The program `dlock`. Everything is in the library next to it.

use std::process::ExitCode;

fn main() -> ExitCode {
    dlock_cli::main()
}
