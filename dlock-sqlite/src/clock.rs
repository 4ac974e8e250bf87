//! The store's clock, which decides that a lease ended, and the wall time by which tokens grow.
//! Nothing else in this crate reads a clock.

#[cfg(test)]
mod tests;

use std::{
    io,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::boot_id::{BootId, Relation};

/// The clock of one host, the same in every process of it.
///
/// On Linux `CLOCK_BOOTTIME`: it counts suspends, and it cannot be set. Elsewhere the wall clock,
/// whose forward step can end a lease early.
#[derive(Clone, Debug)]
pub(crate) struct StoreClock {
    boot: BootId,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    /// `offset`: by how much this process's time namespace shifts the machine's clock, nanoseconds.
    #[cfg(target_os = "linux")]
    Boottime { offset: i64 },
    #[cfg(not(target_os = "linux"))]
    Wall,
    #[cfg(test)]
    Manual(std::sync::Arc<std::sync::Mutex<Now>>),
}

/// One reading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    /// Nanoseconds on the clock of the expiries.
    pub(crate) instant: i64,
    /// Unix time in microseconds: for tokens and `since`, never for a verdict.
    pub(crate) unix_micros: u64,
}

impl StoreClock {
    /// The clock of this machine.
    ///
    /// # Errors
    /// When the system does not reveal its boot id. There is no fallback to another clock: two
    /// processes with different clocks would take each other for dead.
    pub(crate) fn system() -> io::Result<Self> {
        system::clock()
    }

    /// The boot to which an expiry on this clock belongs.
    pub(crate) const fn boot(&self) -> BootId {
        self.boot
    }

    /// The time. Call this after the wait for a lock, not before.
    pub(crate) fn now(&self) -> Now {
        match &self.source {
            #[cfg(target_os = "linux")]
            Source::Boottime { offset } => Now {
                instant: system::boottime().saturating_sub(*offset),
                unix_micros: unix_micros(wall()),
            },
            #[cfg(not(target_os = "linux"))]
            Source::Wall => {
                let wall = wall();
                Now {
                    instant: nanos(wall),
                    unix_micros: unix_micros(wall),
                }
            }
            #[cfg(test)]
            Source::Manual(now) => *now.lock().unwrap(),
        }
    }

    /// When a lease of `duration` that starts now ends.
    pub(crate) fn expiry(now: Now, duration: Duration) -> i64 {
        now.instant.saturating_add(nanos(duration))
    }

    /// The remainder of a lease that ends at `expiry` on the clock of `boot`, rounded up to the
    /// millisecond, so that zero means expired and nothing else does. It is never more than
    /// `duration`, which is also the answer if nothing can be known (takeover then needs an
    /// observation, A6).
    pub(crate) fn left(&self, boot: BootId, expiry: i64, duration: Duration, now: Now) -> Duration {
        match self.boot.relation(boot) {
            Relation::Same => {
                let nanos = u64::try_from(expiry.saturating_sub(now.instant)).unwrap_or(0);
                Duration::from_millis(nanos.div_ceil(1_000_000)).min(duration)
            }
            Relation::Over => Duration::ZERO,
            Relation::Strange => duration,
        }
    }
}

/// Since 1970, or nothing before it.
fn wall() -> Duration {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the clock; tokens and `since` are wall time (T1)"
    )]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn unix_micros(wall: Duration) -> u64 {
    u64::try_from(wall.as_micros()).unwrap_or(u64::MAX)
}

fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(target_os = "linux")]
mod system {
    use std::{fs, io, os::unix::fs::MetadataExt};

    use rustix::time::{ClockId, clock_gettime};
    use uuid::Uuid;

    use super::{BootId, Source, StoreClock};

    const RANDOM: &str = "/proc/sys/kernel/random";
    const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
    const TIME_NAMESPACE: &str = "/proc/self/timens_offsets";

    pub(super) fn clock() -> io::Result<StoreClock> {
        let id = Uuid::try_parse(fs::read_to_string(BOOT_ID)?.trim()).map_err(io::Error::other)?;
        // A file mounted over the kernel's lies on another device than its neighbours.
        let masked = fs::metadata(BOOT_ID)?.dev() != fs::metadata(RANDOM)?.dev();
        let boot = if masked {
            BootId::Private(id)
        } else {
            BootId::Kernel(id)
        };
        let offset = match fs::read_to_string(TIME_NAMESPACE) {
            Ok(text) => offset(&text)
                .ok_or_else(|| io::Error::other(format!("{TIME_NAMESPACE} is not understood")))?,
            // A kernel without time namespaces shifts nothing.
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        // These offsets are those of the children's namespace.
        let [own, childrens] = ["time", "time_for_children"]
            .map(|namespace| fs::read_link(format!("/proc/self/ns/{namespace}")).ok());
        if own != childrens {
            return Err(io::Error::other(
                "this process is not in the time namespace of its children, and the system tells only the offsets of that one",
            ));
        }
        Ok(StoreClock {
            boot,
            source: Source::Boottime { offset },
        })
    }

    pub(super) fn boottime() -> i64 {
        let time = clock_gettime(ClockId::Boottime);
        time.tv_sec
            .saturating_mul(1_000_000_000)
            .saturating_add(time.tv_nsec)
    }

    /// The line `boottime SECONDS NANOSECONDS` of the time namespace, in nanoseconds.
    pub(super) fn offset(text: &str) -> Option<i64> {
        text.lines().find_map(|line| {
            let mut fields = line.split_whitespace();
            if fields.next()? != "boottime" {
                return None;
            }
            let seconds: i64 = fields.next()?.parse().ok()?;
            let nanos: i64 = fields.next()?.parse().ok()?;
            seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;

    use super::{BootId, Source, StoreClock};

    pub(super) fn clock() -> io::Result<StoreClock> {
        Ok(StoreClock {
            boot: BootId::Wall,
            source: Source::Wall,
        })
    }
}
