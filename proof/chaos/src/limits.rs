//! Limits after which a run is abandoned. None of these decides whether a lock is
//! right: a machine would have to be busy for longer than one of them to change a verdict, and then
//! the verdict is that the run proves nothing.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// For a signal to take effect, or for a process to end after it was killed.
pub(crate) const SIGNAL: Duration = Duration::from_secs(20);
/// For another worker to take over from a stopped one, and to write.
pub(crate) const TAKEOVER: Duration = Duration::from_secs(30);
/// For every task to get every lock again after the last fault.
pub(crate) const RECOVERY: Duration = Duration::from_secs(90);
/// For a worker to release everything and end.
pub(crate) const GOODBYE: Duration = Duration::from_secs(60);
/// How late a task may run, and how late a store may answer, before a bound of time counts as broken. Where the machine
/// itself is late ([`crate::stalls`]), no bound is judged.
pub(crate) const SLACK: Duration = Duration::from_millis(300);

/// Waits until this holds; returns whether it did in time.
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
