//! More and more waiters of one process on one name.

use std::time::Duration;

use anyhow::Result;

use super::contended::crowd;
use crate::{
    bench::{At, Bench},
    counters::Server,
};

pub(super) async fn measure(bench: &Bench) -> Result<()> {
    for entry in bench.stores.iter().filter_map(|store| store.ours()) {
        for &waiters in &bench.sizes.waiters {
            bench
                .progress
                .set_message(format!("{waiters} waiters on {}", entry.store));
            let measured = async {
                let system = bench.open(entry).await?;
                let mut server = Server::of(entry, bench.places()).await?;
                let (name, span) = (bench.name("waiters"), bench.sizes.empty_sections);
                crowd(&system, &mut server, &name, waiters, span, Duration::ZERO).await
            };
            let at = At {
                run: 0,
                experiment: "waiters",
                case: &waiters.to_string(),
            };
            bench.settle(at, entry, measured.await);
        }
    }
    Ok(())
}
