//! Random bytes for identities, and jitter. One source per client, so that a simulation can seed it.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use uuid::Uuid;

use crate::{ProviderError, contract::system_uuid};

/// The source of uuids and jitter.
pub(crate) enum Entropy {
    /// Uuids from the operating system at each draw: after a fork, or in the clone of a virtual
    /// machine, a seeded generator would repeat itself and both would be granted.
    System,
    /// A seeded generator: only for simulations.
    Seeded(Mutex<fastrand::Rng>),
}

impl Entropy {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self::Seeded(Mutex::new(fastrand::Rng::with_seed(seed)))
    }

    /// A fresh identity.
    pub(crate) fn uuid(&self) -> Result<Uuid, ProviderError> {
        match self {
            Self::System => system_uuid(),
            Self::Seeded(rng) => {
                let mut rng = rng.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(uuid::Builder::from_random_bytes(rng.u128(..).to_le_bytes()).into_uuid())
            }
        }
    }

    /// A random span between zero and `most`.
    pub(crate) fn jitter(&self, most: Duration) -> Duration {
        let most = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(self.draw(|rng| rng.u64(..=most)))
    }

    /// Returns true once in this many calls, on average.
    pub(crate) fn one_in(&self, throws: u64) -> bool {
        self.draw(|rng| rng.u64(..throws)) == 0
    }

    /// Draws something that need not be secret.
    fn draw<T>(&self, draw: impl FnOnce(&mut fastrand::Rng) -> T) -> T {
        match self {
            Self::System => draw(&mut fastrand::Rng::new()),
            Self::Seeded(rng) => draw(&mut rng.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_is_anything_up_to_the_most() {
        let most = Duration::from_millis(100);
        for entropy in [Entropy::System, Entropy::seeded(7)] {
            let drawn: Vec<Duration> = (0..200).map(|_| entropy.jitter(most)).collect();
            assert!(drawn.iter().all(|span| *span <= most));
            assert!(drawn.iter().any(|span| *span < most / 5));
            assert!(drawn.iter().any(|span| *span > most * 4 / 5));
            assert_eq!(entropy.jitter(Duration::ZERO), Duration::ZERO);
        }
    }
}
