//! A built lock has no invalid setting: every limit of the builder, on both of its sides, and the text of the
//! refusal.

use std::time::Duration;

use async_trait::async_trait;
use dlock_core::{
    BuildError, DLock, Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Discipline, Release, ReleaseOutcome, Renew,
        RenewOutcome,
    },
};

/// Building does not call the store.
struct Unasked;

#[async_trait]
impl Provider for Unasked {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new("unasked", Discipline::Observer)
    }

    async fn acquire(&self, _: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        unreachable!("nothing is sent")
    }

    async fn renew(&self, _: &Renew) -> Result<RenewOutcome, ProviderError> {
        unreachable!("nothing is sent")
    }

    async fn release(&self, _: &Release) -> Result<ReleaseOutcome, ProviderError> {
        unreachable!("nothing is sent")
    }

    async fn read(&self, _: &Name) -> Result<Option<Record>, ProviderError> {
        unreachable!("nothing is sent")
    }
}

/// The same, which closes names (B4).
struct Closes;

#[async_trait]
impl Provider for Closes {
    fn capabilities(&self) -> Capabilities {
        Unasked.capabilities().closing(true)
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        Unasked.acquire(request).await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        Unasked.renew(request).await
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        Unasked.release(request).await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        Unasked.read(name).await
    }
}

/// Builds a lock with these settings.
macro_rules! built {
    ($($setting:ident = $value:expr),*) => {
        DLock::builder().name("door").provider(Unasked)$(.$setting($value))*.build()
    };
}

/// Builds a lock that is not possible; the error must name the limit.
macro_rules! refused {
    ($error:pat, $says:literal, $($setting:ident = $value:expr),*) => {
        let refused = built!($($setting = $value),*).unwrap_err();
        assert!(matches!(refused, $error), "{refused:?}");
        assert!(refused.to_string().contains($says), "{refused}");
    };
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

const DAY: Duration = Duration::from_hours(24);
const NANOSECOND: Duration = Duration::from_nanos(1);

#[test]
fn duration_is_whole_milliseconds_from_100_to_a_day() {
    for possible in [ms(100), ms(101), ms(15_000), DAY] {
        assert_eq!(built!(duration = possible).unwrap().duration(), possible);
    }
    for impossible in [
        Duration::ZERO,
        NANOSECOND,
        ms(99),
        ms(100) + NANOSECOND,
        ms(100) + Duration::from_micros(999),
        DAY + ms(1),
        Duration::MAX,
    ] {
        refused!(
            BuildError::Duration { .. },
            "100 ms to 24 h",
            duration = impossible
        );
    }
    assert_eq!(built!().unwrap().duration(), ms(15_000));
}

#[test]
fn at_least_takes_a_provider_that_closes_names() {
    for possible in [ms(100), ms(600_000), DAY] {
        refused!(BuildError::NoClosing { .. }, "unasked", at_least = possible);
        let lock = DLock::builder().name("door").provider(Closes);
        lock.at_least(possible).build().unwrap();
    }
    for impossible in [Duration::ZERO, ms(100) - NANOSECOND, DAY + NANOSECOND] {
        refused!(
            BuildError::AtLeast { .. },
            "100 ms to 24 h",
            at_least = impossible
        );
    }
}

#[test]
fn margin_is_a_fraction_and_at_least_two_milliseconds() {
    for possible in [0.01, 0.2, 0.5] {
        built!(duration = ms(1_000), margin = possible).unwrap();
    }
    built!(duration = ms(100), margin = 0.02).unwrap();
    for impossible in [0.0, -0.2, 0.009, 0.501, 1.0, 20.0, f64::NAN, f64::INFINITY] {
        refused!(
            BuildError::Margin { .. },
            "0.01 to 0.5",
            margin = impossible
        );
    }
    refused!(
        BuildError::Margin { .. },
        "at least 2 ms",
        duration = ms(100),
        margin = 0.019
    );
}

#[test]
fn renewals_fit_the_lease() {
    for possible in [ms(500), ms(3_333), ms(4_000)] {
        built!(duration = ms(10_000), renew_every = possible).unwrap();
    }
    for impossible in [
        Duration::ZERO,
        ms(500) - NANOSECOND,
        ms(4_000) + NANOSECOND,
        Duration::MAX,
    ] {
        refused!(
            BuildError::RenewEvery { .. },
            "D/20 to 0.4 D",
            duration = ms(10_000),
            renew_every = impossible
        );
    }
}

#[test]
fn waiting_has_limits_too() {
    for possible in [ms(1), ms(3_600_000)] {
        built!(poll_every = possible).unwrap();
        built!(give_up_after = possible).unwrap();
    }
    for impossible in [
        Duration::ZERO,
        ms(1) - NANOSECOND,
        ms(3_600_001),
        Duration::MAX,
    ] {
        refused!(
            BuildError::PollEvery { .. },
            "1 ms to 1 h",
            poll_every = impossible
        );
    }
    for impossible in [
        Duration::ZERO,
        ms(1) - NANOSECOND,
        DAY + NANOSECOND,
        Duration::MAX,
    ] {
        refused!(
            BuildError::GiveUpAfter { .. },
            "1 ms to 24 h",
            give_up_after = impossible
        );
    }
}

#[test]
fn longest_hold_is_a_lease_at_least() {
    for possible in [ms(15_000), DAY, Duration::MAX] {
        built!(max_hold = possible).unwrap();
    }
    for impossible in [Duration::ZERO, ms(15_000) - NANOSECOND] {
        refused!(
            BuildError::MaxHold { .. },
            "shorter than the lease",
            max_hold = impossible
        );
    }
}

#[test]
fn data_fits_beside_the_lock() {
    for possible in [0, 1, 4096] {
        built!(data = vec![0; possible]).unwrap();
    }
    refused!(
        BuildError::Data { bytes: 4097 },
        "at most 4096",
        data = vec![0; 4097]
    );
}

#[test]
fn owner_is_a_label() {
    for possible in ["", "worker-7", "gr\u{fc}n, 'quoted'", &"x".repeat(1024)] {
        assert_eq!(built!(owner = possible).unwrap().owner(), possible);
    }
    for impossible in ["a\0b", &"x".repeat(1025)] {
        refused!(
            BuildError::Owner { .. },
            "at most 1024 bytes",
            owner = impossible
        );
    }
    let default = built!().unwrap();
    let pid = std::process::id().to_string();
    let (host, number) = default.owner().rsplit_once(':').unwrap();
    assert!(!host.is_empty());
    assert_eq!(number, pid);
}

#[test]
fn name_is_checked_wherever_it_is_given() {
    let lock = built!().unwrap();
    for impossible in ["", "a\0b", &"x".repeat(1025)] {
        let built = DLock::builder().name(impossible).provider(Unasked).build();
        assert!(matches!(built, Err(BuildError::Name { .. })), "{built:?}");
        assert!(matches!(
            lock.named(impossible),
            Err(BuildError::Name { .. })
        ));
    }
    assert_eq!(lock.named("gate").unwrap().name().as_str(), "gate");
}
