//! The program `dlock-server`, built beside the tests that look at its dashboard in a browser.

use std::process::ExitCode;

fn main() -> ExitCode {
    dlock_server::program::main()
}
