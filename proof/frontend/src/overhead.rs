//! What the frontend adds to a store's own reply time: the driver's call, the provider's and the
//! frontend's beside each other, in turns, in one run.
//!
//! Ratios of one run count; the figures of two machines, or of two runs on a busy one, do not
//! compare.

use std::{fmt, time::Duration};

use dlock_core::{
    DLock, Error, Name, Provider, TryAcquire,
    provider::{Acquire, AcquireOutcome, Release},
};
use dlock_core::{ProviderError, provider::Renew};
use tokio::time::Instant;
use uuid::Uuid;

/// Longer than a run.
const LEASE: Duration = Duration::from_secs(3600);

/// The frontend may add this much, whatever the store takes.
const ALWAYS: Duration = Duration::from_micros(20);

/// Or this part of what the provider's call takes, if that is more.
const PART: f64 = 0.05;

/// Measures one provider, on a store where nobody else is at work.
#[derive(Clone, Debug)]
pub struct Overhead<P> {
    provider: P,
    turns: u64,
}

/// The medians of one kind of call. Its `Display` is a line under [`Medians::HEAD`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Medians {
    /// What was called.
    pub call: &'static str,
    /// The driver alone.
    pub driver: Duration,
    /// The provider.
    pub provider: Duration,
    /// The frontend on that provider.
    pub frontend: Duration,
}

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OverheadError {
    /// The provider failed.
    #[error("the provider failed while it was measured")]
    Provider(#[from] ProviderError),
    /// The frontend failed.
    #[error("the frontend failed while it was measured")]
    Frontend(#[from] Error),
    /// Somebody else uses the names that are measured.
    #[error("the lock {0:?} belongs to somebody: measure on an empty store")]
    Held(String),
}

impl<P: Provider + Clone> Overhead<P> {
    /// 4,000 turns on this provider.
    pub const fn new(provider: P) -> Self {
        Self {
            provider,
            turns: 4000,
        }
    }

    /// How many turns the medians are taken of.
    #[must_use]
    pub const fn turns(mut self, turns: u64) -> Self {
        self.turns = turns;
        self
    }

    /// Renews three terms in turns: one by `driver`, one by the provider, one by the frontend. The
    /// driver gets the request that a provider would get, of a term that is held.
    ///
    /// # Errors
    /// [`OverheadError`] if a call of the provider or the frontend did not succeed.
    pub async fn renewals(
        &self,
        mut driver: impl AsyncFnMut(&Renew),
    ) -> Result<Medians, OverheadError> {
        let raw = self.take("overhead: raw renewal").await?;
        let plain = self.take("overhead: renewal").await?;
        let mut lease = self.lock("overhead: renewed lease").acquire().await?;
        let mut times = Times::default();
        for n in 1..=self.turns {
            let request = Renew::new(raw.name.clone(), raw.new, n);
            timed(&mut times.driver, driver(&request)).await;
            let request = Renew::new(plain.name.clone(), plain.new, n);
            timed(&mut times.provider, self.provider.renew(&request)).await?;
            timed(&mut times.frontend, lease.renew()).await?;
        }
        Ok(times.medians("renew"))
    }

    /// Acquires a free lock in turns. What `driver` takes is released by the provider, so it must
    /// write the record that the provider would.
    ///
    /// # Errors
    /// [`OverheadError`] if a call of the provider or the frontend did not succeed.
    pub async fn acquires(
        &self,
        mut driver: impl AsyncFnMut(&Acquire),
    ) -> Result<Medians, OverheadError> {
        let lock = self.lock("overhead: acquired lease");
        let mut times = Times::default();
        for _ in 0..self.turns {
            let request = request("overhead: raw acquire");
            timed(&mut times.driver, driver(&request)).await;
            self.give_back(&request).await?;
            let request = self::request("overhead: acquire");
            timed(&mut times.provider, self.provider.acquire(&request)).await?;
            self.give_back(&request).await?;
            match timed(&mut times.frontend, lock.try_acquire()).await? {
                TryAcquire::Acquired(lease) => lease.release().await?,
                _ => return Err(OverheadError::Held(lock.name().to_string())),
            };
        }
        Ok(times.medians("acquire"))
    }

    async fn take(&self, name: &str) -> Result<Acquire, OverheadError> {
        let request = request(name);
        match self.provider.acquire(&request).await? {
            AcquireOutcome::Acquired(_) => Ok(request),
            _ => Err(OverheadError::Held(name.to_owned())),
        }
    }

    async fn give_back(&self, term: &Acquire) -> Result<(), OverheadError> {
        let release = Release::new(term.name.clone(), term.new, None);
        self.provider.release(&release).await?;
        Ok(())
    }

    #[expect(
        clippy::expect_used,
        reason = "a constant name of fewer than 1024 bytes and a duration below a day are valid"
    )]
    fn lock(&self, name: &str) -> DLock {
        DLock::builder()
            .name(name)
            .duration(LEASE)
            .provider(self.provider.clone())
            .build()
            .expect("the settings are valid")
    }
}

