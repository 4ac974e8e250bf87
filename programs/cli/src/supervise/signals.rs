//! The signals that `dlock run` receives, and how it stops itself.
//!
//! - A signal that was ignored when `dlock` started (`nohup`, a background job of a plain shell)
//!   is left alone: it stays ignored here and in the command.
//! - SIGTSTP is blocked and read from a descriptor. Handling it would replace the default action,
//!   which `dlock run` needs: when its command was stopped by Ctrl-Z it stops too, by unblocking
//!   the very same signal, and only if there is a shell that could continue it (the kernel looks).
//! - A signal that means "end" and comes again at once counts as one: `timeout` sends its signal to the
//!   process and to its group, which is the same process a second time.
//! - SIGTTOU is blocked, so that a process behind the foreground may write its messages and give
//!   the terminal to its command.

use std::{
    future::poll_fn,
    io,
    sync::OnceLock,
    task::{Context, Poll, ready},
    time::Duration,
};

use nix::sys::signal::{SigSet, Signal as NixSignal};
use rustix::process::{Signal, kill_current_process_group};
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

use super::orphans;
use crate::clock::HolderTime;

/// Passed on to the command; while there is no command yet, the first six end the program.
const PASSED_ON: [Signal; 8] = [
    Signal::INT,
    Signal::TERM,
    Signal::HUP,
    Signal::QUIT,
    Signal::USR1,
    Signal::USR2,
    Signal::WINCH,
    Signal::CONT,
];

/// A second one of the same signal within this time counts as the first one repeated: no user presses Ctrl-C twice that
/// fast.
const AGAIN: Duration = Duration::from_millis(100);

/// A command that runs for this long after its grace has survived a HUP.
const SURVIVAL: Duration = Duration::from_secs(1);

/// The mask that this process was started with, without the signals that it heeds: the mask that its command has to
/// get.
static INHERITED: OnceLock<SigSet> = OnceLock::new();

/// Blocks the signals that must not act on `dlock run`. Call it before any other thread exists: they inherit the mask.
///
/// Signals that matter here and that the parent has blocked are unblocked, for this program and its command: otherwise
/// only KILL could end either.
pub(crate) fn block() -> io::Result<()> {
    let heeded = PASSED_ON.into_iter().chain([Signal::CHILD]);
    let heeded = heeded.map(|signal| NixSignal::try_from(signal.as_raw()));
    heeded.collect::<nix::Result<SigSet>>()?.thread_unblock()?;
    let inherited = SigSet::thread_get_mask()?;
    INHERITED.get_or_init(|| inherited);
    held_back().thread_block()?;
    Ok(())
}

/// Runs `start`, which starts a process, with the signal mask that this process was started with.
pub(crate) fn with_inherited_mask<T>(start: impl FnOnce() -> T) -> io::Result<T> {
    with_mask(INHERITED.get().unwrap_or(&SigSet::empty()), start)
}

/// Runs `start`, which starts a process, with every signal blocked.
pub(crate) fn with_all_blocked<T>(start: impl FnOnce() -> T) -> io::Result<T> {
    with_mask(&SigSet::all(), start)
}

fn with_mask<T>(mask: &SigSet, start: impl FnOnce() -> T) -> io::Result<T> {
    let before = SigSet::thread_get_mask()?;
    mask.thread_set_mask()?;
    let started = start();
    before.thread_set_mask()?;
    Ok(started)
}

fn held_back() -> SigSet {
    [NixSignal::SIGTSTP, NixSignal::SIGTTOU]
        .into_iter()
        .collect()
}

/// A stream of the signals that reach this process.
pub(crate) struct Signals {
    streams: Vec<(Signal, Stream)>,
    /// The last one that wants this program to end, and when the last HUP came.
    end: Option<Signal>,
    hung_up: Option<HolderTime>,
    /// The last signal that means "end", and when it came.
    counted: Option<(Signal, HolderTime)>,
    stops: Stops,
}

