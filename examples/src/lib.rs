//! What the examples share: `--store URL`, and for each kind of store one file that shows how to
//! open it, and storage in it that refuses a stale token.
//!
//! ```text
//! --store sqlite:PATH            a file; without --store one that is gone afterwards
//! --store postgres://..          a database
//! --store redis://..             a server
//! --store dynamodb:TABLE         a table of the store at AWS_ENDPOINT_URL
//! --store etcd://HOST:PORT       keys of an etcd
//! --store mysql://..             a database of MariaDB
//! --store nats://HOST/BUCKET     a bucket, made if it is missing
//! --store kubernetes://NAMESPACE a namespace of the cluster that kubectl asks
//! --store s3://BUCKET            a bucket in AWS_REGION, or of the service at AWS_ENDPOINT_URL (one at
//!                                http://.. with AWS_ALLOW_HTTP=true)
//! --store azure://CONTAINER      a container of the account AZURE_STORAGE_ACCOUNT_NAME
//! ```
//!
//! Except for the last three the examples speak plain TCP, which is for servers on one's own machine. In
//! a program, give the same builders a client with TLS.

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
pub fn store() -> Result<Box<dyn Store>, Failure> {
    const USAGE: &str = "usage: --store sqlite:PATH | postgres://.. | redis://.. | dynamodb:TABLE | etcd://HOST:PORT | mysql://.. | nats://HOST/BUCKET | kubernetes://NAMESPACE | s3://BUCKET | azure://CONTAINER";
    match arguments()? {
        (url, rest) if rest.is_empty() => store::choose(url.as_deref()),
        _ => Err(Failure::new(USAGE)),
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
