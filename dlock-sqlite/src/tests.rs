//! What only the inside can reach: clocks set by hand, and a disk that is full on command.

use std::time::Duration;

use dlock_core::{
    Acquire, AcquireOutcome, ErrorKind, FencingToken, List, Name, Record, Release, Renew,
    RenewOutcome, Version,
};
use tempfile::TempDir;
use uuid::Uuid;

use crate::{
    admin,
    boot::Boot,
    clock::{Now, StoreClock},
    key::{Key, Prefix},
    provider::Synchronous,
    rules,
    store::Store,
};

const D: Duration = Duration::from_secs(10);
const D_NANOS: i64 = 10_000_000_000;
const DAY_NANOS: i64 = 24 * 60 * 60 * 1_000_000_000;
const DAY_MICROS: u64 = 24 * 60 * 60 * 1_000_000;
const YEAR_MICROS: u64 = 365 * DAY_MICROS;
/// A day of 2026.
const TODAY: u64 = 1_790_000_000_000_000;

struct Bench {
    store: Store,
    clock: StoreClock,
    prefix: Prefix,
    _directory: TempDir,
}

impl Bench {
    /// A new file on a clock that shows one hour since boot.
    fn new() -> Self {
        Self::on(Boot::Kernel(Uuid::new_v4()))
    }

    fn on(boot: Boot) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = StoreClock::manual(
            boot,
            Now {
                instant: 3_600_000_000_000,
                unix_micros: TODAY,
            },
        );
        let store = Store::open(
            &directory.path().join("l.db"),
            Synchronous::Normal,
            Duration::from_millis(100),
        )
        .unwrap();
        Self {
            store: store.with_clock(clock.clone()),
            clock,
            prefix: Prefix::default(),
            _directory: directory,
        }
    }

    /// Another process looks, which counts its time under this boot.
    fn under(self, boot: Boot) -> Self {
        let clock = StoreClock::manual(boot, self.clock.now());
        Self {
            store: self.store.with_clock(clock.clone()),
            clock,
            ..self
        }
    }

    /// The machine starts anew: another boot, `uptime` nanoseconds ago.
    fn reboot(self, uptime: i64) -> Self {
        let bench = self.under(Boot::Kernel(Uuid::new_v4()));
        bench.clock.set(|now| now.instant = uptime);
        bench
    }

    fn pass(&self, nanos: i64) {
        self.clock.set(|now| now.instant += nanos);
    }

    fn key(&self, name: &str) -> Key {
        self.prefix.key(&Name::new(name).unwrap()).unwrap()
    }

    fn acquire(&mut self, request: &Acquire) -> Result<AcquireOutcome, ErrorKind> {
        let key = self.key(request.name.as_str());
        rules::acquire(&mut self.store, &key, request).map_err(|error| error.kind())
    }

    fn take(&mut self, name: &str) -> (Uuid, FencingToken) {
        let request = request(name);
        match self.acquire(&request) {
            Ok(AcquireOutcome::Acquired(token)) => (request.new, token),
            other => panic!("{other:?}"),
        }
    }

    fn refused(&mut self, name: &str) -> Record {
        match self.acquire(&request(name)) {
            Ok(AcquireOutcome::Held(record)) => record,
            other => panic!("{other:?}"),
        }
    }

    fn renew(&mut self, name: &str, uuid: Uuid, n: u64) -> RenewOutcome {
        let key = self.key(name);
        let request = Renew::new(Name::new(name).unwrap(), uuid, n);
        self.store
            .write(|view| rules::renew(view, &key, &request))
            .unwrap()
    }

    fn release(&mut self, name: &str, uuid: Uuid) {
        let key = self.key(name);
        let request = Release::new(Name::new(name).unwrap(), uuid, None);
        self.store
            .write(|view| rules::release(view, &key, &request))
            .unwrap();
    }

    fn purge(&mut self) -> u64 {
        let prefix = self.prefix.clone();
        self.store
            .write(|view| admin::purge(view, &prefix, usize::MAX))
            .unwrap()
    }

    fn names(&self) -> Vec<String> {
        let page = self
            .store
            .read(|view| admin::list(view, &self.prefix, &List::new("")))
            .unwrap();
        page.records
            .iter()
            .map(|(name, _)| name.to_string())
            .collect()
    }
}

