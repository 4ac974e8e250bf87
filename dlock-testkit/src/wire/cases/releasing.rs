//! Locks that are acquired and released over a wire that breaks.

use std::time::Duration;

use dlock_core::{Client, DLock, Error, Lease, Name, TryAcquire, provider::Acquire};
use tokio::time::sleep;

use super::cuts;
use crate::{
    faults::{Call, Op},
    proxy::Fault,
    slow::{in_time, joined, within},
    wire::{
        Wiring,
        holder_watch::belief_is_founded,
        wiring::{Wire, believed_at_least, believed_at_most, lock, ok, released, soon},
    },
};

pub(super) async fn lost_reply_of_an_acquire_is_found_by_its_repeat(wiring: Wiring) {
    let (wire, direct) = (wiring.wire().await, wiring.direct().await);
    for fault in [Fault::LoseReply, Fault::DelayReply(wiring.lease() / 4)] {
        let name = wiring.name(fault);
        wire.provider.inner().next(Op::Acquire, fault);
        let lease = granted(soon(fault, wire.lock_without_hints(&name).try_acquire()).await);
        let record = ok(direct.read(&name).await);
        let stored = record.map(|record| (record.uuid, record.token));
        // One term: the grant whose reply was lost (A2).
        assert_eq!(stored, Some((lease.uuid(), lease.token())), "{fault}");
        let calls = wire.provider.calls();
        let is_ours = |sent: &&Acquire| sent.name == name;
        let asked = |call: &&Call| call.acquire().filter(is_ours).is_some();
        let attempts: Vec<_> = calls.iter().filter(asked).collect();
        // Only the first one was struck.
        let repeats = &attempts[1..];
        in_time(
            repeats
                .iter()
                .all(|call| matches!(call.answer, Some(Ok(_)))),
            format_args!("{fault}: the answer to a repeat"),
        );
        let found = attempts
            .iter()
            .filter_map(|call| call.acquire())
            .all(|sent| sent.new == lease.uuid());
        assert!(
            found,
            "{fault}: the repeat did not find the grant: {attempts:?}"
        );
        // The clock runs from the first attempt, even for the answer to the repeat.
        let latest = attempts[0].began + wiring.lease().mul_f64(0.8) + wiring.lease() / 20;
        let believed = believed_at_least(|| lease.remaining());
        in_time(
            lease.is_valid(),
            format_args!("{fault}: a look at the holder"),
        );
        assert!(
            believed <= latest,
            "{fault}: {:?} too long (I6)",
            believed - latest
        );
        released(lease.release().await, fault);
    }
}

pub(super) async fn lock_works_through_a_cut_at_any_moment(wiring: Wiring) {
    let (wire, direct) = (wiring.wire().await, wiring.direct().await);
    let rival = Client::new(direct.clone());
    for fault in cuts() {
        for struck in [Op::Acquire, Op::Renew, Op::Release] {
            let name = wiring.name(format_args!("{struck:?}, {fault}"));
            let strikes = wire.proxy.struck();
            wire.provider.inner().next(struck, fault);
            let mut lease = granted(soon(&name, wire.lock(&name).try_acquire()).await);
            let before = believed_at_least(|| lease.remaining());
            let mut renewed = soon(&name, lease.renew()).await;
            if struck == Op::Renew && matches!(renewed, Err(Error::Provider(_))) {
                // A missing answer is not a loss, and the next attempt is answered.
                in_time(lease.is_valid(), &name);
                renewed = soon(&name, lease.renew()).await;
            }
            ok(renewed);
            let after = believed_at_most(|| lease.remaining());
            assert!(
                after + wiring.lease() / 20 >= before,
                "{name}: moved back (I7)"
            );
            let after = believed_at_least(|| lease.remaining());
            in_time(
                lease.is_valid(),
                format_args!("{name}: a look at the holder"),
            );
            belief_is_founded(&wire, after, wiring.lease());
            // However it was cut, the lock was released, and nothing blocks a rival.
            released(soon(&name, lease.release()).await, &name);
            let next = lock(&rival, &name, wiring.lease());
            let next = granted(soon(&name, next.try_acquire()).await);
            released(next.release().await, &name);
            // A call that was given up before its answer was cut meets no fault.
            in_time(wire.proxy.struck() > strikes, &name);
            assert_eq!(wire.proxy.struck(), strikes + 1, "{name}");
        }
    }
}

