//! Queues of others on PostgreSQL: `dlock-task-peers awa | graphile_worker | pgmq | riverqueue`, and then what
//! `driver.rs` says.

#[path = "../../../src/tasks/driver.rs"]
mod driver;

mod awa_queue;
mod graphile;
mod pgmq_queue;
mod river;

use anyhow::{Result, bail};

use crate::driver::{Verb, drive, url};

#[tokio::main]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((peer, words)) = words.split_first() else {
        bail!("which peer?");
    };
    let verb = Verb::parse(words)?;
    let (url, pool) = (url()?, verb.pool());
    match peer.as_str() {
        "awa" => drive(awa_queue::Awa::open(&url, pool).await?, verb).await,
        "graphile_worker" => drive(graphile::Graphile::open(&url, pool).await?, verb).await,
        "pgmq" => drive(pgmq_queue::Pgmq::open(&url, pool).await?, verb).await,
        "riverqueue" => drive(river::River::open(&url, pool).await?, verb).await,
        _ => bail!("there is no peer {peer}"),
    }
}
