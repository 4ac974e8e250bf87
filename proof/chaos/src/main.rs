//! The program `dlock-chaos`; its library has the documentation.

use std::process::ExitCode;

#[cfg(unix)]
fn main() -> ExitCode {
    dlock_chaos::main()
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    eprintln!("dlock-chaos stops and kills processes by Unix signals");
    ExitCode::from(2)
}
