//! How near each lease came to its end, told by the frontend itself.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use dlock_core::{
    Name,
    testing::{Event, Recorder},
};

/// Notes each lease's deadline, and what was left of it when a renewal came in. As small as can be,
/// for the sake of what is measured: the number of a lease stands in its name.
pub(super) struct Margins {
    deadlines: Vec<AtomicU64>,
    counting: AtomicBool,
    renewals: AtomicU64,
    least: AtomicU64,
}

impl Margins {
    pub(super) fn new(leases: usize) -> Self {
        Self {
            // Not zero: the pages are there before any memory is counted.
            deadlines: (0..leases).map(|_| AtomicU64::new(1)).collect(),
            counting: AtomicBool::new(false),
            renewals: AtomicU64::new(0),
            least: AtomicU64::new(u64::MAX),
        }
    }

    pub(super) fn name(number: usize) -> String {
        format!("scale/{number}")
    }

    /// What comes from now on counts.
    pub(super) fn start(&self) {
        self.counting.store(true, Ordering::Relaxed);
    }

    /// How many renewals came, and the least that was left.
    pub(super) fn stop(&self) -> (u64, Option<Duration>) {
        self.counting.store(false, Ordering::Relaxed);
        let renewals = self.renewals.load(Ordering::Relaxed);
        let least = Duration::from_nanos(self.least.load(Ordering::Relaxed));
        (renewals, (renewals > 0).then_some(least))
    }

    fn deadline(&self, name: &Name) -> Option<&AtomicU64> {
        let (_, number) = name.as_str().rsplit_once('/')?;
        self.deadlines.get(number.parse::<usize>().ok()?)
    }
}

impl Recorder for Margins {
    fn record(&self, name: &Name, now: Duration, event: Event) {
        let (believed, renewed) = match event {
            Event::Granted(.., believed) => (believed, false),
            Event::Renewed { believed, .. } => (believed, true),
            _ => return,
        };
        let Some(deadline) = self.deadline(name) else {
            return;
        };
        let before = deadline.swap(nanos(believed.valid_until), Ordering::Relaxed);
        if renewed && self.counting.load(Ordering::Relaxed) {
            self.renewals.fetch_add(1, Ordering::Relaxed);
            let left = before.saturating_sub(nanos(now));
            self.least.fetch_min(left, Ordering::Relaxed);
        }
    }
}

/// 584 years fit.
fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
