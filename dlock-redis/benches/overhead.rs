//! What dlock adds to the server's own reply time: the driver's call of the same script, the
//! provider's and the frontend's beside each other, in turns, on a server of its own.
//!
//! `cargo bench -p dlock-redis` prints the medians in microseconds, and fails if the frontend adds
//! more than the larger of 20 microseconds and 5 % to the provider's call.

#![expect(clippy::unwrap_used, reason = "a benchmark ends where it fails")]

#[path = "../tests/support/mod.rs"]
mod support;

use dlock_core::provider::{Acquire, Renew};
use dlock_proof::overhead::{Overhead, report};
use redis::Script;
use support::{Server, key};

const ACQUIRE: &str = concat!(
    include_str!("../src/lua/record.lua"),
    include_str!("../src/lua/acquire.lua")
);
const RENEW: &str = concat!(
    include_str!("../src/lua/record.lua"),
    include_str!("../src/lua/renew.lua")
);

// One thread: on several, `main` itself is not on a worker, and each call would pay for its wake-up.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let server = Server::start(&[]).await;
    let connection = server.raw().await;
    let (acquire, renew) = (Script::new(ACQUIRE), Script::new(RENEW));

    let overhead = Overhead::new(server.provider());
    let renewals = overhead.renewals(async |Renew { name, uuid, n, .. }| {
        let mut call = renew.key(key(name));
        call.arg(uuid.to_string()).arg(*n);
        let asked: u64 = call.invoke_async(&mut connection.clone()).await.unwrap();
        assert_eq!(asked, 0);
    });
    let renewals = renewals.await.unwrap();
    let acquires = overhead.acquires(async |Acquire { name, new, .. }| {
        let mut call = acquire.key(key(name));
        // No claim, the lease, no floor, not asking about eviction, the owner and no data, one token.
        call.arg(new.to_string()).arg("").arg("");
        call.arg(3_600_000).arg(0).arg("0").arg("6 - driver").arg(1);
        let token: u64 = call.invoke_async(&mut connection.clone()).await.unwrap();
        assert!(token > 0);
    });
    report(&[renewals, acquires.await.unwrap()]);
}
