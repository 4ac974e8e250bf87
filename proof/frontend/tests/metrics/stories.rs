//! The events of locks, and the metrics that report them. Each story has its own group, so that they can share a
//! recorder.

use std::time::Duration;

use dlock_core::{DLock, Error, ReleaseEnd, TryAcquire};
use dlock_testkit::{
    faults::{Fault, Op},
    memory::MemoryProvider,
};
use tokio::time::{sleep, timeout};

use crate::scene::{LEASE, Process, SECOND, Scene, Story, assert_about};

/// Calls a macro with the names of all stories.
macro_rules! stories {
    ($do:ident) => {
        $do! {
            a_hold_is_told_from_its_acquire_to_its_release,
            refused_tries_are_the_contention,
            a_call_whose_caller_went_away_is_told_as_dropped,
            a_takeover_is_told_by_the_new_holder_and_a_hand_off_is_none,
            repeated_tries_that_take_over_tell_it,
            a_lease_that_runs_out_is_a_loss_that_was_held_until_its_deadline,
            a_lease_that_the_store_ended_is_a_loss_of_that_cause,
            a_lease_held_too_long_is_a_loss_of_that_cause,
            what_nobody_knows_is_counted,
            a_release_without_an_answer_is_unconfirmed,
            what_is_handed_on_is_no_release_of_the_store,
            renewals_that_travel_together_are_told_one_by_one,
            renewals_that_fail_are_told_by_what_is_known,
            a_lock_without_a_group_has_an_empty_one,
            a_closed_client_and_a_store_that_cannot_be_used_are_told_apart,
        }
    };
}
pub(crate) use stories;

macro_rules! list {
    ($($name:ident,)*) => {
        pub(crate) const ALL: &[(&str, Story)] =
            &[$((stringify!($name), |scene| Box::pin($name(scene))),)*];
    };
}
stories!(list);

const TRIES: &str = "dlock_tries_total";
const ACQUIRE: &str = "dlock_acquire_seconds";
const CALLS: &str = "dlock_store_call_seconds";
const HOLD: &str = "dlock_hold_seconds";
const LOSSES: &str = "dlock_losses_total";
const RENEWALS: &str = "dlock_renewals_total";
const MARGIN: &str = "dlock_renewal_margin_ratio";
const RELEASES: &str = "dlock_releases_total";
const TAKEOVERS: &str = "dlock_takeovers_total";
const UNKNOWN: &str = "dlock_unknown_outcomes_total";

pub(crate) async fn a_hold_is_told_from_its_acquire_to_its_release(scene: Scene) {
    const GROUP: (&str, &str) = ("group", "plain");
    let Process { lock, provider, .. } = scene.process("plain");
    let guard = lock.hold().await.unwrap();
    sleep(Duration::from_millis(20_500)).await;
    provider.next(Op::Renew, Fault::DelayReply(2 * SECOND));
    sleep(22 * SECOND).await;
    guard.release().await.unwrap();
    let granted = [GROUP, ("call", "wait"), ("outcome", "granted")];
    assert_about(&scene.values(ACQUIRE, &granted), 0.0);
    assert_eq!(scene.count(TRIES, &[GROUP]), 1);
    assert_eq!(scene.count(TRIES, &[GROUP, ("outcome", "granted")]), 1);
    assert_about(&scene.values(HOLD, &[GROUP, ("end", "released")]), 42.5);
    assert_eq!(scene.count(RENEWALS, &[GROUP, ("outcome", "renewed")]), 2);
    // Of 0.8 D a third had passed at the first renewal; the second one was two seconds late.
    let [first, second] = scene.values(MARGIN, &[GROUP])[..] else {
        panic!("{:?}", scene.recorder);
    };
    assert!((first - (0.8 - 1.0 / 3.0)).abs() < 0.001, "{first}");
    assert!((first - second - 2.0 / 60.0).abs() < 0.001, "{second}");
    let renewals = scene.values(
        CALLS,
        &[GROUP, ("operation", "renew"), ("outcome", "answered")],
    );
    assert_eq!(renewals.len(), 2);
    assert_about(&renewals[1..], 2.0);
    for operation in ["acquire", "release"] {
        let calls = scene.values(CALLS, &[GROUP, ("operation", operation)]);
        assert_about(&calls, 0.0);
    }
    assert_eq!(scene.count(RELEASES, &[GROUP, ("outcome", "released")]), 1);
    assert_eq!(scene.count(LOSSES, &[GROUP]), 0);
    assert_eq!(scene.count(UNKNOWN, &[GROUP]), 0);
}