impl Medians {
    /// What stands above the lines, in microseconds.
    pub const HEAD: &'static str = "call          driver  provider  frontend      adds";

    /// What the frontend adds to the provider's call.
    #[must_use]
    pub fn added(&self) -> Duration {
        self.frontend.saturating_sub(self.provider)
    }

    /// Whether that is at most the larger of 20 microseconds and 5 %.
    #[must_use]
    pub fn within_bounds(&self) -> bool {
        self.added() <= self.provider.mul_f64(PART).max(ALWAYS)
    }
}

impl fmt::Display for Medians {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        write!(f, "{:<10}", self.call)?;
        for time in [self.driver, self.provider, self.frontend, self.added()] {
            write!(f, "{:>10.1}", micros(time))?;
        }
        Ok(())
    }
}

/// Prints the lines under their head, and ends the program if one is beyond its bound: for `main` of
/// a benchmark.
///
/// # Panics
/// If the frontend adds more than it may.
pub fn report(lines: &[Medians]) {
    println!("{}", Medians::HEAD);
    for line in lines {
        println!("{line}");
    }
    let beyond: Vec<_> = lines.iter().filter(|line| !line.within_bounds()).collect();
    assert!(
        beyond.is_empty(),
        "the frontend adds more than the larger of 20 us and 5 %: {beyond:?}"
    );
}

#[derive(Default)]
struct Times {
    driver: Vec<Duration>,
    provider: Vec<Duration>,
    frontend: Vec<Duration>,
}

impl Times {
    fn medians(self, call: &'static str) -> Medians {
        let Self {
            driver,
            provider,
            frontend,
        } = self;
        Medians {
            call,
            driver: median(driver),
            provider: median(provider),
            frontend: median(frontend),
        }
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

async fn timed<T>(times: &mut Vec<Duration>, call: impl Future<Output = T>) -> T {
    let began = Instant::now();
    let answer = call.await;
    times.push(began.elapsed());
    answer
}

#[expect(
    clippy::expect_used,
    reason = "a constant name of fewer than 1024 bytes without NUL is valid"
)]
fn request(name: &str) -> Acquire {
    let name = Name::new(name).expect("the name is valid");
    Acquire::new(name, Uuid::new_v4(), LEASE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dlock_testkit::memory::{MemoryProvider, MemoryStore};

    #[tokio::test]
    async fn both_kinds_of_call_are_measured() {
        let provider = MemoryProvider::new(&MemoryStore::store_clock());
        let overhead = Overhead::new(provider.clone()).turns(20);
        let renewals = overhead.renewals(async |request| {
            let answer = provider.renew(request).await;
            assert!(answer.is_ok(), "{answer:?}");
        });
        assert!(renewals.await.is_ok_and(|line| line.call == "renew"));
        let acquires = overhead.acquires(async |request| {
            let answer = provider.acquire(request).await;
            assert!(
                matches!(answer, Ok(AcquireOutcome::Acquired(_))),
                "{answer:?}"
            );
        });
        assert!(acquires.await.is_ok_and(|line| line.call == "acquire"));
    }

    #[test]
    fn the_larger_of_both_bounds_counts() {
        let line = |provider, frontend| Medians {
            call: "renew",
            driver: Duration::ZERO,
            provider: Duration::from_micros(provider),
            frontend: Duration::from_micros(frontend),
        };
        assert!(line(100, 120).within_bounds());
        assert!(!line(100, 121).within_bounds());
        assert!(line(1000, 1050).within_bounds());
        assert!(!line(1000, 1051).within_bounds());
        assert!(line(100, 90).within_bounds());
    }
}
