//! Elapsed time for holders and contenders. Wall time plays no part here.
//!
//! A holder must never think that less time has passed than has; a contender never that more has.
//! So they read different clocks, and each reading is taken in the order that errs on its safe
//! side when the thread is suspended between two system calls.

mod origin;
mod system;

use std::{
    fmt, io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;

use super::instant::{ContenderInstant, HolderInstant, nanos};

/// Where a [`Client`](crate::Client) takes elapsed time from.
///
/// [`Clock::system`] on Linux: a holder counts `CLOCK_MONOTONIC_RAW` plus the time the machine was
/// suspended (`CLOCK_BOOTTIME` - `CLOCK_MONOTONIC`), so that neither a suspend nor time
/// synchronisation stretches a lease; a contender counts the lesser of `CLOCK_BOOTTIME` and
/// `CLOCK_MONOTONIC_RAW`. Elsewhere both use [`std::time::Instant`], which may not count suspends.
/// No guest clock counts the pause, snapshot or clone of a virtual machine: there only the fencing
/// token protects.
#[derive(Clone)]
pub struct Clock(Source);

#[derive(Clone)]
enum Source {
    System,
    Manual(Arc<Manual>),
    Tokio {
        start: tokio::time::Instant,
        rate: f64,
    },
    Simulated(Arc<dyn SimulatedTime>),
}

struct Manual {
    /// One of this process's manual clocks.
    number: u64,
    nanos: AtomicI64,
    moved: Notify,
}

/// The clocks of a machine that a simulation keeps: `dlock_testkit::machine` has one.
pub trait SimulatedTime: fmt::Debug + Send + Sync + 'static {
    /// The time that the holder's clock has counted since the machine was made.
    fn holder(&self) -> Duration;

    /// The time that a contender's clock has counted since then.
    fn contender(&self) -> Duration;

    /// Sleeps for a span of the machine's time.
    fn sleep(&self, span: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// Moves a clock made by [`Clock::manual`].
#[derive(Clone)]
pub struct ManualClock(Arc<Manual>);

impl Clock {
    /// The operating system's clocks, for every program outside of tests.
    #[must_use]
    pub const fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that moves only by hand, for tests.
    #[must_use]
    pub fn manual() -> (Self, ManualClock) {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let manual = Arc::new(Manual {
            number: MADE.fetch_add(1, Ordering::Relaxed),
            nanos: AtomicI64::new(0),
            moved: Notify::new(),
        });
        (
            Self(Source::Manual(Arc::clone(&manual))),
            ManualClock(manual),
        )
    }

    /// Tokio's clock, which tests can pause, running `rate` times as fast: 1.1 is a machine whose
    /// clock gains 10 %. For tests and simulations.
    ///
    /// # Panics
    /// If `rate` is not a finite number above zero.
    #[must_use]
    pub fn tokio(rate: f64) -> Self {
        assert!(
            rate.is_finite() && rate > 0.0,
            "a clock's rate is a finite number above zero"
        );
        Self(Source::Tokio {
            start: tokio::time::Instant::now(),
            rate,
        })
    }

    /// The clock of a machine that a simulation keeps.
    #[must_use]
    pub fn simulated(machine: impl SimulatedTime) -> Self {
        Self(Source::Simulated(Arc::new(machine)))
    }

    /// Now, for a holder: never behind true time when it is called, never ahead of it when the call returns.
    pub(crate) fn now(&self) -> HolderInstant {
        match &self.0 {
            Source::System => system::holder(),
            Source::Manual(manual) => HolderInstant(manual.nanos.load(Ordering::SeqCst)),
            Source::Tokio { start, rate } => HolderInstant(nanos(start.elapsed().mul_f64(*rate))),
            Source::Simulated(machine) => HolderInstant(nanos(machine.holder())),
        }
    }

    /// Now, as a holder counts it: the time since an arbitrary origin. For tests that compare what a
    /// [`Recorder`](crate::testing::Recorder) received with events of their own. The origin of [`Clock::system`] on
    /// Linux is the start of the machine, the same for all its processes; that of the others is their creation.
    #[must_use]
    pub fn reading(&self) -> Duration {
        self.now().reading()
    }

    /// Now, for a contender.
    pub(crate) fn contender_now(&self) -> ContenderInstant {
        match &self.0 {
            Source::System => system::contender(),
            Source::Simulated(machine) => {
                let now = nanos(machine.contender());
                ContenderInstant {
                    boot: now,
                    raw: now,
                }
            }
            Source::Manual(_) | Source::Tokio { .. } => {
                let HolderInstant(now) = self.now();
                ContenderInstant {
                    boot: now,
                    raw: now,
                }
            }
        }
    }

    /// The time that has certainly passed since an earlier instant.
    pub(crate) fn elapsed(&self, since: ContenderInstant) -> Duration {
        self.contender_now().since(since)
    }

    /// Whether a contender's clock has reached this instant. An instant that is still ahead was not taken on this
    /// clock.
    pub(crate) fn has_reached(&self, instant: ContenderInstant) -> bool {
        let ContenderInstant { boot, raw } = self.contender_now();
        boot >= instant.boot && raw >= instant.raw
    }

    /// The origin from which the readings of a [`ContenderInstant`] are counted. Instants of two processes can be
    /// compared if it is the same, and only then.
    pub(crate) fn origin(&self) -> io::Result<String> {
        match &self.0 {
            Source::System => origin::of_the_system(),
            Source::Manual(manual) => {
                Ok(format!("manual {} {}", std::process::id(), manual.number))
            }
            Source::Tokio { .. } | Source::Simulated(_) => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "this clock counts from its own making",
            )),
        }
    }

    /// Sleeps until the holder's clock has reached `deadline`, checking again at least every `step`: timers stop while
    /// a machine sleeps, and they follow another clock.
    pub(crate) async fn sleep_until(&self, deadline: HolderInstant, step: Duration) {
        loop {
            match &self.0 {
                Source::Manual(manual) => {
                    // Armed before the check, so that no movement is missed.
                    let mut moved = std::pin::pin!(manual.moved.notified());
                    moved.as_mut().enable();
                    if self.now() >= deadline {
                        return;
                    }
                    moved.await;
                }
                Source::System | Source::Tokio { .. } | Source::Simulated(_) => {
                    let left = deadline.since(self.now());
                    if left.is_zero() {
                        return;
                    }
                    self.pause(left.min(step)).await;
                }
            }
        }
    }

    /// Sleeps for a span on which no lease depends: of Tokio's time where the clock is moved by hand.
    pub(crate) async fn nap(&self, span: Duration) {
        match &self.0 {
            Source::Manual(_) => tokio::time::sleep(span).await,
            Source::System | Source::Tokio { .. } | Source::Simulated(_) => self.pause(span).await,
        }
    }

    /// Sleeps for a span of this clock, in one timer. The parts that only tests use are boxed, so that no call is
    /// larger for them.
    pub(crate) async fn pause(&self, span: Duration) {
        match &self.0 {
            Source::System => tokio::time::sleep(span).await,
            Source::Manual(_) => Box::pin(self.sleep_until(self.now() + span, span)).await,
            Source::Tokio { rate, .. } => tokio::time::sleep(span.div_f64(*rate)).await,
            Source::Simulated(machine) => machine.sleep(span).await,
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::System => f.write_str("Clock::system"),
            Source::Manual(_) => f.write_str("Clock::manual"),
            Source::Tokio { rate, .. } => write!(f, "Clock::tokio({rate})"),
            Source::Simulated(machine) => write!(f, "Clock::simulated({machine:?})"),
        }
    }
}

