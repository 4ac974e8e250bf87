//! The load that a server accepts.

use std::time::Duration;

use dlock_tasks::Ages;

/// The load that a server accepts at a time. Further requests are refused with nothing done, lists first; a renewal, a
/// heartbeat, a release or the end of a task is never refused.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Calls of the store in flight: 256.
    pub calls: usize,
    /// Requests that wait for a lease or a task, and streams of hints: 1,000.
    pub waits: usize,
    /// Streams of leases and tasks as they change, which the dashboard shows: 200.
    pub streams: usize,
    /// Requests per second of one token or certificate whose entry does not set its own number, not counting renewals
    /// and the like: any number. A further one is answered 429.
    pub rate: Option<u32>,
    /// The percentage of [waits](Self::waits) and [streams](Self::streams) that one token or certificate may have where
    /// there are several and its entry does not set its own: 50. Of [calls](Self::calls) and [memory](Self::memory) it
    /// has half of that percentage, so that one client alone cannot cause lists to be refused to others; all of them
    /// with 100. A request for more is answered 429. Of renewals and the like it has the same number of calls in
    /// flight; further ones wait for those, 64 for each, and only beyond that are they answered 429.
    pub share: u8,
    /// The body of a request, in bytes: 1 MiB. The body of a log-in, whose sender is not known yet, has at most 4 KiB.
    pub body: usize,
    /// Bodies and answers at a time, in bytes of their text, not counting small ones: 256 MiB. Lists are refused when
    /// half of it is taken, and bodies of holders when twice as much is.
    pub memory: usize,
    /// How long a body may take: 10 s.
    pub body_time: Duration,
    /// How long a call of the store may take: 5 s, and no more than a sixth of the lease where that is known.
    pub call_time: Duration,
    /// How long tasks that have ended are kept: a day, a week if they did not succeed.
    pub keep: Ages,
    /// Host names of the server; none are checked if the list is empty.
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
