//! Cron patterns in a time zone, with the rules of Vixie cron for clocks that are set forward or back.
//!
//! A zone is a sequence of spans, each with one offset from UTC. croner searches within a span, by its offset alone;
//! the rules apply where two spans meet.

use std::time::SystemTime;

use croner::Cron;
use jiff::{
    SignedDuration, Timestamp, Zoned,
    tz::{Offset, TimeZone},
};

use super::BadSchedule;

#[derive(Clone, Debug)]
pub(super) struct Pattern {
    cron: Box<Cron>,
    zone: TimeZone,
    /// The pattern names times of the day, each of which comes once. Other patterns follow the clock on the wall.
    named: bool,
}

/// A time span with one offset from UTC.
struct Span {
    /// `None`: without a beginning.
    begin: Option<Timestamp>,
    offset: Offset,
    /// How far clocks were set forward at its beginning.
    forward: SignedDuration,
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
        let named = names_times(pattern);
        let this = Self { cron, zone, named };
        // The pattern never comes, such as the 31st of February.
        if this.next(Timestamp::now().into()).is_none() {
            return Err(BadSchedule(format!(
                "the pattern {pattern:?} has no instant to come"
            )));
        }
        Ok(this)
    }

    pub(super) fn latest(&self, now: SystemTime) -> Option<SystemTime> {
        let mut until = whole(now)?;
        let mut inclusive = true;
        let mut span = self.span(until)?;
        loop {
            let found = self
                .cron
                .find_previous_occurrence(&span.local(until), inclusive);
            let found = found.ok()?.timestamp();
            let Some(begin) = span.begin else {
                return Some(found.into());
            };
            if found >= self.first(&span, begin)? {
                return Some(found.into());
            }
            if self.is_left_out(&span, begin)? {
                return Some(begin.into());
            }
            (until, inclusive) = (begin, false);
            span = self.span(moment_before(begin)?)?;
        }
    }

    pub(super) fn next(&self, now: SystemTime) -> Option<SystemTime> {
        let mut from = whole(now)?;
        let mut inclusive = false;
        let mut span = self.span(from)?;
        loop {
            if let Some(begin) = span.begin {
                let first = self.first(&span, begin)?;
                if from < first {
                    (from, inclusive) = (first, true);
                }
            }
            let found = self.cron.find_next_occurrence(&span.local(from), inclusive);
            let found = found.ok()?.timestamp();
            let mut later = self.zone.following(span.begin.unwrap_or(from));
            let Some(end) = later.next().map(|change| change.timestamp()) else {
                return Some(found.into());
            };
            if found < end {
                return Some(found.into());
            }
            span = self.span(end)?;
            if self.is_left_out(&span, end)? {
                return Some(end.into());
            }
            (from, inclusive) = (end, true);
        }
    }

    fn span(&self, at: Timestamp) -> Option<Span> {
        let offset = self.zone.to_offset(at);
        let after = at.checked_add(SignedDuration::from_nanos(1)).ok()?;
        let begin = self.zone.preceding(after).next();
        let begin = begin.map(|change| change.timestamp());
        let forward = match begin {
            Some(begin) => {
                let before = self.zone.to_offset(moment_before(begin)?);
                SignedDuration::from_secs((offset.seconds() - before.seconds()).into())
            }
            None => SignedDuration::ZERO,
        };
        Some(Span {
            begin,
            offset,
            forward,
        })
    }

    /// The instant from which the times of a span count: where clocks were set back, named times have already come.
    fn first(&self, span: &Span, begin: Timestamp) -> Option<Timestamp> {
        if self.named && span.forward.is_negative() {
            return begin.checked_sub(span.forward).ok();
        }
        Some(begin)
    }

    /// Whether a named time was skipped when clocks were set forward at the beginning of this span.
    fn is_left_out(&self, span: &Span, begin: Timestamp) -> Option<bool> {
        if !self.named || !span.forward.is_positive() {
            return Some(false);
        }
        let before = self.zone.to_offset(moment_before(begin)?);
        let local = begin.to_zoned(TimeZone::fixed(before));
        let found = self.cron.find_next_occurrence(&local, true).ok()?;
        Some(found.timestamp() < begin.checked_add(span.forward).ok()?)
    }
}

impl Span {
    fn local(&self, at: Timestamp) -> Zoned {
        at.to_zoned(TimeZone::fixed(self.offset))
    }
}

/// Whether none of its hours, minutes and seconds begins with `*`.
fn names_times(pattern: &str) -> bool {
    let fields: Vec<_> = pattern.split_whitespace().collect();
    if let [nickname] = *fields {
        return !nickname.eq_ignore_ascii_case("@hourly");
    }
    let seconds = usize::from(fields.len() > 5);
    let mut times = fields.iter().take(seconds + 2);
    times.all(|field| !field.starts_with(['*', '?']))
}

/// Patterns have no fractions of a second.
fn whole(at: SystemTime) -> Option<Timestamp> {
    let at = Timestamp::try_from(at).ok()?;
    Timestamp::from_second(at.as_second()).ok()
}

fn moment_before(at: Timestamp) -> Option<Timestamp> {
    at.checked_sub(SignedDuration::from_nanos(1)).ok()
}
