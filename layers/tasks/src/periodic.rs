//! Tasks that are enqueued by the clock.

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
/// The store keeps the newest served instant of each name, and enqueues the task in the transaction that advances it.
/// So no instant is served twice, by whatever workers, and no leader is needed. An instant has come when the *store's*
/// clock says so.
///
/// - One task, that of the newest instant, makes up for all instants that were not served because no worker ran.
/// - A name that the store does not know yet begins with the previous instant; its first task comes with the next one.
/// - A run that takes longer than the period does not hold back the next one. If it should, give the task a
///   [key](NewTask::key): an instant that comes while a task of this key has not ended adds none.
/// - A name that no worker uses any more stays in the store, and has no effect.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Periodic {
    /// The name in the store: 1 to 128 bytes.
    pub name: String,
    /// The instants.
    pub schedule: Schedule,
    /// The task. Its [`when`](NewTask::when) counts from the instant at which it is enqueued.
    pub task: NewTask,
}

impl Periodic {
    /// A task and its schedule, under a name that is unique in the store.
    #[must_use]
    pub fn new(name: impl Into<String>, schedule: Schedule, task: NewTask) -> Self {
        Self {
            name: name.into(),
            schedule,
            task,
        }
    }
}

/// A store's answer to an instant of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Served {
    /// Its task is in the queue, or one with its key is.
    Enqueued(Enqueued),
    /// This instant, or a later one, was served before.
    Before,
    /// The schedule was new to the store; its first task comes with the next instant.
    Begun,
    /// By the store's clock, it comes only after this time. Nothing was recorded.
    NotYet(Duration),
}

/// The instants at which a periodic task is enqueued. All workers compute the same ones.
#[derive(Clone, Debug)]
pub struct Schedule(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Every(Duration),
    #[cfg(feature = "cron")]
    Cron(cron::Pattern),
}

/// An invalid schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadSchedule(String);

impl Schedule {
    /// The longest period.
    const LONGEST: Duration = Duration::from_secs(366 * 86_400);

    /// One instant per period: at the multiples of the period since 1970, so that all processes compute the same
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

    /// The instants of a cron pattern of five fields, or six with seconds first, as [`croner`](https://docs.rs/croner)
    /// reads them, and a time zone of the IANA database: `cron("30 4 * * MON-FRI", "Europe/Paris")`, or `"UTC"`.
    ///
    /// When clocks are set forward or back, the rules of Vixie cron hold. A pattern whose hours or minutes begin with
    /// `*` follows the clock on the wall: it has no instants in a skipped hour, and has its instants in both passes of
    /// a repeated hour. The times of all other patterns come once: those of a skipped hour at its end, as one instant,
    /// and those of a repeated hour in its first pass.
    ///
    /// # Errors
    /// [`BadSchedule`] if the pattern or the zone cannot be read, or the pattern has no future instant.
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

/// The multiple of a period that is this many after the newest.
fn multiple(period: Duration, now: SystemTime, after: u128) -> Option<SystemTime> {
    let since = now.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    let nanos = (since / period.as_nanos() + after) * period.as_nanos();
    let instant = Duration::from_nanos(u64::try_from(nanos).ok()?);
    UNIX_EPOCH.checked_add(instant)
}

#[cfg(feature = "cron")]
mod cron;

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

        /// The instants of a pattern on a day in a zone, in UTC.
        fn instants(pattern: &str, zone: &str, day: &str) -> Vec<String> {
            let schedule = Schedule::cron(pattern, zone).unwrap();
            let day: jiff::civil::Date = day.parse().unwrap();
            let bound = |day: jiff::civil::Date| day.in_tz(zone).unwrap().timestamp();
            let (mut now, end) = (bound(day).into(), bound(day.tomorrow().unwrap()).into());
            now -= Duration::from_nanos(1);
            let mut all = Vec::new();
            while let Some(next) = schedule.next(now).filter(|next| *next < end) {
                for after in [Duration::ZERO, Duration::from_millis(1)] {
                    assert_eq!(schedule.latest(next + after), Some(next), "{pattern}");
                }
                let before = next - Duration::from_nanos(1);
                assert!(schedule.latest(before) < Some(next), "{pattern} {next:?}");
                let text = Timestamp::try_from(next).unwrap().to_string();
                all.push(
                    text["2026-01-01T".len()..]
                        .trim_end_matches(":00Z")
                        .to_owned(),
                );
                now = next;
            }
            all
        }

        /// Paris: 2:00 was followed by 3:00, and 3:00 by 2:00. Lord Howe: half an hour, forward in October. Apia: a day
        /// was skipped. Casablanca: set back for Ramadan.
        #[test]
        fn times_come_once_and_stars_follow_the_wall() {
            let (paris, howe) = ("Europe/Paris", "Australia/Lord_Howe");
            for (pattern, zone, day, expected) in [
                ("30 4 * * *", paris, "2027-07-01", &["02:30"][..]),
                ("30 2 * * *", paris, "2027-03-28", &["01:00"]),
                ("0,30 2 * * *", paris, "2027-03-28", &["01:00"]),
                ("0,30 2,3 * * *", paris, "2027-03-28", &["01:00", "01:30"]),
                ("*/30 2 * * *", paris, "2027-03-28", &[]),
                (
                    "0 */2 * * *",
                    paris,
                    "2027-03-28",
                    &[
                        "23:00", "02:00", "04:00", "06:00", "08:00", "10:00", "12:00", "14:00",
                        "16:00", "18:00", "20:00",
                    ],
                ),
                ("15 30 2 * * *", paris, "2027-03-28", &["01:00"]),
                ("30 2 * * *", paris, "2027-10-31", &["00:30"]),
                ("0,30 2 * * *", paris, "2027-10-31", &["00:00", "00:30"]),
                (
                    "0,30 1-3 * * *",
                    paris,
                    "2027-10-31",
                    &["23:00", "23:30", "00:00", "00:30", "02:00", "02:30"],
                ),
                (
                    "*/30 2 * * *",
                    paris,
                    "2027-10-31",
                    &["00:00", "00:30", "01:00", "01:30"],
                ),
                ("@daily", paris, "2027-10-31", &["22:00"]),
                ("0 0 * * *", "UTC", "2027-03-28", &["00:00"]),
                ("15 2 * * *", howe, "2026-10-04", &["15:30"]),
                ("*/15 2 * * *", howe, "2026-10-04", &["15:30", "15:45"]),
                ("45 1 * * *", howe, "2027-04-04", &["14:45"]),
                (
                    "*/15 1 * * *",
                    howe,
                    "2027-04-04",
                    &["14:00", "14:15", "14:30", "14:45", "15:00", "15:15"],
                ),
                (
                    "0 12 * * *",
                    "Pacific/Apia",
                    "2011-12-31",
                    &["10:00", "22:00"],
                ),
                ("30 2 * * *", "Africa/Casablanca", "2027-02-07", &["01:30"]),
            ] {
                assert_eq!(
                    instants(pattern, zone, day),
                    expected,
                    "{pattern} {zone} {day}"
                );
            }
            let hours = |day| instants("0 * * * *", paris, day).len();
            assert_eq!((hours("2027-03-28"), hours("2027-10-31")), (23, 25));
            let rare = Schedule::cron("30 2 29 2 *", paris)
                .unwrap()
                .next(time("2027-03-01T00:00:00Z"));
            assert_eq!(rare, Some(time("2028-02-29T01:30:00Z")));
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
