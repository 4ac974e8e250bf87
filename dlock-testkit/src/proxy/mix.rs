//! Faults by chance: the same seed yields the same faults.

use std::time::Duration;

use super::{Fault, Moment};

/// The probability of each fault for an exchange.
///
/// The fault of the n-th exchange of the m-th connection follows from the proxy's seed and these two numbers alone,
/// however the connections interleave.
///
/// ```
/// # use std::time::Duration;
/// # use dlock_testkit::proxy::{Fault, Mix, Moment};
/// let mix = Mix::new()
///     .with(0.02, Fault::LoseReply)
///     .with(0.01, Fault::Reset(Moment::BeforeReply))
///     .with(0.05, Fault::DelayReply(Duration::from_millis(300)));
/// assert!((mix.total() - 0.08).abs() < 1e-9);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mix(Vec<(f64, Fault)>);

impl Mix {
    /// No fault at all.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Every kind of fault, equally likely; together they strike this share of the exchanges. Delays last at most
    /// `longest`.
    #[must_use]
    pub fn of_everything(share: f64, longest: Duration) -> Self {
        let lost = [Fault::LoseRequest, Fault::LoseReply];
        let late = [
            Fault::DelayRequest(longest),
            Fault::DelayReply(longest),
            Fault::Late(longest),
        ];
        let faults: Vec<Fault> = lost
            .into_iter()
            .chain(late)
            .chain(Moment::ALL.map(Fault::Reset))
            .chain(Moment::ALL.map(Fault::Close))
            .collect();
        let each = share / f64::from(u32::try_from(faults.len()).unwrap_or(u32::MAX));
        faults
            .into_iter()
            .fold(Self::new(), |mix, fault| mix.with(each, fault))
    }

    /// Adds a fault that strikes this share of the exchanges, between 0 and 1.
    #[must_use]
    pub fn with(mut self, share: f64, fault: Fault) -> Self {
        self.0.push((share, fault));
        self
    }

    /// The share of exchanges that meet any fault; if it exceeds 1, the faults added last are cut short.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.0.iter().map(|(share, _)| share).sum()
    }

    /// The fault that this exchange of this connection meets.
    pub(super) fn draw(&self, seed: u64, connection: usize, exchange: usize) -> Option<Fault> {
        let mut random = random(seed, &[connection, exchange]);
        let mut left = random.f64();
        let mut hit = |share: f64| {
            left -= share;
            left < 0.0
        };
        let (_, fault) = self.0.iter().find(|(share, _)| hit(*share))?;
        Some(fault.drawn(&mut random))
    }
}

/// A generator that follows from a seed and a place.
pub(super) fn random(seed: u64, place: &[usize]) -> fastrand::Rng {
    let start = fastrand::Rng::with_seed(seed);
    place.iter().fold(start, |mut random, number| {
        fastrand::Rng::with_seed(random.u64(..) ^ *number as u64)
    })
}
