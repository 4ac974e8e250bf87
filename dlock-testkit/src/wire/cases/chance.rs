//! Every kind of fault on the wire, by chance; the seed is printed.

use std::{sync::Arc, time::Duration};

use dlock_core::{Lease, Name};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{
    proxy::Mix,
    slow::{in_time, joined},
    wire::{
        Wiring,
        wiring::{ok, soon},
    },
};

/// A term, as its holder saw it.
#[derive(Debug)]
struct Held {
    client: usize,
    token: u64,
    /// The first and the last instant at which it was seen valid.
    from: Instant,
    until: Instant,
}

pub(super) async fn random_faults_never_give_one_lock_to_two(wiring: Wiring) {
    let seed = u64::from(std::process::id());
    eprintln!("seed {seed}");
    let name = wiring.name("lock");
    let end = Instant::now() + 6 * wiring.lease();
    let mut all = JoinSet::new();
    for client in 0..4 {
        let (wiring, name) = (wiring.clone(), name.clone());
        all.spawn(async move {
            let wire = wiring.seeded(seed.wrapping_add(client as u64)).await;
            wire.proxy
                .random(Mix::of_everything(0.2, wiring.lease() / 2));
            let lock = wire.lock(&name);
            let mut terms = Vec::new();
            while Instant::now() < end {
                // An error is an answer too; only the grants count here.
                if let Ok(lease) = lock.acquire_timeout(wiring.lease()).await {
                    terms.extend(work(client, lease, wiring.lease() / 10).await);
                }
            }
            (terms, wire.proxy.struck())
        });
    }
    let (mut terms, mut struck) = (Vec::new(), 0);
    while let Some(ended) = all.join_next().await {
        let (held, faults) = joined(ended);
        terms.extend(held);
        struck += faults;
    }
    terms.sort_by_key(|term: &Held| term.from);
    for pair in terms.windows(2) {
        let [before, after] = pair else { continue };
        assert!(before.until < after.from, "two holders (I1): {pair:?}");
    }
    for (number, before) in terms.iter().enumerate() {
        // Even where neither client knew of the other.
        for after in &terms[number + 1..] {
            assert!(
                before.token < after.token,
                "tokens grow (I3): {before:?} {after:?}"
            );
        }
    }
    // There must be enough grants for that.
    let (grants, clients) = (terms.len(), terms.iter().map(|term| term.client));
    in_time(clients.max() > Some(0), "grants to more than one client");
    in_time(
        grants >= 5 && struck >= 5,
        format_args!("toothless: {grants} grants, {struck} faults"),
    );
}

/// Holds a lease for a while, and releases it while others want it.
async fn work(client: usize, lease: Lease, time: Duration) -> Option<Held> {
    let guard = lease.keep_alive();
    let from = Instant::now();
    let mut until = None;
    while from.elapsed() < time {
        // The instant is taken first: "valid" then means valid at that instant.
        let now = Instant::now();
        if !guard.is_valid() {
            break;
        }
        until = Some(now);
        sleep(Duration::from_millis(3)).await;
    }
    let token = guard.token().into();
    // The release may take as long as a lease; the waiters do not wait for it.
    drop(guard);
    until.map(|until| Held {
        client,
        token,
        from,
        until,
    })
}

/// A holder dies, and the waiter that is to follow it has a faulty wire: its first exchange always meets a fault, and a
/// fifth of the others do.
pub(super) async fn waiter_takes_over_through_random_faults(wiring: Wiring) {
    let seed = u64::from(std::process::id());
    eprintln!("seed {seed}");
    let lease = wiring.lease();
    let wire = Arc::new(wiring.seeded(seed).await);
    let dead = wiring.wire().await;
    for round in 0..3 {
        let name: Name = wiring.name(round);
        let held = ok(dead.lock(&name).acquire().await);
        // Never renewed, never released.
        std::mem::forget(held);
        let struck = wire.proxy.struck();
        wire.proxy.random(Mix::of_everything(1.0, lease / 10));
        let began = Instant::now();
        let lock = wire.lock(&name);
        let acquired = async {
            let next = ok(soon(&name, lock.acquire()).await);
            (next, began.elapsed())
        };
        let eased = async {
            soon("the first fault", wire.proxy.until_struck(struck + 1)).await;
            wire.proxy.random(Mix::of_everything(0.2, lease / 10));
        };
        let ((next, took), ()) = tokio::join!(acquired, eased);
        wire.proxy.clear();
        // The bound without faults, plus abandoned tries: each takes D/3 and leaves an orphan that its own client
        // knows.
        let bound = lease * 5 / 2;
        in_time(took <= bound, format_args!("round {round}: {took:?} (I15)"));
        drop(next);
    }
}
