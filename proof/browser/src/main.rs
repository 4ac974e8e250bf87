//! The program `dlock-server`, built next to the tests that check its dashboard in a browser.

use std::process::ExitCode;

fn main() -> ExitCode {
    dlock_server::program::main()
}