impl Signals {
    /// Starts listening. Also to SIGCHLD, whatever was inherited: if it stayed ignored the kernel would reap the
    /// command behind our back.
    pub(crate) fn listen() -> io::Result<Self> {
        let ignored = ignored();
        let mut streams = Vec::with_capacity(PASSED_ON.len() + 1);
        for number in PASSED_ON
            .into_iter()
            .filter(|number| !ignored.contains(*number))
        {
            streams.push((number, signal(SignalKind::from_raw(number.as_raw()))?));
        }
        streams.push((Signal::CHILD, signal(SignalKind::child())?));
        Ok(Self {
            streams,
            end: None,
            hung_up: None,
            counted: None,
            stops: Stops::listen(&ignored)?,
        })
    }

    /// The next signal. Cancel safe.
    pub(crate) async fn next(&mut self) -> Signal {
        loop {
            let signal = poll_fn(|context| self.poll_next(context)).await;
            let now = HolderTime::now();
            match signal {
                Signal::INT | Signal::TERM | Signal::QUIT | Signal::HUP => {
                    let again = |(last, at)| last == signal && now < at + AGAIN;
                    if self.counted.is_some_and(again) {
                        continue;
                    }
                    self.counted = Some((signal, now));
                }
                _ => return signal,
            }
            match signal {
                Signal::HUP => self.hung_up = Some(now),
                _ => self.end = Some(signal),
            }
            return signal;
        }
    }

