//! What the examples share: `--store URL`, storage that refuses a stale token, and a recorder.
//!
//! The URL is one that the program `dlock` takes (`dlock-stores` opens both), each kind with the feature of its name; a
//! file needs none. Without `--store` it is a file that is gone afterwards.

mod failure;
pub mod recorder;
pub mod store;
#[cfg(feature = "tasks")]
pub mod tasks;

use std::{env, ffi::OsString};

pub use self::{failure::Failure, store::Store};

/// The store that the command line of this program asks for. Nothing is opened yet.
///
/// # Errors
/// If it asks for something else.
pub fn store() -> Result<Store, Failure> {
    match arguments()? {
        (url, rest) if rest.is_empty() => Store::choose(url),
        _ => Err(Failure::new("usage: [--store URL]")),
    }
}

/// The URL after `--store`, if the command line begins so, and all that follows.
///
/// # Errors
/// If the URL is no text.
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
