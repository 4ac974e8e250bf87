//! The clocks of the operating system.

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) use self::elsewhere::{contender, holder};
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) use self::linux::{contender, holder};

#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux {
    use rustix::time::{ClockId, clock_gettime};

    use crate::time::instant::{ContenderInstant, HolderInstant};

    /// The order matters. The three readings happen at t0 <= t1 <= t2, so the result lies between the true time at t0
    /// and at t2: a check never gets less than the time when it began, and a `sent` is never later than the moment
    /// the call returns. (Reading BOOTTIME before MONOTONIC could hide a suspend.)
    pub(in crate::time) fn holder() -> HolderInstant {
        let raw = read(ClockId::MonotonicRaw);
        let monotonic = read(ClockId::Monotonic);
        let boot = read(ClockId::Boottime);
        HolderInstant(raw.saturating_add(boot.saturating_sub(monotonic)))
    }

    pub(in crate::time) fn contender() -> ContenderInstant {
        ContenderInstant {
            boot: read(ClockId::Boottime),
            raw: read(ClockId::MonotonicRaw),
        }
    }

    fn read(clock: ClockId) -> i64 {
        let time = clock_gettime(clock);
        time.tv_sec
            .saturating_mul(1_000_000_000)
            .saturating_add(time.tv_nsec)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod elsewhere {
    use std::{sync::OnceLock, time::Instant};

    use crate::time::instant::{ContenderInstant, HolderInstant, nanos};

    pub(in crate::time) fn holder() -> HolderInstant {
        static ORIGIN: OnceLock<Instant> = OnceLock::new();
        #[expect(clippy::disallowed_methods, reason = "this is the clock")]
        let now = Instant::now();
        HolderInstant(nanos(now.duration_since(*ORIGIN.get_or_init(|| now))))
    }

    pub(in crate::time) fn contender() -> ContenderInstant {
        let HolderInstant(now) = holder();
        ContenderInstant {
            boot: now,
            raw: now,
        }
    }
}
