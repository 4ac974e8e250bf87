//! Faults of the wire between a worker and the store.

use std::time::Duration;

use dlock_testkit::proxy::{Direction, Mix, Proxy};

use super::up_to;

#[derive(Clone, Copy, Debug)]
pub(super) enum Wire {
    /// Nothing passes, and neither end gets an error.
    Partition,
    /// Requests wait; answers pass.
    OneWayOut,
    /// Requests pass; answers wait.
    OneWayBack,
    /// Answers vanish, and their connections stay silent for ever.
    Swallow,
    Latency,
    Reset,
    Close,
    Refuse,
    /// Random single exchanges are lost, delayed, repeated by their clients, or broken off.
    Mix,
}

impl Wire {
    pub(super) const ALL: [Self; 9] = [
        Self::Partition,
        Self::OneWayOut,
        Self::OneWayBack,
        Self::Swallow,
        Self::Latency,
        Self::Reset,
        Self::Close,
        Self::Refuse,
        Self::Mix,
    ];

    /// Its name in the history and in the figures.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Partition => "partition",
            Self::OneWayOut => "requests held up",
            Self::OneWayBack => "answers held up",
            Self::Swallow => "answers swallowed",
            Self::Latency => "latency",
            Self::Reset => "connections reset",
            Self::Close => "connections closed",
            Self::Refuse => "connections refused",
            Self::Mix => "faulty exchanges",
        }
    }

    /// How long it lasts until the wire is calmed: up to two leases, or so short that a lease outlasts it.
    pub(super) fn lasts(self, lease: Duration, random: &mut fastrand::Rng) -> Duration {
        match self {
            Self::Reset | Self::Close => Duration::ZERO,
            // Long enough to strike at least one exchange.
            Self::Mix => 2 * lease,
            _ if random.bool() => lease / 20 + up_to(lease / 4, random),
            _ => lease / 10 + up_to(2 * lease, random),
        }
    }

    /// Whether it always strikes all workers, since the chance of a single exchange is small enough.
    pub(super) const fn is_everywhere(self) -> bool {
        matches!(self, Self::Mix)
    }

    pub(super) async fn begin(self, proxy: &Proxy, lease: Duration, random: &mut fastrand::Rng) {
        match self {
            Self::Partition => {
                for direction in Direction::BOTH {
                    proxy.hold(direction);
                }
            }
            Self::OneWayOut => proxy.hold(Direction::ToServer),
            Self::OneWayBack => proxy.hold(Direction::ToClient),
            Self::Swallow => proxy.swallow(Direction::ToClient),
            Self::Latency => {
                for direction in Direction::BOTH {
                    proxy.latency(direction, up_to(lease / 10, random), lease / 10);
                }
            }
            Self::Reset => proxy.reset(),
            Self::Close => proxy.close(),
            Self::Refuse => proxy.refuse().await,
            Self::Mix => proxy.random(Mix::of_everything(0.3, lease)),
        }
    }
}
