//! A machine that simulations can bring to a standstill: which of its clocks advance meanwhile, and what stops.

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use dlock_core::{Clock, testing::SimulatedTime};
use tokio::{sync::Notify, time::Instant};

/// One machine of a simulation. It runs on Tokio's time, which tests can pause, at its own rate, and can be brought to
/// a standstill in the three ways that occur on real machines. During a standstill no timer of its
/// [`clock`](Self::clock) fires; anything that reaches its processes from outside (replies, hints, the caller's own
/// timers) has to wait for [`running`](Self::running).
#[derive(Clone)]
pub struct Machine(Arc<Inner>);

/// How a [`Machine`] comes to a standstill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "every clock either counts or does not"
)]
pub enum Standstill {
    /// Its processes are stopped (`SIGSTOP`, a long garbage collection). Every clock advances, and timers that became
    /// due fire as soon as it resumes.
    Stopped,
    /// It sleeps. The holder's clock advances; the contender's and the timers do not.
    Suspended,
    /// The virtual machine is paused: no clock advances. No lease can survive that; only its token protects.
    Frozen,
}

struct Inner {
    start: Instant,
    rate: f64,
    stops: Mutex<Stops>,
    resumed: Notify,
}

#[derive(Default)]
struct Stops {
    standing: Option<(Standstill, Instant)>,
    suspended: Duration,
    frozen: Duration,
    skipped: Duration,
}

impl Machine {
    /// A machine whose clocks run `rate` times as fast as Tokio's.
    ///
    /// # Panics
    /// If `rate` is not a finite number above zero.
    #[must_use]
    pub fn new(rate: f64) -> Self {
        assert!(
            rate.is_finite() && rate > 0.0,
            "a clock's rate is a finite number above zero"
        );
        Self(Arc::new(Inner {
            start: Instant::now(),
            rate,
            stops: Mutex::default(),
            resumed: Notify::new(),
        }))
    }

    /// Its clock, for a client.
    #[must_use]
    pub fn clock(&self) -> Clock {
        Clock::simulated(self.clone())
    }

    /// Brings the machine to a standstill, until [`resume`](Self::resume). Returns `false` and changes nothing if it
    /// stands still already.
    #[must_use = "only the caller that brought it to a stand should let it run again"]
    pub fn stand(&self, how: Standstill) -> bool {
        let mut stops = self.stops();
        let runs = stops.standing.is_none();
        if runs {
            stops.standing = Some((how, Instant::now()));
        }
        runs
    }

    /// Lets the machine run again.
    pub fn resume(&self) {
        let mut stops = self.stops();
        let (suspended, frozen) = (stops.suspended(), stops.frozen());
        stops.standing = None;
        (stops.suspended, stops.frozen) = (suspended, frozen);
        drop(stops);
        self.0.resumed.notify_waiters();
    }

    /// Advances the holder's clock by `by` from one instruction to the next, as if the machine had been suspended
    /// between the two: a task cannot see it coming.
    pub fn skip(&self, by: Duration) {
        self.stops().skipped += by;
    }

    /// Resolves when the machine runs.
    pub async fn running(&self) {
        loop {
            let mut resumed = std::pin::pin!(self.0.resumed.notified());
            resumed.as_mut().enable();
            if self.stops().standing.is_none() {
                return;
            }
            resumed.await;
        }
    }

    /// Sleeps for a span of this machine's time, and longer if it stands still, until it runs.
    pub async fn sleep(&self, span: Duration) {
        let until = self.ticked() + span.div_f64(self.0.rate);
        loop {
            self.running().await;
            let left = until.saturating_sub(self.ticked());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }

    /// The holder's clock.
    #[must_use]
    pub fn holder(&self) -> Duration {
        let stops = self.stops();
        let counted = self.0.start.elapsed().saturating_sub(stops.frozen());
        counted.mul_f64(self.0.rate) + stops.skipped
    }

    /// The contender's clock.
    #[must_use]
    pub fn contender(&self) -> Duration {
        self.ticked().mul_f64(self.0.rate)
    }

    /// Tokio's time during which timers ran.
    fn ticked(&self) -> Duration {
        let stops = self.stops();
        let stood = stops.frozen() + stops.suspended();
        self.0.start.elapsed().saturating_sub(stood)
    }

    fn stops(&self) -> MutexGuard<'_, Stops> {
        self.0.stops.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SimulatedTime for Machine {
    fn holder(&self) -> Duration {
        self.holder()
    }

    fn contender(&self) -> Duration {
        self.contender()
    }

    fn sleep(&self, span: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.sleep(span))
    }
}

impl Stops {
    fn suspended(&self) -> Duration {
        self.suspended + self.standing_as(Standstill::Suspended)
    }

    fn frozen(&self) -> Duration {
        self.frozen + self.standing_as(Standstill::Frozen)
    }

    fn standing_as(&self, wanted: Standstill) -> Duration {
        match self.standing {
            Some((how, since)) if how == wanted => since.elapsed(),
            _ => Duration::ZERO,
        }
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine")
            .field("rate", &self.0.rate)
            .field("standing", &self.stops().standing.map(|(how, _)| how))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_standstill_counts_what_it_should() {
        let second = Duration::from_secs(1);
        for (how, holder, contender, wakes) in [
            (Standstill::Stopped, 4, 4, 4),
            (Standstill::Suspended, 4, 1, 5),
            (Standstill::Frozen, 1, 1, 5),
        ] {
            let machine = Machine::new(1.0);
            let start = Instant::now();
            let sleeper = tokio::spawn({
                let machine = machine.clone();
                async move { machine.sleep(2 * second).await }
            });
            tokio::time::sleep(second).await;
            assert!(machine.stand(how));
            assert!(!machine.stand(Standstill::Stopped), "it stands already");
            tokio::time::sleep(3 * second).await;
            assert_eq!(machine.holder(), holder * second, "{how:?}");
            assert_eq!(machine.contender(), contender * second, "{how:?}");
            assert!(!sleeper.is_finished(), "{how:?}: a timer fired");
            machine.resume();
            sleeper.await.unwrap();
            assert_eq!(start.elapsed(), wakes * second, "{how:?}");
            assert_eq!(
                machine.holder(),
                holder * second + start.elapsed() - 4 * second
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn skipped_time_counts_for_the_holder_alone() {
        let machine = Machine::new(0.5);
        tokio::time::sleep(Duration::from_secs(2)).await;
        machine.skip(Duration::from_secs(3));
        assert_eq!(machine.holder(), Duration::from_secs(4));
        assert_eq!(machine.contender(), Duration::from_secs(1));
    }
}
