//! H7 to H11, between processes: a lease that is handed over by a ticket, which the program transports.

use std::time::Duration;

use dlock_core::{EndCause, Error, Ticket};
use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
};

use super::harness::{acquired, held, lock, ok, rounds, settle, soon, waiting};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

pub(crate) async fn ticket_gives_the_lock_to_its_redeemer(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let rival = harness.rival().await;
        let mut lease = acquired(lock!(harness, "").try_acquire().await);
        ok(soon("the renewal", lease.renew()).await);
        let (uuid, token) = (lease.uuid(), lease.token());
        let guard = lease.keep_alive();
        let lost = guard.ended();
        let ticket = ok(guard.hand_over());
        let loss = soon("the end of the guard", lost).await;
        assert!(matches!(loss.cause, EndCause::HandedOver), "{loss:?}");
        settle().await;
        assert_eq!(harness.releases().len(), 0, "it was released");
        // No other process gets it meanwhile.
        held(lock!(rival, "").try_acquire().await);
        rival.store.forget_calls();
        let ticket: Ticket = ok(ticket.to_string().parse());
        let redeemed = ok(soon("the lock", lock!(rival, "").redeem(&ticket).wait()).await);
        assert!(redeemed.is_valid());
        assert_ne!(
            redeemed.uuid(),
            uuid,
            "the next term has an identity of its own"
        );
        assert!(redeemed.token() > token, "tokens grow (I3)");
        let sent = rival.acquires();
        assert_eq!(sent.len(), 1, "one write: {sent:?}");
        let prev = sent[0].prev.map(|prev| (prev.uuid, prev.renewals));
        assert_eq!(
            prev,
            Some((uuid, 1)),
            "it claims the term that was given up"
        );
        // The ticket is valid once, for either client.
        for harness in [&harness, &rival] {
            let holder = held(soon("the answer", lock!(harness, "").redeem(&ticket).once()).await);
            assert_eq!(holder.record.uuid, redeemed.uuid());
        }
        assert!(redeemed.is_valid());
    })
    .await;
}

pub(crate) async fn ticket_is_good_whatever_its_number(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let rival = harness.rival().await;
        let mut lease = acquired(lock!(harness, "").try_acquire().await);
        harness.store.next(Op::Renew, Fault::UNKNOWN_AFTER);
        assert!(soon("the renewal", lease.renew()).await.is_err());
        let ticket = ok(lease.hand_over());
        settle().await;
        let redeemed = acquired(soon("the lock", lock!(rival, "").redeem(&ticket).once()).await);
        assert!(redeemed.is_valid());
        let sent = rival.acquires();
        assert_eq!(sent.len(), 2, "refused once, and at once granted: {sent:?}");
        assert_ne!(
            sent[0].new, sent[1].new,
            "each try has an identity of its own"
        );
    })
    .await;
}

pub(crate) async fn giver_does_not_claim_what_it_handed_over(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let rival = harness.rival().await;
        let lease = acquired(lock!(harness, "").try_acquire().await);
        let uuid = lease.uuid();
        let ticket = ok(lease.hand_over());
        let holder = held(lock!(harness, "").try_acquire().await);
        assert_eq!(holder.record.uuid, uuid);
        assert!(!holder.ours, "no client has it");
        assert_eq!(harness.acquires().len(), 2, "one try, and no claim");
        let redeemed = acquired(soon("the lock", lock!(rival, "").redeem(&ticket).once()).await);
        assert!(redeemed.is_valid());
    })
    .await;
}

pub(crate) async fn ticket_waits_behind_nobody(bench: Bench) {
    rounds(bench.clone(), |round| async move {
        let (harness, _hand) = round.by_hand().await;
        harness.deafen();
        let lock = lock!(harness, "", poll_every = HOUR);
        let lease = acquired(lock.try_acquire().await);
        let waiter = waiting(&lock);
        harness.sent(Op::Acquire, 2).await;
        settle().await;
        let ticket = ok(lease.hand_over());
        settle().await;
        assert!(!waiter.is_finished(), "it was handed to a waiter");
        let redeemed = ok(soon("the lock", lock.redeem(&ticket).within(HOUR)).await);
        assert!(redeemed.is_valid());
        // The owner of a used ticket waits like every other waiter, and behind them.
        let late = crate::spawn({
            let lock = lock.clone();
            async move { lock.redeem(&ticket).wait().await }
        });
        harness.sent(Op::Acquire, 4).await;
        settle().await;
        ok(soon("the release", redeemed.release()).await);
        let second = ok(soon("the waiter", waiter).await);
        assert!(!late.is_finished());
        ok(soon("the release", ok(second).release()).await);
        assert!(ok(ok(soon("who came late", late).await)).is_valid());
    })
    .await;
}

pub(crate) async fn ticket_opens_no_other_lock(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lease = acquired(lock!(harness, "a").try_acquire().await);
        let ticket = ok(lease.hand_over());
        harness.store.forget_calls();
        let other = lock!(harness, "b");
        let answers = [
            other.redeem(&ticket).once().await.map(drop),
            other.redeem(&ticket).wait().await.map(drop),
            other.redeem(&ticket).within(SECOND).await.map(drop),
        ];
        for answer in answers {
            match answer {
                Err(Error::TicketMismatch { ticket, lock }) => {
                    assert_eq!((ticket, lock), (harness.name("a"), harness.name("b")));
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(harness.acquires().len(), 0, "nothing is asked");
    })
    .await;
}

pub(crate) async fn lost_lease_is_not_handed_over(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lease = acquired(lock!(harness, "").try_acquire().await);
        hand.jump(48 * SECOND);
        match lease.hand_over() {
            Err(Error::Lost(loss)) => {
                assert!(matches!(loss.cause, EndCause::Expired { .. }), "{loss:?}");
            }
            other => panic!("{other:?}"),
        }
        // It is released like any other.
        harness.sent(Op::Release, 1).await;
    })
    .await;
}
