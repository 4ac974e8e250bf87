//! What a waiter asks of the store while somebody else keeps the lock.

use std::time::Duration;

use anyhow::Result;
use dlock_core::{Client, DLock};
use futures_util::future::join_all;
use tokio::time::{sleep, timeout};

use crate::{
    bench::{At, Bench},
    counters::{Server, requests},
    results::{Figures, figures},
    systems::{
        Entry, LEASE, Store,
        ours::{self, Waiting},
    },
};

/// The poll interval, stated so that both kinds of waiters have the same.
pub(crate) const POLL: Duration = Duration::from_millis(200);

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    bench.progress.set_message("idle waiters");
    let at = At {
        run,
        experiment: "idle waiter",
        case: "",
    };
    // Servers that count for themselves can be watched at the same time; on one store, and in this
    // process's own count, one waiter at a time.
    let (by_servers, by_us): (Vec<Store>, Vec<Store>) = bench
        .stores
        .iter()
        .copied()
        .partition(|store| matches!(store, Store::Redis | Store::Postgres));
    join_all(by_servers.into_iter().map(|store| on(bench, at, store))).await;
    for store in by_us {
        on(bench, at, store).await;
    }
    Ok(())
}

async fn on(bench: &Bench, at: At<'_>, store: Store) {
    if let Some(entry) = store.ours() {
        bench.settle(at, entry, watch(bench, entry).await);
    }
}

async fn watch(bench: &Bench, entry: &Entry) -> Result<Figures> {
    let mut server = Server::of(entry, bench.places()).await?;
    let name = bench.name("idle");
    // Two clients, as of two processes.
    let lock = || {
        let client = Client::new(ours::provider(
            entry.store,
            bench.places(),
            Waiting::Called,
        )?);
        Ok::<_, anyhow::Error>(
            DLock::builder()
                .name(name.clone())
                .duration(LEASE)
                .poll_every(POLL)
                .provider(client)
                .build()?,
        )
    };
    let (holder, waiter) = (lock()?, lock()?);
    let lease = holder.acquire().await?;
    let waiting = tokio::spawn(async move { waiter.acquire().await.map(drop) });
    // The first try, and the channel of wake-ups.
    sleep(POLL / 2).await;
    let before = (server.commands().await?, requests());
    sleep(bench.sizes.idle).await;
    let after = (server.commands().await?, requests());
    let asked = match (before, after) {
        ((Some(before), _), (Some(after), _)) => after - before,
        ((_, before), (_, after)) => after - before,
    };
    lease.release().await?;
    timeout(LEASE, waiting).await???;
    let polls = bench.sizes.idle.as_secs_f64() / POLL.as_secs_f64();
    Ok(figures([("calls_per_poll", asked as f64 / polls)]))
}
