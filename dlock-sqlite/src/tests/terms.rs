//! Terms and tokens on clocks that are set by hand.

use super::*;

#[test]
fn steps_of_the_wall_clock_decide_nothing() {
    let mut bench = Bench::new();
    let (uuid, first) = bench.take("a");
    for wall in [TODAY + YEAR_MICROS, TODAY - YEAR_MICROS, 0] {
        bench.clock.set(|now| now.unix_micros = wall);
        assert_eq!(bench.refused("a").remaining, Some(D));
        assert_eq!(
            bench.renew("a", uuid, 1 + wall),
            RenewOutcome::Renewed { asked: false }
        );
    }
    bench.pass(D_NANOS);
    let (_, second) = bench.take("a");
    assert!(
        second > first,
        "a wall clock at 1970 must not turn tokens back"
    );
}

#[test]
fn a_lease_ends_for_everyone_at_the_same_nanosecond() {
    let mut bench = Bench::new();
    let (uuid, _) = bench.take("a");
    bench.pass(D_NANOS - 1);
    assert_eq!(bench.refused("a").remaining, Some(Duration::from_millis(1)));
    assert_eq!(
        bench.renew("a", uuid, 1),
        RenewOutcome::Renewed { asked: false }
    );
    // The renewal counts from its own time, with the duration of the term.
    bench.pass(D_NANOS - 1);
    bench.refused("a");
    bench.pass(1);
    assert!(
        matches!(bench.renew("a", uuid, 2), RenewOutcome::Lost(Some(record)) if record.remaining == Some(Duration::ZERO))
    );
    bench.take("a");
}

#[test]
fn an_overtaken_renewal_is_answered_even_after_expiry() {
    let mut bench = Bench::new();
    let (uuid, _) = bench.take("a");
    assert_eq!(
        bench.renew("a", uuid, 5),
        RenewOutcome::Renewed { asked: false }
    );
    bench.pass(D_NANOS);
    // R2 does not depend on the expiry, and changes nothing.
    assert_eq!(
        bench.renew("a", uuid, 3),
        RenewOutcome::Renewed { asked: false }
    );
    assert!(matches!(
        bench.renew("a", uuid, 6),
        RenewOutcome::Lost(Some(_))
    ));
}

#[test]
fn a_late_duplicate_of_an_expired_term_is_spent() {
    let mut bench = Bench::new();
    let request = request("a");
    assert!(matches!(
        bench.acquire(&request),
        Ok(AcquireOutcome::Acquired(_))
    ));
    bench.pass(D_NANOS);
    assert_eq!(bench.acquire(&request), Ok(AcquireOutcome::Spent));
}

#[test]
fn a_claim_takes_a_live_lease_only_with_its_exact_version() {
    let mut bench = Bench::new();
    let (uuid, _) = bench.take("a");
    bench.renew("a", uuid, 2);
    for (claim, granted) in [
        (Version { uuid, renewals: 1 }, false),
        (
            Version {
                uuid: Uuid::new_v4(),
                renewals: 2,
            },
            false,
        ),
        (Version { uuid, renewals: 2 }, true),
    ] {
        let outcome = bench.acquire(&request("a").prev(Some(claim))).unwrap();
        assert_eq!(
            matches!(outcome, AcquireOutcome::Acquired(_)),
            granted,
            "{claim:?}: {outcome:?}"
        );
    }
}

#[test]
fn tokens_are_the_greatest_of_three() {
    let mut bench = Bench::new();
    let (uuid, token) = bench.take("a");
    assert_eq!(token.get(), TODAY, "the wall clock");
    bench.release("a", uuid);
    let (uuid, token) = bench.take("a");
    assert_eq!(token.get(), TODAY + 1, "one more than the last");
    bench.release("a", uuid);
    let floor = TODAY + YEAR_MICROS;
    assert_eq!(
        bench.acquire(&request("a").floor(floor)),
        Ok(AcquireOutcome::Acquired(
            FencingToken::new(floor).unwrap().into()
        )),
        "the floor"
    );
}

#[test]
fn tokens_never_wrap_and_never_start_at_zero() {
    let mut bench = Bench::new();
    bench.clock.set(|now| now.unix_micros = 0);
    assert_eq!(bench.take("a").1.get(), 1);

    let last = FencingToken::MAX.get();
    assert_eq!(
        bench.acquire(&request("b").floor(last + 1)),
        Err(ErrorKind::Fatal)
    );
    let request_b = request("b").floor(last);
    assert_eq!(
        bench.acquire(&request_b),
        Ok(AcquireOutcome::Acquired(FencingToken::MAX.into()))
    );
    bench.release("b", request_b.new);
    assert_eq!(bench.acquire(&request("b")), Err(ErrorKind::Fatal));
    let key = bench.key("b");
    let left = bench
        .store
        .read(|view| requests::read(view, &key))
        .unwrap()
        .unwrap();
    assert!(
        left.released && left.uuid == request_b.new,
        "nothing was written: {left:?}"
    );

    bench.clock.set(|now| now.unix_micros = u64::MAX);
    assert_eq!(
        bench.acquire(&request("c")),
        Err(ErrorKind::Fatal),
        "a wall clock beyond the last token"
    );
}

#[test]
fn another_boot_ends_every_lease_at_once() {
    let mut bench = Bench::new();
    let (uuid, first) = bench.take("a");
    let mut bench = bench.reboot(1);
    assert!(matches!(
        bench.renew("a", uuid, 1),
        RenewOutcome::Lost(Some(_))
    ));
    assert!(bench.take("a").1 > first);
}

#[test]
fn a_strange_boot_needs_an_observation() {
    let mut bench = Bench::new();
    let (uuid, _) = bench.take("a");
    let mut bench = bench.under(BootId::Private(Uuid::new_v4()));
    bench.pass(100 * D_NANOS);
    let held = bench.refused("a");
    assert_eq!(held.remaining, Some(D));
    let claim = request("a").prev(Some(Version { uuid, renewals: 0 }));
    assert!(matches!(
        bench.acquire(&claim),
        Ok(AcquireOutcome::Acquired(_))
    ));
    // From here on the record is on this clock.
    bench.pass(D_NANOS);
    bench.take("a");
}

#[test]
fn a_renewal_brings_a_record_to_the_clock_of_its_holder() {
    let mut bench = Bench::new();
    let (uuid, _) = bench.take("a");
    let mut bench = bench.under(BootId::Private(Uuid::new_v4()));
    assert_eq!(
        bench.renew("a", uuid, 1),
        RenewOutcome::Renewed { asked: false }
    );
    bench.pass(D_NANOS - 1);
    bench.refused("a");
    bench.pass(1);
    bench.take("a");
}
