//! Turns between processes (N4 to N8, W8): who may try for a name, and when.

mod mark;

use std::time::Duration;

pub(crate) use self::mark::mark;

/// How long a process that released a wanted name leaves it to those that a hint wakes (N7): four slots of a
/// millisecond, the grain of Tokio's timers.
pub(crate) const HAND_OFF: Duration = Duration::from_millis(4);
