//! Waiting for conditions, and measuring how long it took.

use std::time::{Duration, Instant};

/// Measures.
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

/// Waits for a condition, at most a minute.
#[track_caller]
pub(crate) fn until<T>(what: &str, condition: impl FnMut() -> Option<T>) -> T {
    within(Duration::from_secs(60), what, condition)
}

/// Waits for a condition.
#[track_caller]
pub(crate) fn within<T>(
    limit: Duration,
    what: &str,
    mut condition: impl FnMut() -> Option<T>,
) -> T {
    let watch = Stopwatch::start();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(
            watch.elapsed() < limit,
            "waited {limit:?} in vain for {what}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}
