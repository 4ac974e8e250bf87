//! The boot whose clock a record's expiry is on. `clock.rs` reads the time on it.

#[cfg(test)]
mod tests;

use std::fmt;

use uuid::Uuid;

/// One run of one machine's clock. An expiry can be compared with the clock of its own boot only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BootId {
    /// The kernel's boot id: the machine can have had only one such boot at a time, so a holder of
    /// another boot is dead.
    Kernel(Uuid),
    /// The boot id that a container shows instead of the kernel's (LXC and systemd-nspawn do this).
    /// A container with another id may live on the same machine, so nothing follows from a
    /// difference.
    Private(Uuid),
    /// No such clock: the wall clock.
    Wall,
}

/// The meaning of a record's boot to a process of this boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// The clocks are the same: compare.
    Same,
    /// The machine was restarted since: the process that wrote the record is dead.
    Over,
    /// Nothing is known.
    Strange,
}

const PRIVATE: &str = "private:";
const WALL: &str = "wall";

impl BootId {
    /// The boot that a record's text names.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix(PRIVATE) {
            Some(id) => Uuid::try_parse(id).ok().map(Self::Private),
            None if text == WALL => Some(Self::Wall),
            None => Uuid::try_parse(text).ok().map(Self::Kernel),
        }
    }

    /// The relation of a record of `other` to this boot.
    pub(crate) fn relation(self, other: Self) -> Relation {
        match (self, other) {
            _ if self == other => Relation::Same,
            (Self::Kernel(_), Self::Kernel(_)) => Relation::Over,
            _ => Relation::Strange,
        }
    }
}

impl fmt::Display for BootId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(id) => write!(f, "{id}"),
            Self::Private(id) => write!(f, "{PRIVATE}{id}"),
            Self::Wall => f.write_str(WALL),
        }
    }
}
