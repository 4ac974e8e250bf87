//! From a process's clock to the global axis of a history.

use std::{fmt, sync::Arc, time::Duration};

use super::line::{Micros, micros};

/// Maps readings of one client's clock to the global axis.
///
/// A client knows only its own clock, which may run 10 % fast; a checker compares the deadline of one client with the
/// grant of another. The program that set up the clocks knows how they relate: on one host all clients read the same
/// clock, and a simulation chose the rate and offset of each.
#[derive(Clone)]
pub struct Axis(Arc<dyn Fn(Duration) -> Micros + Send + Sync>);

impl Axis {
    /// The process's clock is the global one.
    #[must_use]
    pub fn identity() -> Self {
        Self::new(micros)
    }

    /// The process's clock showed `local` when the global one showed `global`, and runs `rate` times
    /// as fast.
    #[must_use]
    pub fn linear(local: Duration, global: Duration, rate: f64) -> Self {
        Self::new(move |reading| {
            let reading = match reading.checked_sub(local) {
                Some(later) => global + later.div_f64(rate),
                None => global.saturating_sub((local - reading).div_f64(rate)),
            };
            micros(reading)
        })
    }

    /// A clock of any other kind, such as one whose rate changes. The function must not map a later reading to an
    /// earlier instant.
    #[must_use]
    pub fn new(map: impl Fn(Duration) -> Micros + Send + Sync + 'static) -> Self {
        Self(Arc::new(map))
    }

    /// The instant at which the process's clock shows this.
    #[must_use]
    pub fn global(&self, reading: Duration) -> Micros {
        (self.0)(reading)
    }
}

impl fmt::Debug for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Axis")
    }
}
