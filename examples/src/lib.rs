//! The shared parts of the examples: `--store URL`, storage that refuses a stale token, and a recorder.
//!
//! The examples take the same URLs as the program `dlock` (`dlock-stores` opens both). Each kind of store needs the
//! feature of its name, except a file. Without `--store`, the store is a file that is deleted afterwards.

mod failure;
pub mod recorder;
pub mod store;
#[cfg(feature = "tasks")]
pub mod tasks;

use std::{env, ffi::OsString};

pub use self::{failure::Failure, store::Store};

/// The store that the command line of this program names. It is not opened yet.
///
/// # Errors
/// If the command line has other arguments.
pub fn store() -> Result<Store, Failure> {
    match arguments()? {
        (url, rest) if rest.is_empty() => Store::choose(url),
        _ => Err(Failure::new("usage: [--store URL]")),
    }
}

/// The URL after `--store`, if the command line begins with that, and the arguments that follow.
///
/// # Errors
/// If the URL is not UTF-8.
pub fn arguments() -> Result<(Option<String>, Vec<OsString>), Failure> {
    let mut arguments: Vec<OsString> = env::args_os().skip(1).collect();
    if arguments.len() < 2 || arguments[0] != "--store" {
        return Ok((None, arguments));
    }
    let rest = arguments.split_off(2);
    match arguments[1].to_str() {
        Some(url) => Ok((Some(url.to_owned()), rest)),
        None => Err(Failure::new("--store takes text in UTF-8")),
    }
}
