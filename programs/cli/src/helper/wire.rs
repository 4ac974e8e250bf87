//! The messages between `dlock run` and its guard, as frames of a fixed size on a stream socket.
//! Both ends are the same program file, so there is no version.

use crate::clock::HolderTime;

/// When the guard acts, on the clock that both processes read.
///
/// Absolute instants: a frame that was computed before a stop and arrives after it still has the
/// same meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deadline {
    /// TERM to the command's group.
    pub(crate) terminate: HolderTime,
    /// KILL to the command's group, a hair before the lease ends.
    pub(crate) kill: HolderTime,
}

/// From `dlock run` to the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The lease has been renewed: a later deadline.
    Extend(Deadline),
    /// Guard this process group from now on. Answered by [`Report::Ready`].
    Watch {
        /// The group's number.
        group: i32,
    },
    /// The command has ended and its group is empty: stop guarding, and exit.
    Dismiss,
}

/// From the guard to `dlock run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// From now on the group can't outlive the lease.
    Ready,
    /// The lease is running out; the group is about to get TERM, and KILL after the grace.
    Terminating,
}

impl Order {
    /// Bytes of a frame.
    pub(crate) const SIZE: usize = 17;

    pub(crate) fn encode(self) -> [u8; Self::SIZE] {
        let (tag, first, second) = match self {
            Self::Extend(Deadline { terminate, kill }) => {
                (b'E', terminate.to_bits(), kill.to_bits())
            }
            Self::Watch { group } => (b'W', i64::from(group), 0),
            Self::Dismiss => (b'D', 0, 0),
        };
        let mut frame = [tag; Self::SIZE];
        frame[1..9].copy_from_slice(&first.to_ne_bytes());
        frame[9..].copy_from_slice(&second.to_ne_bytes());
        frame
    }

    /// `None`: not a frame of ours.
    pub(crate) fn decode(frame: &[u8; Self::SIZE]) -> Option<Self> {
        let [tag, rest @ ..] = frame;
        let (first, rest) = rest.split_first_chunk::<8>()?;
        let (second, _) = rest.split_first_chunk::<8>()?;
        let (first, second) = (i64::from_ne_bytes(*first), i64::from_ne_bytes(*second));
        match tag {
            b'E' => Some(Self::Extend(Deadline {
                terminate: HolderTime::from_bits(first),
                kill: HolderTime::from_bits(second),
            })),
            b'W' => Some(Self::Watch {
                group: i32::try_from(first).ok().filter(|group| *group > 1)?,
            }),
            b'D' => Some(Self::Dismiss),
            _ => None,
        }
    }
}

impl Report {
    pub(crate) const fn encode(self) -> u8 {
        match self {
            Self::Ready => b'R',
            Self::Terminating => b'T',
        }
    }

    /// `None`: not ours.
    pub(crate) const fn decode(byte: u8) -> Option<Self> {
        match byte {
            b'R' => Some(Self::Ready),
            b'T' => Some(Self::Terminating),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_frame_arrives_as_it_was_sent() {
        let kill = HolderTime::now();
        let deadline = Deadline {
            terminate: kill - Duration::from_secs(2),
            kill,
        };
        for order in [
            Order::Extend(deadline),
            Order::Watch { group: 4711 },
            Order::Dismiss,
        ] {
            assert_eq!(Order::decode(&order.encode()), Some(order));
        }
        for report in [Report::Ready, Report::Terminating] {
            assert_eq!(Report::decode(report.encode()), Some(report));
        }
    }

    #[test]
    fn groups_that_mean_something_else_to_kill_are_refused() {
        for group in [0, 1, -1, -4711] {
            assert_eq!(Order::decode(&Order::Watch { group }.encode()), None);
        }
    }
}