fn request(name: &str) -> Acquire {
    Acquire::new(Name::new(name).unwrap(), Uuid::new_v4(), D)
}

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
    // R2 says nothing of the expiry, and changes nothing.
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
        Ok(AcquireOutcome::Acquired(FencingToken::new(floor).unwrap())),
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
        Ok(AcquireOutcome::Acquired(FencingToken::MAX))
    );
    bench.release("b", request_b.new);
    assert_eq!(bench.acquire(&request("b")), Err(ErrorKind::Fatal));
    let key = bench.key("b");
    let left = bench
        .store
        .read(|view| rules::read(view, &key))
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
    let mut bench = bench.under(Boot::Private(Uuid::new_v4()));
    bench.pass(100 * D_NANOS);
    let held = bench.refused("a");
    assert_eq!(held.remaining, Some(D));
    let claim = request("a").prev(Some(Version { uuid, renewals: 0 }));
    assert!(matches!(
        bench.acquire(&claim),
        Ok(AcquireOutcome::Acquired(_))
    ));
    // From here on the record is of this clock.
    bench.pass(D_NANOS);
    bench.take("a");
}

#[test]
fn a_renewal_brings_a_record_to_the_clock_of_its_holder() {
    let mut bench = Bench::new();
    let (uuid, _) = bench.take("a");
    let mut bench = bench.under(Boot::Private(Uuid::new_v4()));
    assert_eq!(
        bench.renew("a", uuid, 1),
        RenewOutcome::Renewed { asked: false }
    );
    bench.pass(D_NANOS - 1);
    bench.refused("a");
    bench.pass(1);
    bench.take("a");
}

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
    let mut strange = Bench::on(Boot::Private(Uuid::new_v4()));
    strange.take("a");
    strange.clock.set(|now| now.unix_micros += YEAR_MICROS);
    let mut strange = strange.reboot(365 * DAY_NANOS);
    assert_eq!(strange.purge(), 0);
    strange.take("of this boot");
    strange.clock.set(|now| now.unix_micros += YEAR_MICROS);
    let mut stranger = strange.under(Boot::Private(Uuid::new_v4()));
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

#[test]
fn a_full_disk_loses_nothing_and_says_what_to_do() {
    let mut bench = Bench::new();
    let (uuid, _) = bench.take("before");
    let pages: i64 = bench
        .store
        .connection()
        .query_row("PRAGMA page_count", [], |row| row.get(0))
        .unwrap();
    let limit = |bench: &Bench, pages: i64| {
        bench
            .store
            .connection()
            .query_row(&format!("PRAGMA max_page_count = {pages}"), [], |row| {
                row.get::<_, i64>(0)
            })
            .unwrap()
    };
    assert_eq!(limit(&bench, pages), pages);

    let big = |name: &str| request(name).data(Some(vec![7; Record::MAX_DATA]));
    let key = bench.key("too much");
    let error = rules::acquire(&mut bench.store, &key, &big("too much")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotApplied);
    assert!(error.to_string().contains("free space"), "{error}");
    assert_eq!(bench.names(), ["before"], "nothing half-written");
    // A takeover that does not fit leaves the old record whole.
    bench.pass(D_NANOS);
    assert_eq!(bench.acquire(&big("before")), Err(ErrorKind::NotApplied));
    let key = bench.key("before");
    assert_eq!(
        bench
            .store
            .read(|view| rules::read(view, &key))
            .unwrap()
            .unwrap()
            .uuid,
        uuid
    );
    // What needs no room goes on, and so does everything once there is some.
    bench.release("before", uuid);
    limit(&bench, pages + 100);
    assert!(matches!(
        bench.acquire(&big("too much")),
        Ok(AcquireOutcome::Acquired(_))
    ));
}
