//! Tasks that are enqueued by the clock (K10).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::{Enqueued, NewTask};

/// A task that workers enqueue at the instants of a schedule, each once, however many workers there are.
///
/// ```
/// use std::time::Duration;
///
/// use dlock_tasks::{NewTask, Periodic, Schedule};
/// # fn main() -> Result<(), dlock_tasks::BadSchedule> {
/// let clean_up = NewTask::builder().kind("clean up").key("clean up").build();
/// let hourly = Periodic::new("clean up", Schedule::every(Duration::from_secs(3600))?, clean_up);
/// # Ok(()) }
/// ```
///
/// The store keeps the newest instant of each name that was served, and enqueues the task in the transaction that
/// moves it on. So no instant is served twice, by whatever workers, and none needs a leader. An instant has come when
/// the *store's* clock says so.
///
/// - Instants that nobody served, since no worker ran, are made up for by one task: that of the newest.
/// - A name that the store does not know begins with the instant before; its first task comes with the next one.
/// - A run that takes longer than the period does not keep the next one back. Give the task a
///   [key](NewTask::key) if it shall: an instant that comes while a task of this key has not ended adds none.
/// - A name that no worker has any more stays in the store, and does nothing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Periodic {
    /// What the store knows it by: 1 to 128 bytes.
    pub name: String,
    /// When.
    pub schedule: Schedule,
    /// What. Its [`when`](NewTask::when) counts from the instant at which it is enqueued.
    pub task: NewTask,
}

impl Periodic {
    /// A task and its schedule, under a name that is its own in the store.
    #[must_use]
    pub fn new(name: impl Into<String>, schedule: Schedule, task: NewTask) -> Self {
        Self {
            name: name.into(),
            schedule,
            task,
        }
    }
}

/// What a store has made of an instant of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Served {
    /// Its task is in the queue, or one of its key is.
    Enqueued(Enqueued),
    /// It, or a later one, was served before.
    Before,
    /// The store has not known the schedule; the next instant is the first to have a task.
    Begun,
    /// By the store's clock it comes only after this time. Nothing was kept.
    NotYet(Duration),
}

/// The instants at which a periodic task is enqueued. All workers find the same ones.
#[derive(Clone, Debug)]
pub struct Schedule(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Every(Duration),
    #[cfg(feature = "cron")]
    Cron(cron::Pattern),
}

/// What is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadSchedule(String);

impl Schedule {
    /// The longest period.
    const LONGEST: Duration = Duration::from_secs(366 * 86_400);

    /// Every so often: at the multiples of the period since 1970, so that all processes mean the same
    /// instants.
    ///
    /// # Errors
    /// [`BadSchedule`] unless it is a second to 366 days.
    pub fn every(period: Duration) -> Result<Self, BadSchedule> {
        if (Duration::from_secs(1)..=Self::LONGEST).contains(&period) {
            return Ok(Self(Kind::Every(period)));
        }
        Err(BadSchedule(format!(
            "a period of {period:?} is not possible: 1 s to 366 days are"
        )))
    }

    /// By a cron pattern of five fields, or six with seconds first, as [`croner`](https://docs.rs/croner) reads
    /// them, and a time zone of the IANA database: `cron("30 4 * * MON-FRI", "Europe/Paris")`, or `"UTC"`.
    ///
    /// Where clocks are set forward, what falls into the hour that is left out comes at its end. Where they are set back, a
    /// pattern that names hours counts once, one with `*` for hours each time.
    ///
    /// # Errors
    /// [`BadSchedule`] if the pattern or the zone cannot be read, or the pattern has no instant to come.
    #[cfg(feature = "cron")]
    pub fn cron(pattern: &str, zone: &str) -> Result<Self, BadSchedule> {
        cron::Pattern::new(pattern, zone).map(|pattern| Self(Kind::Cron(pattern)))
    }

    /// The newest instant that is not after `now`.
    #[must_use]
    pub fn latest(&self, now: SystemTime) -> Option<SystemTime> {
        match &self.0 {
            Kind::Every(period) => multiple(*period, now, 0),
            #[cfg(feature = "cron")]
            Kind::Cron(pattern) => pattern.latest(now),
        }
    }

    /// The first instant after `now`.
    #[must_use]
    pub fn next(&self, now: SystemTime) -> Option<SystemTime> {
        match &self.0 {
            Kind::Every(period) => multiple(*period, now, 1),
            #[cfg(feature = "cron")]
            Kind::Cron(pattern) => pattern.next(now),
        }
    }
}

/// The multiple of a period that is so many after the newest.
fn multiple(period: Duration, now: SystemTime, after: u128) -> Option<SystemTime> {
    let since = now.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    let nanos = (since / period.as_nanos() + after) * period.as_nanos();
    let instant = Duration::from_nanos(u64::try_from(nanos).ok()?);
    UNIX_EPOCH.checked_add(instant)
}

#[cfg(feature = "cron")]
mod cron {
    use std::time::{Duration, SystemTime};

    use croner::Cron;
    use jiff::{Timestamp, Zoned, tz::TimeZone};

    use super::BadSchedule;

    const TWO_HOURS: Duration = Duration::from_secs(7200);

    #[derive(Clone, Debug)]
    pub(super) struct Pattern {
        cron: Box<Cron>,
        zone: TimeZone,
    }

