//! Upper bounds of time: a missed bound is the only failure for which a case may be repeated.
//!
//! A busy machine or store can make anything late, but does nothing worse. So a case that measures time checks each
//! upper bound with [`in_time`], and asserts everything else. A missed bound ends its round, and the case runs again
//! with a longer lease, unless that was the last; a failed assertion ends the test at once, however slow the machine
//! is.

use std::{
    any::Any,
    fmt::{self, Display},
    future::{Future, poll_fn},
    io::{Write, stderr},
    panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind},
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
    task::Poll,
    thread,
    time::Duration,
};

use dlock_core::{EndCause, Error, ErrorKind};
use tokio::{task::JoinError, time::timeout};

/// How many rounds one test program may repeat. If it needs more, the machine is too slow for the leases of its
/// fixture, and a pass in the end proves little.
const MOST_REPEATS: usize = 48;

/// How many rounds this program has repeated.
static REPEATS: AtomicUsize = AtomicUsize::new(0);

/// A round ended by a missed bound of time. Only [`in_time`] and [`within`] panic with it.
#[derive(Debug)]
struct TooSlow(String);

impl Display for TooSlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "too slow: {}", self.0)
    }
}

/// A case, run with one of the leases.
type Round<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Ends the round unless this upper bound of time was kept. Use it only for failures that a slow machine alone can
/// explain: never for exclusion, tokens, stale writes or wrong answers.
///
/// # Panics
/// If the bound was missed.
#[track_caller]
pub fn in_time(kept: bool, bound: impl Display) {
    if !kept {
        too_slow(format!("{}: {bound}", Location::caller()));
    }
}

/// The outcome of a future that has to end within this limit, which is an upper bound of time like those of
/// [`in_time`].
///
/// # Panics
/// If it does not end in time.
pub async fn within<F: Future>(limit: Duration, what: impl Display, future: F) -> F::Output {
    match timeout(limit, future).await {
        Ok(value) => value,
        Err(_elapsed) => too_slow(format!("{what}: not within {limit:?}")),
    }
}

/// Bypasses the panic hook: a round that is repeated is reported in one line, and the last one panics with its message.
fn too_slow(bound: String) -> ! {
    resume_unwind(Box::new(TooSlow(bound)))
}

/// The result of a case's task; the task's panic becomes the case's.
///
/// # Panics
/// If the task panicked or was cancelled.
pub fn joined<T>(ended: Result<T, JoinError>) -> T {
    match ended.map_err(JoinError::try_into_panic) {
        Ok(value) => value,
        Err(Ok(panic)) => resume_unwind(panic),
        Err(Err(cancelled)) => panic!("a task of the case: {cancelled}"),
    }
}

/// Whether an error of a lock means that no answer came in time, which a slow store can explain. So does a lease that
/// expired: no renewal was answered in time.
#[must_use]
pub fn is_late(error: &dyn Any) -> bool {
    match error.downcast_ref() {
        Some(Error::Timeout { .. }) => true,
        Some(Error::Provider(error)) => error.kind() != ErrorKind::Fatal,
        Some(Error::Lost(end)) => matches!(end.cause, EndCause::Expired { .. }),
        _ => false,
    }
}

/// The lease of each round: three times that of the round before.
pub fn leases(first: Duration, rounds: u32) -> impl Iterator<Item = Duration> {
    (0..rounds).map(move |round| first * 3_u32.pow(round))
}

/// Runs a case with the first of these leases. If it misses a bound of time ([`in_time`]), runs it again with the next;
/// any other failure fails the test at once. Every repeat is reported on standard error, even that of a test that
/// passes, and more than 48 in one program are a failure.
///
/// # Panics
/// If the case fails, or misses a bound with the last lease too.
pub async fn rounds<Fut: Future<Output = ()> + Send>(
    leases: impl IntoIterator<Item = Duration>,
    case: impl Fn(Duration) -> Fut + Sync,
) {
    let leases = leases.into_iter().collect();
    play(leases, &|lease| Box::pin(case(lease))).await;
}

/// The same, with a limit for each round: `limit`, plus four times the difference between its lease and the first.
///
/// # Panics
/// If a round takes longer, and where [`rounds`] panics.
pub(crate) async fn rounds_within<Fut: Future<Output = ()> + Send>(
    limit: Duration,
    name: &str,
    leases: impl IntoIterator<Item = Duration>,
    case: impl Fn(Duration) -> Fut + Sync,
) {
    let leases: Vec<_> = leases.into_iter().collect();
    let first = leases.first().copied().unwrap_or_default();
    let limited = |lease: Duration| {
        let (limit, round) = (limit + 4 * (lease - first), case(lease));
        async move {
            if timeout(limit, round).await.is_err() {
                panic!("{name} took longer than {limit:?}");
            }
        }
    };
    rounds(leases, limited).await;
}

/// [`rounds`] without its type parameters, so that it is compiled once and not for each case.
async fn play<'a>(leases: Vec<Duration>, case: &(dyn Fn(Duration) -> Round<'a> + Sync)) {
    let mut leases = leases.into_iter().peekable();
    while let Some(lease) = leases.next() {
        let Err(panic) = unwound(case(lease)).await else {
            return;
        };
        let slow = match panic.downcast::<TooSlow>() {
            Ok(slow) => slow,
            Err(panic) => resume_unwind(panic),
        };
        assert!(
            leases.peek().is_some() && REPEATS.load(Ordering::SeqCst) < MOST_REPEATS,
            "{slow} (with a lease of {lease:?})"
        );
        let repeats = REPEATS.fetch_add(1, Ordering::SeqCst) + 1;
        // Bypasses the test harness, which captures the output of a passing test.
        let _unreported = writeln!(
            stderr(),
            "{}: {slow}: once more with a longer lease than {lease:?} (repeat {repeats} of at most {MOST_REPEATS} in \
             this program)",
            thread::current().name().unwrap_or("a case"),
        );
    }
}

/// The message of a panic.
#[must_use]
pub fn message(panic: &(dyn Any + Send)) -> Option<&str> {
    let slow = panic.downcast_ref::<TooSlow>().map(|slow| &*slow.0);
    let text = panic.downcast_ref::<String>().map(String::as_str);
    slow.or(text)
        .or_else(|| panic.downcast_ref::<&str>().copied())
}

/// Catches the panic of a future here, not in a task, so that its message is the test's.
async fn unwound(mut future: Round<'_>) -> Result<(), Box<dyn Any + Send>> {
    poll_fn(
        |context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        },
    )
    .await
}
