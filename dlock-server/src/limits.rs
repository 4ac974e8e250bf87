//! How much a server takes on.

use std::time::Duration;

use dlock_tasks::Ages;

/// How much a server takes on at a time. Further requests are refused with nothing done, lists first; a renewal, a
/// heartbeat, a release or the end of a task is never refused (N6).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Calls of the store under way: 256.
    pub calls: usize,
    /// Requests that wait for a lease or a task, and streams of hints: 1,000.
    pub waits: usize,
    /// Streams of leases and tasks as they change, which the dashboard shows: 200.
    pub streams: usize,
    /// Requests in a second of one token or certificate whose entry says nothing else, renewals and the like left out: any
    /// number. A further one is answered 429.
    pub rate: Option<u32>,
    /// Which part of [waits](Self::waits) and [streams](Self::streams) one token or certificate may have where there are several,
    /// and its entry says nothing else, in percent: 50. Of [calls](Self::calls) and [memory](Self::memory) it has half of that
    /// part, so that it alone takes no lists from others; all of them with 100. A request for more is answered 429. Of renewals
    /// and the like it has as many calls under way; further ones wait for those, 64 for each, and only more than that are
    /// answered 429.
    pub share: u8,
    /// The body of a request, in bytes: 1 MiB. One of a sender who is not known yet, to log in, has at most 4 KiB.
    pub body: usize,
    /// Bodies and answers at a time, in bytes of their text, small ones left out: 256 MiB. Lists are refused when half of it
    /// is taken, and bodies of holders when twice as much is.
    pub memory: usize,
    /// How long a body may take: 10 s.
    pub body_time: Duration,
    /// How long a call of the store may take: 5 s, and no more than a sixth of the lease where that is known.
    pub call_time: Duration,
    /// How long tasks that have ended are kept: a day, a week if they did not succeed.
    pub keep: Ages,
    /// Host names that the server is known under; none are checked if there are none.
    pub hosts: Vec<String>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            calls: 256,
            waits: 1_000,
            streams: 200,
            rate: None,
            share: 50,
            body: 1024 * 1024,
            memory: 256 * 1024 * 1024,
            body_time: Duration::from_secs(10),
            call_time: Duration::from_secs(5),
            keep: Ages::default(),
            hosts: Vec::new(),
        }
    }
}