pub(crate) async fn refused_tries_are_the_contention(scene: Scene) {
    const GROUP: (&str, &str) = ("group", "contended");
    let holder = scene.process("holder");
    let _held = holder.lock.acquire().await.unwrap();
    let other = scene.process("contended");
    assert!(matches!(
        other.lock.try_acquire().await,
        Ok(TryAcquire::Held(_))
    ));
    let waited = other.lock.acquire_timeout(10 * SECOND).await;
    assert!(matches!(waited, Err(Error::Timeout { .. })));
    let tries = [GROUP, ("call", "try"), ("outcome", "held")];
    assert_about(&scene.values(ACQUIRE, &tries), 0.0);
    let waits = [GROUP, ("call", "wait"), ("outcome", "timed_out")];
    assert_about(&scene.values(ACQUIRE, &waits), 10.0);
    let refused = scene.count(TRIES, &[GROUP, ("outcome", "held")]);
    assert_eq!(refused, other.provider.count(Op::Acquire) as u64);
    assert!(refused > 2, "{refused}");
}

pub(crate) async fn a_call_whose_caller_went_away_is_told_as_dropped(scene: Scene) {
    let holder = scene.process("holder");
    let _held = holder.lock.acquire().await.unwrap();
    let other = scene.process("dropped");
    assert!(timeout(5 * SECOND, other.lock.acquire()).await.is_err());
    let dropped = [("group", "dropped"), ("outcome", "dropped")];
    assert_about(&scene.values(ACQUIRE, &dropped), 5.0);
}

pub(crate) async fn a_takeover_is_told_by_the_new_holder_and_a_hand_off_is_none(scene: Scene) {
    for wakeups in [true, false] {
        let group = format!("taking over, wake-ups {wakeups}");
        let group = group.as_str();
        let scene = scene.again();
        let on = |scene: &Scene| MemoryProvider::new(&scene.store).wakeups(wakeups);
        let waits = |process: &Process| {
            let lock = process.lock.clone();
            tokio::spawn(async move { lock.hold().await.unwrap() })
        };
        // Released while another process waits.
        let first = scene.process_on(group, on(&scene));
        let second = scene.process_on(group, on(&scene));
        let held = first.lock.hold().await.unwrap();
        let waiting = waits(&second);
        sleep(100 * SECOND).await;
        held.release().await.unwrap();
        let held = waiting.await.unwrap();
        assert_eq!(scene.count(TAKEOVERS, &[("group", group)]), 0);
        // Never released: from now on, no call of its process reaches the store.
        let waiting = waits(&first);
        sleep(100 * SECOND).await;
        second.provider.everything(Fault::LoseRequest);
        let guard = waiting.await.unwrap();
        assert_eq!(scene.count(TAKEOVERS, &[("group", group)]), 1);
        drop((held, guard));
    }
}

pub(crate) async fn repeated_tries_that_take_over_tell_it(scene: Scene) {
    let first = scene.process("crashes");
    let held = first.lock.acquire().await.unwrap();
    first.provider.everything(Fault::LoseRequest);
    let second = scene.process("tries");
    let mut granted = None;
    for _ in 0..20 {
        if let TryAcquire::Acquired(lease) = second.lock.try_acquire().await.unwrap() {
            granted = Some(lease);
            break;
        }
        sleep(10 * SECOND).await;
    }
    assert!(granted.is_some());
    assert_eq!(scene.count(TAKEOVERS, &[("group", "tries")]), 1);
    drop(held);
}

pub(crate) async fn a_lease_that_runs_out_is_a_loss_that_was_held_until_its_deadline(scene: Scene) {
    const GROUP: (&str, &str) = ("group", "expires");
    let Process { lock, provider, .. } = scene.process("expires");
    let lease = lock.acquire().await.unwrap();
    provider.everything(Fault::LoseRequest);
    // The lease ended long before anything looks at it.
    sleep(1000 * SECOND).await;
    assert!(!lease.is_valid());
    drop(lease);
    assert_eq!(scene.count(LOSSES, &[GROUP, ("cause", "expired")]), 1);
    assert_about(&scene.values(HOLD, &[GROUP, ("end", "expired")]), 48.0);
}

