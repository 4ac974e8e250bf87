//! What the examples share: `--store URL`, and for each kind of store one file that shows how to
//! open it, and storage in it that refuses a stale token.
//!
//! ```text
//! --store sqlite:PATH            a file; without --store one that is gone afterwards
//! --store postgres://..          a database
//! --store redis://..             a server
//! --store dynamodb:TABLE         a table of the store at AWS_ENDPOINT_URL
//! ```
//!
//! The examples speak plain TCP, which is for servers on one's own machine. In a program, give the
//! same builders a client with TLS.

mod failure;
pub mod store;

use std::env;

pub use self::{failure::Failure, store::Store};

/// The store that the command line of this program asks for.
///
/// # Errors
/// If it asks for something else, or the store cannot be opened.
pub async fn store() -> Result<Box<dyn Store>, Failure> {
    const USAGE: &str = "usage: --store sqlite:PATH | postgres://.. | redis://.. | dynamodb:TABLE";
    let mut arguments = env::args_os().skip(1);
    let url = match (arguments.next(), arguments.next(), arguments.next()) {
        (None, ..) => None,
        (Some(option), Some(url), None) if option == "--store" => match url.into_string() {
            Ok(url) => Some(url),
            Err(_) => return Err(Failure::new("--store takes text in UTF-8")),
        },
        _ => return Err(Failure::new(USAGE)),
    };
    store::open(url.as_deref()).await
}
