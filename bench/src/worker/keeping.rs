//! Leases of ours that renew themselves: one that tells of it, and very many.

use std::{sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use dlock_core::{
    Client, DLock, Guard, Name, Provider,
    testing::{Event, Recorder},
};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::time::sleep;

use super::{Answer, Lease, say};
use crate::{
    account::resident,
    clock::{Moment, process_time, thread_time},
    results::{Figures, figures},
    statistics::millis,
    systems::ours::{self, Waiting},
};

/// How many acquires are under way while many leases are taken.
const AT_A_TIME: usize = 64;

/// How often all leases are looked at.
const LOOK: Duration = Duration::from_millis(250);

async fn provider(lease: &Lease) -> Result<Arc<dyn Provider>> {
    let (store, places, waiting) = (lease.store, lease.places.clone(), lease.waiting);
    // Opening a file blocks.
    tokio::task::spawn_blocking(move || ours::provider(store, &places, waiting)).await?
}

pub(super) async fn lock(lease: &Lease) -> Result<DLock> {
    build(lease, Client::new(provider(lease).await?))
}

/// The lock, and it says when each request was sent that its holder counts from.
pub(super) async fn reporting(lease: &Lease) -> Result<DLock> {
    struct Reporter;
    impl Recorder for Reporter {
        fn record(&self, _: &Name, now: Duration, event: Event) {
            if let Event::Granted { believed, .. } | Event::Renewed { believed, .. } = event {
                // The client's clock and ours tick alike; only their zeros differ.
                let ago = now.saturating_sub(believed.sent);
                say(&Answer::Sent(Moment::now().before(ago)));
            }
        }
    }
    let client = Client::new(provider(lease).await?).recorded(Arc::new(Reporter));
    build(lease, client)
}

fn build(lease: &Lease, client: Client) -> Result<DLock> {
    Ok(DLock::builder()
        .name(lease.name.clone())
        .duration(lease.duration)
        .wakeups(matches!(lease.waiting, Waiting::Called))
        .provider(client)
        .build()?)
}

/// Takes many locks, and watches how they are renewed.
pub(super) async fn renew(lease: &Lease, leases: usize, watch: Duration) -> Result<Figures> {
    let lock = lock(lease).await?;
    // Everything that exists once exists before memory is looked at.
    lock.acquire().await?.release().await?;
    let (empty, began) = (resident(std::process::id()), Moment::now());
    let taking = stream::iter(0..leases).map(|number| {
        let lock = lock.named(format!("{}-{number}", lease.name));
        async move { Ok::<_, anyhow::Error>(lock?.hold().await?) }
    });
    let guards: Vec<Guard> = taking.buffer_unordered(AT_A_TIME).try_collect().await?;
    let taken = Moment::now().since(began);
    let bytes = resident(std::process::id()).saturating_sub(empty) as f64 / leases as f64;

    // From here on it is renewing alone that is watched.
    sleep(lease.duration / 3).await;
    say(&Answer::Ready);
    let (begin, used) = (Moment::now(), process_time());
    let (mut spare, mut looking) = (lease.duration, Duration::ZERO);
    while Moment::now().since(begin) < watch {
        sleep(LOOK).await;
        let look = thread_time();
        let least = guards.iter().map(Guard::remaining).min();
        spare = spare.min(least.unwrap_or_default());
        looking += thread_time().saturating_sub(look);
    }
    let span = Moment::now().since(begin).as_secs_f64();
    let used = process_time().saturating_sub(used).saturating_sub(looking);
    let lost = guards.iter().filter(|guard| !guard.is_valid()).count();
    ensure!(lost == 0, "{lost} of {leases} leases were lost");
    let renewals = leases as f64 * span / (lease.duration.as_secs_f64() / 3.0);
    Ok(figures([
        ("taken_per_second", leases as f64 / taken.as_secs_f64()),
        ("cores_of_ours", used.as_secs_f64() / span),
        (
            "us_of_ours_per_renewal",
            used.as_secs_f64() * 1e6 / renewals,
        ),
        ("least_spare_ms", millis(spare)),
        ("bytes_per_lease", bytes),
        ("span_s", span),
        ("renewals", renewals),
    ]))
}
