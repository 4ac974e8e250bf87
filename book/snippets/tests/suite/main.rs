//! Runs the snippets of the book on real servers that the tests start.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

mod dynamodb;
mod http;
mod leases;
mod metrics;
mod moving;
mod patterns;
mod postgres;
mod redis;
mod report;
mod start;
mod stores;

use dlock::FencingToken;

/// An earlier holder's token and a later one's.
fn two_holders() -> (FencingToken, FencingToken) {
    (FencingToken::new(7).unwrap(), FencingToken::new(8).unwrap())
}