pub(super) async fn lost_reply_of_a_release_is_a_release(wiring: Wiring) {
    let (wire, direct) = (wiring.wire().await, wiring.direct().await);
    let rival = Client::new(direct.clone());
    let name = wiring.name("lock");
    for fault in [
        Fault::LoseReply,
        Fault::LoseRequest,
        Fault::DelayReply(wiring.lease() / 4),
        // The repeat has already released it when the first request arrives.
        Fault::Late(wiring.lease() / 4),
    ] {
        let guard = ok(soon(fault, wire.lock_without_hints(&name).hold()).await);
        wire.provider.inner().next(Op::Release, fault);
        released(soon(fault, guard.release()).await, fault);
        let next = lock(&rival, &name, wiring.lease());
        let next = granted(soon(fault, next.try_acquire()).await);
        sleep(wiring.lease() / 3).await;
        in_time(next.is_valid(), fault);
        released(next.release().await, fault);

        // The same with a waiter, which may have the lock before the repeat is sent: that is not a loss.
        let guard = ok(soon(fault, wire.lock_without_hints(&name).hold()).await);
        let contender = ok(DLock::builder()
            .name(name.as_str())
            .provider(&rival)
            .duration(wiring.lease())
            .poll_every(Duration::from_millis(10))
            .build());
        let contender = tokio::spawn(async move { contender.hold().await });
        wire.provider.inner().next(Op::Release, fault);
        let what = format!("{fault}, with a contender");
        released(soon(fault, guard.release()).await, &what);
        let next = ok(joined(soon(fault, contender).await));
        sleep(wiring.lease() / 3).await;
        in_time(next.is_valid(), &what);
        released(next.release().await, &what);
    }
}

pub(super) async fn acquire_without_an_answer_stops_blocking_in_time(wiring: Wiring) {
    let direct = wiring.direct().await;
    let slow = Fault::DelayReply(wiring.lease() / 4);
    for fault in [Fault::LoseReply, slow] {
        let wire = wiring.wire().await;
        let name = wiring.name(fault);
        wire.provider.inner().always(Op::Acquire, fault);
        wire.provider
            .inner()
            .always(Op::Release, Fault::LoseRequest);
        let unanswered = soon(fault, wire.lock(&name).try_acquire()).await;
        // A reply that is held back may come before a slow machine has checked the limit.
        let held_back = matches!(fault, Fault::DelayReply(_));
        in_time(unanswered.is_err() || !held_back, "the end of an attempt");
        assert!(unanswered.is_err(), "{fault}: {unanswered:?}");
        in_time(wire.proxy.struck() >= 2, "the same try once more (W5)");
        gets_it_in_time(&wiring, &wire, &Client::new(direct.clone()), &name).await;
    }
}

pub(super) async fn cancelled_acquire_leaves_nothing(wiring: Wiring) {
    let direct = wiring.direct().await;
    // An attempt has D/6, so the first request is answered, after its caller has gone; the second never is.
    let slow = Fault::DelayRequest(wiring.lease() / 10);
    for (fault, kept) in [(slow, false), (Fault::LoseReply, true)] {
        let wire = wiring.wire().await;
        let name = wiring.name(fault);
        wire.provider.inner().always(Op::Acquire, fault);
        if kept {
            wire.provider
                .inner()
                .always(Op::Release, Fault::LoseRequest);
        }
        let lock = wire.lock(&name);
        let asked = tokio::spawn(async move { lock.acquire().await });
        soon(fault, wire.proxy.until_struck(1)).await;
        // Dropped in flight. If the machine stood still for a while, it has a lease by now, which is dropped.
        asked.abort();
        drop(asked.await);
        let rival = Client::new(direct.clone());
        if kept {
            gets_it_in_time(&wiring, &wire, &rival, &name).await;
        } else {
            // A slow machine may abandon the request before it is forwarded.
            within(4 * wiring.lease(), "the grant", async {
                while ok(direct.read(&name).await).is_none() {
                    sleep(Duration::from_millis(5)).await;
                }
            })
            .await;
            // A grant that no caller received is released at once, not when it ends.
            gets_it_within(
                wiring.lease() * 2 / 3,
                &wire,
                &lock_of(&rival, &name, &wiring),
            )
            .await;
        }
    }
}

/// The remains of an acquire stop blocking others within D of its commit, and no task of ours runs for longer.
async fn gets_it_in_time(wiring: &Wiring, wire: &Wire, rival: &Client, name: &Name) {
    let lease = wiring.lease();
    // Attempts that were in flight may commit for another D/6.
    let poll = (lease / 10).max(Duration::from_millis(100));
    let bound = lease / 6 + lease + poll + lease / 4;
    gets_it_within(bound, wire, &lock_of(rival, name, wiring)).await;
}

async fn gets_it_within(bound: Duration, wire: &Wire, lock: &DLock) {
    let next = within(bound, "an orphan blocks (I10)", lock.acquire()).await;
    released(ok(next).release().await, "an orphan");
    // Clean-up tasks end no later than the lease that may remain.
    let left = soon("the clean-up", wire.client.close()).await;
    assert_eq!(left, 0, "leases without a holder");
}

fn lock_of(client: &Client, name: &Name, wiring: &Wiring) -> DLock {
    lock(client, name, wiring.lease())
}

fn granted(answer: Result<TryAcquire, Error>) -> Lease {
    match ok(answer) {
        TryAcquire::Acquired(lease) => lease,
        TryAcquire::Held(holder) => panic!("this should have been granted: {holder:?}"),
    }
}
