//! 100,000 leases of 15 s in one process, on a server of its own: time to spare, and what it costs.
//!
//! `cargo bench -p dlock-redis --bench scale`

#[path = "../tests/support/mod.rs"]
mod support;

use dlock_testkit::scale::Scale;
use support::Server;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::start(&[]).await;
    println!("{}", Scale::new(server.provider()).run().await?);
    Ok(())
}
