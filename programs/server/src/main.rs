//! The program `dlock-server`. Everything is in the library next to it.

use std::process::ExitCode;

fn main() -> ExitCode {
    dlock_server::program::main()
}
