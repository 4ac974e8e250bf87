//! A clock that is set by hand, the remainders of leases on it, and the clock of this machine.

use std::sync::{Arc, Mutex};

use uuid::Uuid;

use super::*;

impl StoreClock {
    /// A clock that the test advances.
    pub(crate) fn manual(boot: BootId, now: Now) -> Self {
        Self {
            boot,
            source: Source::Manual(Arc::new(Mutex::new(now))),
        }
    }

    /// Moves it, in all its clones.
    pub(crate) fn set(&self, change: impl FnOnce(&mut Now)) {
        match &self.source {
            Source::Manual(now) => change(&mut now.lock().unwrap()),
            _ => panic!("only a manual clock can be set"),
        }
    }
}

const DURATION: Duration = Duration::from_secs(10);

fn clock(boot: BootId) -> (StoreClock, Now) {
    let now = Now {
        instant: 5_000_000_000,
        unix_micros: 1,
    };
    (StoreClock::manual(boot, now), now)
}

#[test]
fn a_lease_is_over_exactly_at_its_expiry() {
    let boot = BootId::Kernel(Uuid::new_v4());
    let (clock, now) = clock(boot);
    let left = |expiry| clock.left(boot, expiry, DURATION, now);
    assert_eq!(left(now.instant), Duration::ZERO);
    assert_eq!(left(now.instant + 1), Duration::from_millis(1));
    assert_eq!(left(now.instant + 1_000_000), Duration::from_millis(1));
    assert_eq!(left(now.instant + 1_000_001), Duration::from_millis(2));
    assert_eq!(left(0), Duration::ZERO);
    assert_eq!(left(i64::MAX), DURATION);
    assert_eq!(left(StoreClock::expiry(now, DURATION)), DURATION);
}

#[test]
fn another_boot_ends_a_lease_and_a_strange_clock_never_does() {
    let (kernel, now) = clock(BootId::Kernel(Uuid::new_v4()));
    let far = now.instant + 1_000_000_000;
    assert_eq!(
        kernel.left(BootId::Kernel(Uuid::new_v4()), far, DURATION, now),
        Duration::ZERO
    );
    assert_eq!(
        kernel.left(BootId::Private(Uuid::new_v4()), 0, DURATION, now),
        DURATION
    );
}

#[test]
fn expiry_saturates() {
    let now = Now {
        instant: i64::MAX - 1,
        unix_micros: 1,
    };
    assert_eq!(StoreClock::expiry(now, DURATION), i64::MAX);
}

#[cfg(target_os = "linux")]
#[test]
fn a_time_namespace_is_taken_out_of_the_clock() {
    let text = "monotonic           7         0\nboottime       -86400         5\n";
    assert_eq!(system::offset(text), Some(-86_400_000_000_000 + 5));
    assert_eq!(system::offset("monotonic 0 0\n"), None);
    assert_eq!(system::offset("boottime x 0\n"), None);
}

#[cfg(target_os = "linux")]
#[test]
fn system_clock_counts_from_boot() {
    let clock = StoreClock::system().unwrap();
    let Source::Boottime { offset } = clock.source else {
        panic!("{clock:?}")
    };
    let uptime: f64 = std::fs::read_to_string("/proc/uptime")
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    // The kernel shifts /proc/uptime as well.
    let counted =
        Duration::from_nanos(u64::try_from(clock.now().instant + offset).unwrap()).as_secs_f64();
    assert!((counted - uptime).abs() < 5.0, "{counted} against {uptime}");
}
