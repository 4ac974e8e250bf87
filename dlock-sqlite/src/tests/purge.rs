//! Which records are deleted, and when (T5).

use super::*;

#[test]
fn purge_takes_what_ended_seven_days_ago_and_whose_token_has_passed() {
    let mut bench = Bench::new();
    bench.take("held and long over");
    let (uuid, _) = bench.take("released long ago");
    bench.release("released long ago", uuid);
    assert!(matches!(
        bench.acquire(&request("with a token of the future").floor(TODAY + YEAR_MICROS)),
        Ok(AcquireOutcome::Acquired(_))
    ));
    let mut other = Bench {
        prefix: Prefix::new("other").unwrap(),
        ..bench
    };
    other.take("held and long over");
    let mut bench = Bench {
        prefix: Prefix::default(),
        ..other
    };

    let week = 7 * DAY_NANOS;
    bench.clock.set(|now| {
        now.instant += D_NANOS + week - 1;
        now.unix_micros += 8 * DAY_MICROS;
    });
    assert_eq!(bench.purge(), 0, "one nanosecond too early");
    bench.take("young");
    bench.pass(1);
    assert_eq!(bench.purge(), 2);
    assert_eq!(bench.names(), ["with a token of the future", "young"]);
    bench.prefix = Prefix::new("other").unwrap();
    assert_eq!(bench.names(), ["held and long over"]);
}

#[test]
fn purge_takes_records_of_earlier_boots_once_this_one_is_seven_days_old() {
    let mut bench = Bench::new();
    bench.take("a");
    bench.clock.set(|now| now.unix_micros += DAY_MICROS);
    let mut bench = bench.reboot(7 * DAY_NANOS - 1);
    assert_eq!(bench.purge(), 0);
    bench.pass(1);
    assert_eq!(bench.purge(), 1);
}

#[test]
fn purge_leaves_what_it_cannot_judge() {
    let mut strange = Bench::on(BootId::Private(Uuid::new_v4()));
    strange.take("a");
    strange.clock.set(|now| now.unix_micros += YEAR_MICROS);
    let mut strange = strange.reboot(365 * DAY_NANOS);
    assert_eq!(strange.purge(), 0);
    strange.take("of this boot");
    strange.clock.set(|now| now.unix_micros += YEAR_MICROS);
    let mut stranger = strange.under(BootId::Private(Uuid::new_v4()));
    assert_eq!(stranger.purge(), 0);

    let mut spoilt = Bench::new();
    spoilt.take("a negative token");
    spoilt
        .store
        .connection()
        .execute_batch("PRAGMA ignore_check_constraints = 1; UPDATE lock SET token = -1")
        .unwrap();
    spoilt.clock.set(|now| {
        now.instant += 365 * DAY_NANOS;
        now.unix_micros += YEAR_MICROS;
    });
    assert_eq!(spoilt.purge(), 0);
}
