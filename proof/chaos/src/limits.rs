//! How long things may take before a run is called off. None of these decides whether a lock is
//! right: a machine would have to be busy for longer than any of them to change a verdict, and then
//! the verdict is that the run proves nothing.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// A signal to take effect, a process to end after it was killed.
pub(crate) const SIGNAL: Duration = Duration::from_secs(20);
/// Another worker to take over from one that stands still, and to write.
pub(crate) const TAKEOVER: Duration = Duration::from_secs(30);
/// Everybody to get every lock again after the last fault.
pub(crate) const RECOVERY: Duration = Duration::from_secs(90);
/// A worker to give everything back and end.
pub(crate) const GOODBYE: Duration = Duration::from_secs(60);
/// How late a task may run, and a store answer, before a bound of time is called broken: where the machine
/// itself is late ([`crate::stalls`]), none is judged.
pub(crate) const SLACK: Duration = Duration::from_millis(300);

/// Waits until something is so; whether it was in time.
pub(crate) async fn until(limit: Duration, mut so: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    while !so() {
        if Instant::now() >= deadline {
            return false;
        }
        sleep(Duration::from_millis(10)).await;
    }
    true
}
