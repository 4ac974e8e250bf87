//! Leases that are kept alive over a wire that breaks.

use std::time::Duration;

use dlock_core::{Client, Error, Lease, Name, ReleaseEnd};
use tokio::{
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep},
};

use super::{calls::finished, cuts};
use crate::{
    faults::Op,
    proxy::{Direction, Fault, Moment, Proxy},
    slow::{in_time, joined, within},
    wire::{
        Wiring,
        holder_watch::{
            belief_is_founded, last_sent, on_time, should_be_kept, store_still_keeps_it,
            watch_holder,
        },
        wiring::{Wire, believed_at_least, lock, ok, released, soon},
    },
};

/// The outage of a wire.
#[derive(Clone, Copy, Debug)]
enum Outage {
    Held(&'static [Direction]),
    Swallowed(&'static [Direction]),
    /// Every connection is reset, and no server listens.
    Down,
    /// Every exchange is cut.
    Cut(Fault),
}

const TO_SERVER: &[Direction] = &[Direction::ToServer];
const TO_CLIENT: &[Direction] = &[Direction::ToClient];
const BOTH: &[Direction] = &Direction::BOTH;

const SILENCE: [Outage; 6] = [
    Outage::Held(TO_SERVER),
    Outage::Held(TO_CLIENT),
    Outage::Held(BOTH),
    Outage::Swallowed(TO_SERVER),
    Outage::Swallowed(TO_CLIENT),
    Outage::Swallowed(BOTH),
];

impl Outage {
    async fn begin(self, proxy: &Proxy) {
        match self {
            Self::Held(ways) => ways.iter().for_each(|way| proxy.hold(*way)),
            Self::Swallowed(ways) => ways.iter().for_each(|way| proxy.swallow(*way)),
            Self::Down => {
                proxy.refuse().await;
                proxy.reset();
            }
            Self::Cut(fault) => proxy.always(fault),
        }
    }
}

pub(super) async fn lost_reply_of_a_renewal_costs_nothing(wiring: Wiring) {
    let wire = wiring.wire().await;
    let name = wiring.name("lock");
    let guard = ok(wire.lock_without_hints(&name).hold().await);
    let target = wire.provider.inner();
    target.next(Op::Renew, Fault::LoseReply);
    target.next(Op::Renew, Fault::LoseRequest);
    let strike = async {
        soon("both faults", wire.proxy.until_struck(2)).await;
        let struck = Instant::now();
        sleep(2 * wiring.lease()).await;
        struck
    };
    let struck = tokio::select! {
        biased;
        told = watch_holder(&guard, wiring.lease()) => should_be_kept(&guard, &told),
        struck = strike => struck,
    };
    in_time(last_sent(&wire, Op::Renew) > struck, "the next renewals");
    let believed = believed_at_least(|| guard.remaining());
    in_time(guard.is_valid(), "the next renewals");
    belief_is_founded(&wire, believed, wiring.lease());
    released(guard.release().await, "a lease that was kept");
}

pub(super) async fn renewal_cut_at_any_moment_loses_no_lease(wiring: Wiring) {
    let mut all = JoinSet::new();
    for fault in cuts() {
        let wiring = wiring.clone();
        all.spawn(async move {
            let wire = wiring.wire().await;
            let guard = ok(wire.lock_without_hints(&wiring.name(fault)).hold().await);
            wire.provider.inner().next(Op::Renew, fault);
            let strike = async {
                soon(fault, wire.proxy.until_struck(1)).await;
                sleep(wiring.lease()).await;
            };
            tokio::select! {
                biased;
                told = watch_holder(&guard, wiring.lease()) => should_be_kept(&guard, &told),
                () = strike => {}
            }
            // The next attempt followed soon, not when the lease had nearly ended.
            in_time(guard.is_valid(), fault);
            released(guard.release().await, fault);
        });
    }
    finished(all).await;
}

pub(super) async fn hung_renewals_delay_no_loss(wiring: Wiring) {
    let mut all = JoinSet::new();
    let slow = wiring.lease() / 4;
    // An attempt has D/6: anything slower counts as no answer.
    for fault in [
        Fault::LoseRequest,
        Fault::LoseReply,
        Fault::DelayReply(slow),
    ] {
        let (wiring, by_hand) = (wiring.clone(), wiring.clone());
        all.spawn(async move {
            let wire = wiring.wire().await;
            ends_in_time(&wiring, &wire, &wiring.name(fault), async {
                wire.provider.inner().always(Op::Renew, fault);
            })
            .await;
            in_time(wire.proxy.struck() >= 2, "two renewals that hang");
        });
        all.spawn(lease_by_hand_ends_in_time(by_hand, fault));
    }
    finished(all).await;
}

/// The same for a holder that does not try again: it learns of the end from its own clock.
async fn lease_by_hand_ends_in_time(wiring: Wiring, fault: Fault) {
    let wire = wiring.wire().await;
    let name = wiring.name(format_args!("by hand: {fault}"));
    let mut lease = ok(wire.lock_without_hints(&name).acquire().await);
    wire.provider.inner().next(Op::Renew, fault);
    let asked = Instant::now();
    let renewed = soon(fault, lease.renew()).await;
    // Any later, and the reply that was held back may have come first.
    in_time(
        asked.elapsed() < wiring.lease() / 4,
        "the end of the attempt",
    );
    let deadline = believed_at_least(|| lease.remaining());
    in_time(lease.is_valid(), "the end of the attempt");
    assert!(matches!(renewed, Err(Error::Provider(_))), "{renewed:?}");
    belief_is_founded(&wire, deadline, wiring.lease());
    within(4 * wiring.lease(), "the end", lease.ended()).await;
    on_time(Instant::now(), deadline);
    assert!(!lease.is_valid());
}

pub(super) async fn silent_partition_ends_the_lease_in_time(wiring: Wiring) {
    let mut all = JoinSet::new();
    for outage in SILENCE {
        let wiring = wiring.clone();
        all.spawn(async move {
            let wire = wiring.wire().await;
            let name = wiring.name(format_args!("{outage:?}"));
            ends_in_time(&wiring, &wire, &name, outage.begin(&wire.proxy)).await;
            // After the partition everything works again, on new connections if necessary.
            wire.proxy.heal();
            let lease = ok(soon("the lock", wire.lock(&name).acquire()).await);
            released(lease.release().await, "after the partition");
        });
    }
    finished(all).await;
}

/// A holder whose wire is struck believes in its lease no longer than it may, and another process gets the lock as soon
/// as it may.
async fn ends_in_time(wiring: &Wiring, wire: &Wire, name: &Name, strike: impl Future<Output = ()>) {
    let (direct, lease) = (wiring.direct().await, wiring.lease());
    let guard = ok(wire.lock(name).hold().await);
    // A renewal has worked before.
    soon("a renewal", async {
        while wire.provider.count(Op::Renew) == 0 {
            sleep(Duration::from_millis(5)).await;
        }
        sleep(lease / 10).await;
    })
    .await;
    strike.await;
    let rival = Client::new(direct.clone());
    let rival = waiting(&rival, name, lease);
    let told = within(4 * lease, "the loss", watch_holder(&guard, lease)).await;
    // Until the end of the lease, of which the holder trusts four fifths.
    store_still_keeps_it(&*direct, &guard, name, told.deadline + lease / 5).await;
    belief_is_founded(wire, told.deadline, lease);
    let (granted, at) = joined(within(4 * lease, "the takeover", rival).await);
    assert!(at > told.deadline, "two holders (I1): {:?}", told.loss);
    assert!(granted.token() > guard.token(), "tokens grow (I3)");
    // The last applied request was sent by then; an attempt ends after D/6.
    let poll = (lease / 10).max(Duration::from_millis(100));
    let bound = last_sent(wire, Op::Renew) + lease / 6 + lease + poll + lease / 4;
    let late = at.saturating_duration_since(bound);
    in_time(
        late.is_zero(),
        format_args!("blocked for {late:?} too long (I10, I15)"),
    );
    assert!(!guard.is_valid(), "revived (I7)");
    // The stale holder's release finds another holder's term, and changes nothing.
    wire.provider.inner().clear();
    wire.proxy.heal();
    let ended = ok(soon("the stale release", guard.release()).await);
    // It has one attempt, which may get no answer on a connection that another call has used since the strike.
    let unanswered = wiring.shared() && matches!(ended, ReleaseEnd::Unconfirmed);
    let refused = matches!(ended, ReleaseEnd::NotHeld(Some(_)));
    in_time(
        unanswered || ended != ReleaseEnd::Unconfirmed,
        "the stale release",
    );
    assert!(refused || unanswered, "{ended:?}");
    in_time(granted.is_valid(), "all that");
    released(granted.release().await, "the next lease");
}

pub(super) async fn outage_within_the_ride_through_bound_loses_no_lease(wiring: Wiring) {
    let mut all = JoinSet::new();
    let cuts = [
        Outage::Down,
        Outage::Cut(Fault::Reset(Moment::BeforeRequest)),
        Outage::Cut(Fault::Reset(Moment::BeforeReply)),
        Outage::Cut(Fault::Close(Moment::InReply)),
    ];
    // Longer, so that the delays of a slow machine are a smaller share of it.
    let lease = 2 * wiring.lease();
    for outage in SILENCE.into_iter().chain(cuts) {
        let wiring = wiring.clone();
        all.spawn(async move {
            let wire = wiring.wire().await;
            let name = wiring.name(format_args!("{outage:?}"));
            let guard = ok(lock(&wire.client, &name, lease).hold().await);
            let outages = async {
                for _ in 0..2 {
                    // The worst moment: a renewal is due, and nearly half of the belief is used up.
                    let before = wire.provider.count(Op::Renew);
                    soon("a renewal", async {
                        while wire.provider.count(Op::Renew) == before {
                            sleep(Duration::from_millis(2)).await;
                        }
                    })
                    .await;
                    sleep(lease * 3 / 10).await;
                    outage.begin(&wire.proxy).await;
                    // The bound is 0.27 D.
                    sleep(lease / 5).await;
                    wire.proxy.calm().await;
                    sleep(lease / 2).await;
                }
            };
            tokio::select! {
                biased;
                told = watch_holder(&guard, lease) => should_be_kept(&guard, &told),
                () = outages => {}
            }
            in_time(guard.is_valid(), format_args!("{outage:?}"));
            released(guard.release().await, format_args!("{outage:?}"));
        });
    }
    finished(all).await;
}

/// A rival that waits for the lock. Returns the lease, and when it was granted.
fn waiting(client: &Client, name: &Name, lease: Duration) -> JoinHandle<(Lease, Instant)> {
    let lock = lock(client, name, lease);
    tokio::spawn(async move {
        let lease = ok(lock.acquire().await);
        (lease, Instant::now())
    })
}