    /// The signal received so far that is meant to end this program, even if it was passed on to a command that takes
    /// `grace` to end. The command has survived a HUP that is a second older than that: to many programs HUP means to
    /// read their settings again, and no end was wanted.
    pub(crate) fn end(&self, grace: Duration) -> Option<Signal> {
        let fresh = |since: HolderTime| HolderTime::now() < since + grace + SURVIVAL;
        let hung_up = self.hung_up.is_some_and(fresh).then_some(Signal::HUP);
        hung_up.or(self.end)
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Signal> {
        for (number, stream) in &mut self.streams {
            // None never comes: the driver lives as long as the runtime.
            if let Poll::Ready(Some(())) = stream.poll_recv(context) {
                return Poll::Ready(*number);
            }
        }
        ready!(self.stops.poll_recv(context));
        Poll::Ready(Signal::TSTP)
    }

    /// The next signal that means "end", for as long as there is no command to pass it on to. Stops and continues this
    /// process in between.
    pub(crate) async fn ending(&mut self) -> Signal {
        loop {
            match self.next().await {
                Signal::TSTP => stop(Signal::TSTP),
                // This process has no child of its own now.
                Signal::CHILD => orphans::reap(&[]),
                Signal::WINCH | Signal::CONT => {}
                end => return end,
            }
        }
    }
}

/// Stops this process and its job by a stop signal's default action, and returns when it has been continued; at once if
/// no process could continue it.
pub(crate) fn stop(signal: Signal) {
    // The group, since a shell takes a job for stopped when all of its processes are.
    kill_current_process_group(signal).ok();
    // Pending now, in all threads; this one lets it in.
    held_back().thread_unblock().ok();
    held_back().thread_block().ok();
}

/// Dies of SIGINT, as if the keyboard had sent it here; and so does our job, if `tell_job`. Returns the code to exit
/// with should that fail.
pub(crate) fn die_interrupted(tell_job: bool) -> u8 {
    if tell_job {
        // This process has a handler.
        kill_current_process_group(Signal::INT).ok();
    }
    signal_hook::low_level::emulate_default_handler(Signal::INT.as_raw()).ok();
    128 + 2
}

/// Signals that were ignored when this process started.
struct Ignored(u64);

impl Ignored {
    fn contains(&self, signal: Signal) -> bool {
        self.0 & (1 << (signal.as_raw() - 1)) != 0
    }
}

/// No safe call reads a signal's action without setting it, but the kernel shows it.
fn ignored() -> Ignored {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    Ignored(mask.unwrap_or(0))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod stops {
    use super::{Context, Ignored, NixSignal, Poll, SigSet, Signal, io, ready};
    use nix::sys::signalfd::{SfdFlags, SignalFd};
    use tokio::io::{Interest, unix::AsyncFd};

    /// SIGTSTP, without a handler.
    pub(super) struct Stops(Option<AsyncFd<SignalFd>>);

    impl Stops {
        pub(super) fn listen(ignored: &Ignored) -> io::Result<Self> {
            if ignored.contains(Signal::TSTP) {
                return Ok(Self(None));
            }
            let stops: SigSet = [NixSignal::SIGTSTP].into_iter().collect();
            let descriptor =
                SignalFd::with_flags(&stops, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
            #[expect(
                deprecated,
                reason = "its successor is unsafe for types that do not own their descriptor; this one does"
            )]
            let stops = AsyncFd::with_interest(descriptor, Interest::READABLE)?;
            Ok(Self(Some(stops)))
        }

        pub(super) fn poll_recv(&self, context: &mut Context<'_>) -> Poll<()> {
            let Some(descriptor) = &self.0 else {
                return Poll::Pending;
            };
            loop {
                let Ok(mut readable) = ready!(descriptor.poll_read_ready(context)) else {
                    return Poll::Pending;
                };
                match descriptor.get_ref().read_signal() {
                    Ok(Some(_)) => return Poll::Ready(()),
                    Ok(None) | Err(_) => readable.clear_ready(),
                }
            }
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod stops {
    use super::{Context, Ignored, Poll, io};

    /// SIGTSTP is not read here: it stays blocked, and only Ctrl-Z's effect on the command counts.
    pub(super) struct Stops;

    impl Stops {
        pub(super) fn listen(_ignored: &Ignored) -> io::Result<Self> {
            Ok(Self)
        }

        pub(super) fn poll_recv(&self, _context: &mut Context<'_>) -> Poll<()> {
            Poll::Pending
        }
    }
}
use stops::Stops;

#[cfg(test)]
mod tests {
    use rustix::process::{getpid, kill_process};

    use super::*;

    fn send(signal: Signal) {
        kill_process(getpid(), signal).unwrap();
    }

    /// The next signal that counts; children of other tests end meanwhile.
    async fn next(signals: &mut Signals) -> Signal {
        loop {
            match signals.next().await {
                Signal::CHILD => {}
                signal => return signal,
            }
        }
    }

    /// Whether a second TERM is counted that comes after this pause, and how long both took.
    async fn second(pause: Duration) -> (bool, Duration) {
        let mut signals = Signals::listen().unwrap();
        let began = HolderTime::now();
        send(Signal::TERM);
        assert_eq!(next(&mut signals).await, Signal::TERM);
        tokio::time::sleep(pause).await;
        send(Signal::TERM);
        let second = tokio::time::timeout(Duration::from_millis(20), next(&mut signals)).await;
        let took = HolderTime::now().after(began);
        (second == Ok(Signal::TERM), took)
    }

    // One test: a process's signals are seen by all of its tests.
    #[tokio::test]
    async fn signal_that_comes_again_at_once_is_one_and_any_other_is_another() {
        // Only a try that was quick enough proves anything.
        let mut tries = 0..1000;
        while tries.next().is_some() {
            let (counted, took) = second(Duration::ZERO).await;
            if took < AGAIN {
                assert!(!counted, "twice within {took:?}");
                break;
            }
        }
        assert!(!tries.is_empty(), "never twice within {AGAIN:?}");
        // The wait for the second one may have been too short.
        while tries.next().is_some() && !second(AGAIN).await.0 {}
        assert!(!tries.is_empty(), "never counted");
        let mut signals = Signals::listen().unwrap();
        // Under `nohup`, or in the background of a plain shell, some are ignored.
        let ignored = ignored();
        let others = [Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR1];
        for signal in others
            .into_iter()
            .filter(|number| !ignored.contains(*number))
        {
            send(signal);
            assert_eq!(next(&mut signals).await, signal);
        }
    }
}
