//! The point at which a future is dropped.

use std::{
    fmt,
    future::poll_fn,
    pin::pin,
    task::Poll,
    time::{Duration, Instant},
};

use tokio::{sync::oneshot, time::sleep};

use super::gate::turn;

/// How many polls are one turn of the scheduler apart; later polls are a span apart.
pub(super) const TURNS: usize = 40;

/// For how long polls continue once a turn, in real time.
const SPIN: Duration = Duration::from_millis(5);

/// A point in the life of a future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// Right after this poll: no other task has run since.
    After(usize),
    /// When every task that was ready after this poll has run once.
    TurnAfter(usize),
    /// Several spans after this poll: the caller has been busy elsewhere.
    LongAfter(usize),
    /// Never: it runs to its end, or for as long as the caller waits.
    Never,
}

impl Point {
    fn polls(self) -> usize {
        match self {
            Self::After(polls) | Self::TurnAfter(polls) | Self::LongAfter(polls) => polls,
            Self::Never => usize::MAX,
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(polls) => write!(f, "right after poll {polls}"),
            Self::TurnAfter(polls) => write!(f, "a turn after poll {polls}"),
            Self::LongAfter(polls) => write!(f, "long after poll {polls}"),
            Self::Never => f.write_str("never"),
        }
    }
}

/// Drives one future to its point, and meanwhile gives the other tasks their cues.
pub(super) struct Cut {
    pub(super) point: Point,
    /// After the turns, polls are this far apart.
    pub(super) span: Duration,
    /// A future that never ends is abandoned after this many polls.
    pub(super) most: usize,
    /// The cues for which the others wait, each with the poll after which it is given.
    pub(super) cues: Vec<(usize, oneshot::Sender<()>)>,
    /// How often the future was polled.
    pub(super) polls: usize,
    /// It was ready before the point.
    pub(super) ended: bool,
    /// Polls continue once a turn for this long on the machine's own clock: a real store takes a while, and the points
    /// are spread over that time.
    spin: Duration,
}

impl Cut {
    /// In paused time, where the later polls are this far apart.
    pub(super) fn paused(point: Point, span: Duration, most: usize) -> Self {
        Self {
            point,
            span,
            spin: Duration::ZERO,
            most,
            cues: Vec::new(),
            polls: 0,
            ended: false,
        }
    }

    /// In real time.
    pub(super) fn real(point: Point, most: usize) -> Self {
        Self {
            spin: SPIN,
            ..Self::paused(point, Duration::from_millis(1), most)
        }
    }

    /// Polls the future, ready or not, once a turn, and drops it at the point. Returns its value, if it was ready
    /// before that.
    pub(super) async fn drive<F: Future>(&mut self, future: F) -> Option<F::Output> {
        #[expect(
            clippy::disallowed_methods,
            reason = "measures the machine, not a lease"
        )]
        let began = Instant::now();
        let mut future = pin!(future);
        let ended = loop {
            if self.polls == self.point.polls() || self.polls == self.most {
                break None;
            }
            self.polls += 1;
            let polled = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
            if let Poll::Ready(value) = polled {
                break Some(value);
            }
            self.give_cues();
            if self.point == Point::After(self.polls) {
                break None;
            }
            if self.polls < TURNS || began.elapsed() < self.spin {
                turn().await;
            } else {
                sleep(self.span).await;
            }
        };
        if let (None, Point::LongAfter(_)) = (&ended, self.point) {
            // A grant that its caller does not pick up for a sixth of the lease is released meanwhile (W6).
            sleep(3 * self.span).await;
        }
        self.ended = ended.is_some();
        ended
    }

    /// Gives the cues that are due after this many polls.
    pub(super) fn give_cues(&mut self) {
        let polls = self.polls;
        for (_, cue) in self.cues.extract_if(.., |(due, _)| *due <= polls) {
            // A task that has ended needs no cue.
            let _gone = cue.send(());
        }
    }
}