impl ManualClock {
    /// Moves the clock forward and wakes all tasks that sleep on it.
    pub fn advance(&self, by: Duration) {
        self.0.nanos.fetch_add(nanos(by), Ordering::SeqCst);
        self.0.moved.notify_waiters();
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ManualClock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_clock_runs_forward_for_both() {
        let clock = Clock::system();
        let (holder, contender) = (clock.now(), clock.contender_now());
        std::thread::sleep(Duration::from_millis(20));
        for passed in [clock.now().since(holder), clock.elapsed(contender)] {
            assert!(
                passed >= Duration::from_millis(19) && passed < Duration::from_hours(1),
                "{passed:?}"
            );
        }
    }

    #[test]
    fn reading_is_what_has_passed() {
        let (clock, hand) = Clock::manual();
        hand.advance(Duration::from_secs(5));
        assert_eq!(clock.reading(), Duration::from_secs(5));
    }

    #[tokio::test]
    async fn clock_says_which_one_it_is() {
        let (manual, _hand) = Clock::manual();
        for (clock, says) in [
            (Clock::system(), "Clock::system"),
            (manual, "Clock::manual"),
            (Clock::tokio(1.25), "Clock::tokio(1.25)"),
        ] {
            assert_eq!(format!("{clock:?}"), says);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn drifting_clock_wakes_at_its_own_time() {
        let clock = Clock::tokio(1.25);
        let start = tokio::time::Instant::now();
        let deadline = clock.now() + Duration::from_secs(10);
        clock.sleep_until(deadline, Duration::from_secs(1)).await;
        assert!(clock.now() >= deadline);
        let real = start.elapsed();
        assert!(
            real >= Duration::from_secs(8) && real < Duration::from_millis(8_020),
            "{real:?}"
        );
    }

    #[tokio::test]
    async fn manual_clock_wakes_its_sleepers() {
        let (clock, hand) = Clock::manual();
        let deadline = clock.now() + Duration::from_secs(60);
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move { clock.sleep_until(deadline, Duration::from_secs(6)).await }
        });
        for _ in 0..10 {
            tokio::task::yield_now().await;
            hand.advance(Duration::from_secs(6));
        }
        sleeper.await.unwrap();
    }
}
