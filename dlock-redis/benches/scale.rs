//! 100,000 leases of 15 s in one process, on servers of its own: time to spare, and what it costs.
//!
//! `cargo bench -p dlock-redis --bench scale` takes one server, over a connection of the provider's own.
//! With `-- connection` behind it the connection is the application's, so that renewals travel by the
//! shard they would be in; with `-- cluster` there are three nodes, whose renewals travel one by one.

#[path = "../tests/support/mod.rs"]
mod support;

use std::env;

use dlock_proof::scale::Scale;
use dlock_redis::RedisProvider;
use support::{Cluster, Server, built};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted = |what: &str| env::args().any(|argument| argument == what);
    if wanted("cluster") {
        let cluster = Cluster::start().await;
        println!("{}", Scale::new(cluster.provider().await).run().await?);
        return Ok(());
    }
    let server = Server::start(&[]).await;
    let provider = if wanted("connection") {
        built(
            RedisProvider::builder()
                .connection(server.raw().await)
                .build(),
        )
    } else {
        server.provider()
    };
    println!("{}", Scale::new(provider).run().await?);
    Ok(())
}
