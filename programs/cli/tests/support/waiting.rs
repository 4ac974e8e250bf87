//! Waiting for conditions, and measuring how long it took.

use std::time::{Duration, Instant};

/// A stopwatch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "a test measures from outside")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// Longer than any machine takes.
const LIMIT: Duration = Duration::from_secs(60);

/// Waits for a condition.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let watch = Stopwatch::start();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(watch.elapsed() < LIMIT, "after {LIMIT:?} still no {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
