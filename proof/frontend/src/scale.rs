//! How many leases one process holds: acquires a crowd of them, keeps them for a while, and says what
//! that costs and how near each came to its end.
//!
//! The figures of two machines, or of two runs on a busy one, do not compare.

mod cost;
mod margins;

use std::{fmt, sync::Arc, time::Duration};

use dlock_core::{BuildError, Client, DLock, Error, Guard, Provider};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use self::{cost::Cost, margins::Margins};

/// So many locks are acquired, and released, at a time.
const AT_ONCE: usize = 64;

/// Measures one provider, on a store where nobody else is at work.
#[derive(Clone, Debug)]
pub struct Scale<P> {
    provider: P,
    leases: usize,
    duration: Duration,
    lasting: Duration,
}

/// What came of it. Its `Display` is a few lines.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Figures {
    /// So many leases were held at the same time.
    pub leases: usize,
    /// How long it took to acquire them.
    pub acquired_in: Duration,
    /// How long they were watched then.
    pub lasting: Duration,
    /// Renewals that succeeded in that time.
    pub renewals: u64,
    /// The least that was left of any lease when its renewal was answered. `None` if none was.
    pub least_left: Option<Duration>,
    /// Leases that were lost.
    pub lost: usize,
    /// What the processor did for this process while they were watched; the server is another one.
    pub processor: Duration,
    /// Memory that the process took for all of them, in bytes: what the operating system gave it.
    pub memory: u64,
}

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScaleError {
    /// A lock could not be built.
    #[error("a lock could not be built")]
    Config(#[from] BuildError),
    /// A lock could not be acquired.
    #[error("a lock could not be acquired")]
    Frontend(#[from] Error),
    /// A task ended before its work did.
    #[error("a task was cut off")]
    Task(#[from] tokio::task::JoinError),
}

impl<P: Provider> Scale<P> {
    /// 100,000 leases of 15 seconds, watched for 30.
    pub const fn new(provider: P) -> Self {
        Self {
            provider,
            leases: 100_000,
            duration: Duration::from_secs(15),
            lasting: Duration::from_secs(30),
        }
    }

    /// Sets how many leases are held.
    #[must_use]
    pub const fn leases(mut self, leases: usize) -> Self {
        self.leases = leases;
        self
    }

    /// Sets the duration of each.
    #[must_use]
    pub const fn duration(mut self, duration: Duration) -> Self {
        self.duration = duration;
        self
    }

    /// Sets how long they are watched.
    #[must_use]
    pub const fn lasting(mut self, lasting: Duration) -> Self {
        self.lasting = lasting;
        self
    }

    /// Acquires, watches and releases them all.
    ///
    /// # Errors
    /// [`ScaleError`] if a lock could not be acquired.
    pub async fn run(self) -> Result<Figures, ScaleError> {
        let Self {
            provider,
            leases,
            duration,
            lasting,
        } = self;
        let margins = Arc::new(Margins::new(leases));
        let client = Client::new(provider).recorded(Arc::clone(&margins) as _);
        let lock = DLock::builder()
            .name("scale")
            .duration(duration)
            .provider(&client)
            .build()?;
        let (before, began) = (Cost::now(), Instant::now());
        let guards = acquire(&lock, leases).await?;
        let (held, acquired_in) = (Cost::now(), began.elapsed());
        margins.start();
        let began = Instant::now();
        sleep(lasting).await;
        let lasting = began.elapsed();
        let (renewals, least_left) = margins.stop();
        let after = Cost::now();
        let lost = guards.iter().filter(|guard| !guard.is_valid()).count();
        release(guards).await?;
        client.close().await;
        Ok(Figures {
            leases,
            acquired_in,
            lasting,
            renewals,
            least_left,
            lost,
            processor: after.processor.saturating_sub(held.processor),
            memory: after.memory.saturating_sub(before.memory),
        })
    }
}

impl Figures {
    /// The part of one core that this process took.
    #[must_use]
    pub fn cores(&self) -> f64 {
        self.processor.as_secs_f64() / self.lasting.as_secs_f64()
    }

    /// Memory for each lease, in bytes.
    #[must_use]
    pub fn memory_each(&self) -> u64 {
        self.memory / (self.leases as u64).max(1)
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            leases,
            acquired_in,
            lasting,
            renewals,
            least_left,
            lost,
            ..
        } = self;
        writeln!(f, "{leases} leases, acquired in {acquired_in:.1?}")?;
        writeln!(
            f,
            "{renewals} renewals in {lasting:.1?}, {lost} leases lost"
        )?;
        match least_left {
            Some(left) => writeln!(f, "the least time to spare: {left:.2?}")?,
            None => writeln!(f, "no renewal")?,
        }
        writeln!(f, "{:.3} of a core in this process", self.cores())?;
        write!(f, "{} bytes of memory a lease", self.memory_each())
    }
}

/// All of them, many at a time.
async fn acquire(lock: &DLock, leases: usize) -> Result<Vec<Guard>, ScaleError> {
    let mut asking = JoinSet::new();
    let mut guards = Vec::with_capacity(leases);
    for number in 0..leases {
        if asking.len() >= AT_ONCE
            && let Some(guard) = asking.join_next().await
        {
            guards.push(guard??);
        }
        let lock = lock.named(Margins::name(number))?;
        asking.spawn(async move { lock.hold().await });
    }
    while let Some(guard) = asking.join_next().await {
        guards.push(guard??);
    }
    Ok(guards)
}

async fn release(guards: Vec<Guard>) -> Result<(), ScaleError> {
    let mut releasing = JoinSet::new();
    for guard in guards {
        if releasing.len() >= AT_ONCE
            && let Some(released) = releasing.join_next().await
        {
            released??;
        }
        releasing.spawn(guard.release());
    }
    while let Some(released) = releasing.join_next().await {
        released??;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dlock_testkit::memory::{MemoryProvider, MemoryStore};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn crowd_is_kept_and_counted() {
        let provider = MemoryProvider::new(&MemoryStore::store_clock());
        let scale = Scale::new(provider)
            .leases(300)
            .duration(Duration::from_secs(3))
            .lasting(Duration::from_millis(2500));
        let figures = scale.run().await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(figures.lost, 0, "{figures}");
        // Two rounds of renewals, the second of which may not have ended.
        assert!((300..=900).contains(&figures.renewals), "{figures}");
        let left = figures.least_left.unwrap_or_default();
        assert!(
            left > Duration::ZERO && left <= Duration::from_millis(1400),
            "{figures}"
        );
    }
}