pub(crate) async fn a_lease_that_the_store_ended_is_a_loss_of_that_cause(scene: Scene) {
    const GROUP: (&str, &str) = ("group", "refused");
    let Process { lock, .. } = scene.process("refused");
    let guard = lock.hold().await.unwrap();
    scene.store.wipe();
    guard.ended().await;
    assert_eq!(scene.count(LOSSES, &[GROUP, ("cause", "refused")]), 1);
    assert_eq!(scene.count(RENEWALS, &[GROUP, ("outcome", "refused")]), 1);
    assert_about(&scene.values(HOLD, &[GROUP, ("end", "refused")]), 20.0);
}

pub(crate) async fn a_lease_held_too_long_is_a_loss_of_that_cause(scene: Scene) {
    const GROUP: (&str, &str) = ("group", "too long");
    let Process { client, .. } = scene.process("too long");
    let lock = DLock::builder()
        .name("desk")
        .duration(LEASE)
        .max_hold(100 * SECOND)
        .group("too long")
        .provider(client)
        .build()
        .unwrap();
    let guard = lock.hold().await.unwrap();
    guard.ended().await;
    assert_eq!(scene.count(LOSSES, &[GROUP, ("cause", "held_too_long")]), 1);
    // The last renewal is sent after 80 s.
    assert_about(
        &scene.values(HOLD, &[GROUP, ("end", "held_too_long")]),
        128.0,
    );
}

pub(crate) async fn what_nobody_knows_is_counted(scene: Scene) {
    const GROUP: (&str, &str) = ("group", "unknown");
    let Process { lock, provider, .. } = scene.process("unknown");
    provider.next(Op::Acquire, Fault::LoseReply);
    provider.next(Op::Renew, Fault::UNKNOWN_AFTER);
    provider.next(Op::Release, Fault::UNKNOWN_BEFORE);
    let guard = lock.hold().await.unwrap();
    sleep(25 * SECOND).await;
    guard.release().await.unwrap();
    for operation in ["acquire", "renew", "release"] {
        let unknown = scene.count(UNKNOWN, &[GROUP, ("operation", operation)]);
        assert_eq!(unknown, 1, "{operation}");
        let calls = [GROUP, ("operation", operation), ("outcome", "unknown")];
        assert_eq!(scene.values(CALLS, &calls).len(), 1, "{operation}");
    }
    // One try, and it was granted.
    assert_eq!(scene.count(TRIES, &[GROUP]), 1);
}

pub(crate) async fn a_release_without_an_answer_is_unconfirmed(scene: Scene) {
    const GROUP: (&str, &str) = ("group", "unconfirmed");
    let Process { lock, provider, .. } = scene.process("unconfirmed");
    let lease = lock.acquire().await.unwrap();
    provider.always(Op::Release, Fault::LoseReply);
    assert_eq!(lease.release().await.unwrap(), ReleaseEnd::Unconfirmed);
    assert_eq!(
        scene.count(RELEASES, &[GROUP, ("outcome", "unconfirmed")]),
        1
    );
    // A stale holder learns it from its release.
    provider.clear();
    let lease = lock.acquire().await.unwrap();
    scene.store.wipe();
    assert_eq!(lease.release().await.unwrap(), ReleaseEnd::NotHeld(None));
    assert_eq!(scene.count(RELEASES, &[GROUP, ("outcome", "not_held")]), 1);
    // And a holder that may not release.
    let lease = lock.acquire().await.unwrap();
    provider.next(Op::Release, Fault::FATAL);
    assert!(lease.release().await.is_err());
    assert_eq!(scene.count(RELEASES, &[GROUP, ("outcome", "failed")]), 1);
}

pub(crate) async fn what_is_handed_on_is_no_release_of_the_store(scene: Scene) {
    const GROUP: (&str, &str) = ("group", "handed");
    let Process { lock, provider, .. } = scene.process("handed");
    let first = lock.acquire().await.unwrap();
    let waiting = || {
        let lock = lock.clone();
        tokio::spawn(async move { lock.acquire().await.unwrap() })
    };
    let [second, third] = [waiting(), waiting()];
    sleep(SECOND).await;
    first.release().await.unwrap();
    second.await.unwrap().release().await.unwrap();
    let third = third.await.unwrap();
    assert_eq!(provider.count(Op::Release), 1, "the first one's");
    assert_eq!(scene.count(RELEASES, &[GROUP, ("outcome", "handed_on")]), 1);
    // With a ticket nothing is released at all.
    let ticket = third.hand_over().unwrap();
    assert_eq!(
        scene.values(HOLD, &[GROUP, ("end", "handed_over")]).len(),
        1
    );
    let fourth = lock.redeem(&ticket).wait().await.unwrap();
    assert_eq!(scene.count(RELEASES, &[GROUP]), 2);
    assert_eq!(scene.count(TAKEOVERS, &[GROUP]), 0);
    assert_eq!(scene.count(LOSSES, &[GROUP]), 0);
    fourth.release().await.unwrap();
}