    impl Pattern {
        pub(super) fn new(pattern: &str, zone: &str) -> Result<Self, BadSchedule> {
            let cron: Cron = pattern
                .parse()
                .map_err(|error| BadSchedule(format!("{pattern:?} is no cron pattern: {error}")))?;
            let zone = TimeZone::get(zone).map_err(|error| {
                BadSchedule(format!(
                    "there is no time zone {zone:?}: {error}; names are those of the IANA database, as Europe/Paris"
                ))
            })?;
            let cron = Box::new(cron);
            let this = Self { cron, zone };
            // One that cannot come, such as the 31st of February.
            if this.next(Timestamp::now().into()).is_none() {
                return Err(BadSchedule(format!(
                    "the pattern {pattern:?} has no instant to come"
                )));
            }
            Ok(this)
        }

        pub(super) fn latest(&self, now: SystemTime) -> Option<SystemTime> {
            let before = |instant| -> Option<SystemTime> {
                let local = self.local(instant)?;
                let found = self.cron.find_previous_occurrence(&local, true);
                found.ok().map(|found| found.timestamp().into())
            };
            // Looking back, croner takes the two hours of one name for each other, and looking forward it does not.
            let mut latest = before(now).filter(|found| *found <= now);
            if latest.is_none() {
                latest = before(now.checked_sub(TWO_HOURS)?);
            }
            let mut latest = latest?;
            while let Some(next) = self.next(latest).filter(|next| *next <= now) {
                latest = next;
            }
            Some(latest)
        }

        pub(super) fn next(&self, now: SystemTime) -> Option<SystemTime> {
            let found = self.cron.find_next_occurrence(&self.local(now)?, false);
            found.ok().map(|instant| instant.timestamp().into())
        }

        fn local(&self, now: SystemTime) -> Option<Zoned> {
            let now = Timestamp::try_from(now).ok()?;
            Some(now.to_zoned(self.zone.clone()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn period_counts_from_1970() {
        let schedule = Schedule::every(Duration::from_secs(60)).unwrap();
        assert_eq!(schedule.latest(at(119)), Some(at(60)));
        assert_eq!(schedule.latest(at(120)), Some(at(120)));
        assert_eq!(schedule.next(at(119)), Some(at(120)));
        assert_eq!(schedule.next(at(120)), Some(at(180)));
        assert_eq!(schedule.latest(at(0) - Duration::from_secs(1)), None);
    }

    #[test]
    fn period_that_cannot_be_kept_is_refused() {
        for period in [
            Duration::ZERO,
            Duration::from_millis(999),
            Schedule::LONGEST * 2,
        ] {
            let error = Schedule::every(period).unwrap_err().to_string();
            assert!(error.contains("1 s to 366 days are"), "{error}");
        }
    }

    #[cfg(feature = "cron")]
    mod cron {
        use jiff::Timestamp;

        use super::super::*;

        fn time(text: &str) -> SystemTime {
            text.parse::<Timestamp>().unwrap().into()
        }

        /// The instants of a pattern from one instant to another.
        fn instants(pattern: &str, from: &str, to: &str) -> Vec<String> {
            let schedule = Schedule::cron(pattern, "Europe/Berlin").unwrap();
            let (mut now, end) = (time(from), time(to));
            let mut all = Vec::new();
            while let Some(next) = schedule.next(now).filter(|next| *next <= end) {
                assert_eq!(schedule.latest(next), Some(next), "{pattern}");
                let before = next - Duration::from_nanos(1);
                assert!(schedule.latest(before) < Some(next), "{pattern} {next:?}");
                all.push(Timestamp::try_from(next).unwrap().to_string());
                now = next;
            }
            all
        }

        #[test]
        fn pattern_is_of_its_zone() {
            let found = instants("30 4 * * *", "2026-07-01T00:00:00Z", "2026-07-02T23:00:00Z");
            assert_eq!(found, ["2026-07-01T02:30:00Z", "2026-07-02T02:30:00Z"]);
        }

        /// 2026-03-29, 2:00 was followed by 3:00.
        #[test]
        fn what_falls_into_the_hour_left_out_comes_once() {
            let found = instants("30 2 * * *", "2026-03-28T00:00:00Z", "2026-03-30T23:00:00Z");
            assert_eq!(found.len(), 3, "{found:?}");
        }

        /// 2026-10-25, 3:00 was followed by 2:00.
        #[test]
        fn named_hour_that_comes_twice_counts_once() {
            let found = instants("30 2 * * *", "2026-10-24T00:00:00Z", "2026-10-26T23:00:00Z");
            assert_eq!(found.len(), 3, "{found:?}");
        }

        #[test]
        fn every_hour_counts_each_hour() {
            let found = instants("0 * * * *", "2026-10-24T22:00:00Z", "2026-10-25T22:00:00Z");
            assert_eq!(found.len(), 24, "{found:?}");
        }

        #[test]
        fn what_cannot_be_read_is_said() {
            let error = |pattern, zone| Schedule::cron(pattern, zone).unwrap_err().to_string();
            assert!(error("61 * * * *", "UTC").starts_with("\"61 * * * *\" is no cron pattern: "));
            assert!(error("* * * * *", "Moon").starts_with("there is no time zone \"Moon\": "));
            assert_eq!(
                error("0 0 31 2 *", "UTC"),
                "the pattern \"0 0 31 2 *\" has no instant to come"
            );
        }
    }
}