pub(crate) async fn renewals_that_travel_together_are_told_one_by_one(scene: Scene) {
    const GROUP: (&str, &str) = ("group", "crowd");
    let Process { lock, provider, .. } = scene.process("crowd");
    let mut guards = Vec::new();
    for number in 0..50 {
        let lock = lock.named(format!("customer {number}")).unwrap();
        guards.push(lock.hold().await.unwrap());
    }
    sleep(30 * SECOND).await;
    assert!(provider.count(Op::RenewMany) >= 1);
    assert_eq!(scene.count(RENEWALS, &[GROUP, ("outcome", "renewed")]), 50);
    assert_eq!(scene.values(MARGIN, &[GROUP]).len(), 50);
    // The call itself has no group.
    let calls = scene.values(CALLS, &[("group", ""), ("operation", "renew_many")]);
    assert_eq!(calls.len(), provider.count(Op::RenewMany));
    provider.always(Op::RenewMany, Fault::UNKNOWN_AFTER);
    sleep(12 * SECOND).await;
    let unknown = scene.count(UNKNOWN, &[GROUP, ("operation", "renew")]);
    assert_eq!(unknown, 50);
}

pub(crate) async fn renewals_that_fail_are_told_by_what_is_known(scene: Scene) {
    const GROUP: (&str, &str) = ("group", "failing");
    let Process { lock, provider, .. } = scene.process("failing");
    let mut lease = lock.acquire().await.unwrap();
    for (fault, outcome) in [
        (Fault::THROTTLED, "not_applied"),
        (Fault::FATAL, "fatal"),
        (Fault::LoseRequest, "unknown"),
    ] {
        provider.next(Op::Renew, fault);
        assert!(lease.renew().await.is_err());
        assert_eq!(scene.count(RENEWALS, &[GROUP, ("outcome", outcome)]), 1);
    }
    assert!(scene.values(MARGIN, &[GROUP]).is_empty());
}

pub(crate) async fn a_lock_without_a_group_has_an_empty_one(scene: Scene) {
    let Process { client, .. } = scene.process("grouped");
    let build = |name: &str| DLock::builder().name(name).provider(&client);
    // Events that have not happened are reported as well: an alert needs an initial value.
    for name in [LOSSES, TAKEOVERS] {
        assert!(
            scene.recorder.knows(name, &[("group", "grouped")]),
            "{name}"
        );
    }
    let plain = build("plain").build().unwrap();
    let before = scene.count(TRIES, &[("group", "")]);
    plain.acquire().await.unwrap().release().await.unwrap();
    assert_eq!(scene.count(TRIES, &[("group", "")]), before + 1);
    let grouped = build("grouped").group("customers").build().unwrap();
    for name in ["a", "b"] {
        let lock = grouped.named(name).unwrap();
        lock.acquire().await.unwrap().release().await.unwrap();
    }
    assert_eq!(scene.count(TRIES, &[("group", "customers")]), 2);
}

pub(crate) async fn a_closed_client_and_a_store_that_cannot_be_used_are_told_apart(scene: Scene) {
    const GROUP: (&str, &str) = ("group", "ends");
    let Process {
        lock,
        provider,
        client,
    } = scene.process("ends");
    provider.next(Op::Acquire, Fault::FATAL);
    assert!(lock.acquire().await.is_err());
    assert_eq!(
        scene.values(ACQUIRE, &[GROUP, ("outcome", "failed")]).len(),
        1
    );
    assert_eq!(scene.count(TRIES, &[GROUP, ("outcome", "fatal")]), 1);
    provider.always(Op::Acquire, Fault::THROTTLED);
    assert!(lock.try_acquire().await.is_err());
    assert_eq!(scene.count(TRIES, &[GROUP, ("outcome", "given_up")]), 1);
    client.close().await;
    assert!(matches!(lock.acquire().await, Err(Error::Closed)));
    assert_eq!(
        scene.values(ACQUIRE, &[GROUP, ("outcome", "closed")]).len(),
        1
    );
}
