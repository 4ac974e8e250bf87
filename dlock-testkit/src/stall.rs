//! How slow the machine is, and cases that run again with a longer lease where that explains their
//! failure.

mod timed;

use std::{
    any::Any,
    future::{Future, poll_fn},
    io::{Write, stderr},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::Poll,
    thread,
    time::Duration,
};

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::JoinSet,
    time::{Instant, sleep},
};

pub use self::timed::Timed;

/// How slow the machine and the store are.
#[derive(Clone, Debug, Default)]
pub struct Lag {
    /// The longest stall seen, in nanoseconds: of this process, or of the store.
    longest: Arc<AtomicU64>,
    /// How many calls the store has not answered yet.
    under_way: Arc<AtomicUsize>,
}

/// A call that the store has not answered.
#[derive(Debug)]
pub struct UnderWay(Arc<AtomicUsize>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Notes how long a call took, also one that is dropped.
struct Timing<'a>(Instant, &'a Lag);

impl Drop for Timing<'_> {
    fn drop(&mut self) {
        self.1.note(self.0.elapsed());
    }
}

/// No stall explains a failure that names one of these rules: two holders at once, a token that does not
/// grow, a stale write that was accepted.
const NEVER_EXCUSED: [&str; 4] = ["(I1)", "(I3)", "(I4)", "(I5)"];

/// How many rounds one test program may repeat. With more than that the machine is too slow for the leases
/// of its fixture, and what passes in the end says little.
const MOST_REPEATS: usize = 48;

/// How many rounds this program has repeated.
static REPEATS: AtomicUsize = AtomicUsize::new(0);

/// Runs a case with the first of these leases. If it fails while the machine or the store stalled for
/// long enough to explain that, it runs again with the next; never if two held the lock at once, or a token
/// did not grow. Every repeat is reported on standard error, also that of a test that passes, and more than
/// 48 in one program are a failure.
///
/// `ask` asks the store something in a new connection, after a failure: the time it takes counts as a
/// stall too. A case whose calls are [`Timed`] needs none.
pub async fn rounds<Fut, Ask>(
    leases: impl Iterator<Item = Duration> + Send,
    ask: impl Fn() -> Ask + Send + Sync,
    case: impl Fn(usize, Duration, Lag) -> Fut + Send + Sync,
) where
    Fut: Future<Output = ()> + Send,
    Ask: Future<Output = ()> + Send,
{
    let leases: Vec<Duration> = leases.collect();
    let last = leases.len() - 1;
    for (number, lease) in leases.into_iter().enumerate() {
        let lag = Lag::default();
        let watches = lag.watches();
        let ended = unwound(case(number, lease, lag.clone())).await;
        let Err(panic) = ended else { return };
        let asked = Instant::now();
        // Whether it is answered at all does not matter here.
        drop(unwound(ask()).await);
        lag.note(asked.elapsed());
        drop(watches);
        let stalled = lag.longest();
        let excused = stalled >= lease / 50 && !is_never_excused(&*panic);
        if number == last || !excused || REPEATS.load(Ordering::SeqCst) >= MOST_REPEATS {
            resume_unwind(panic);
        }
        let repeats = REPEATS.fetch_add(1, Ordering::SeqCst) + 1;
        // Past the harness, which keeps back what a passing test prints.
        let _unreported = writeln!(
            stderr(),
            "{}: the machine stalled for {stalled:?}: once more with a longer lease than {lease:?} \
             (repeat {repeats} of at most {MOST_REPEATS} in this program)",
            thread::current().name().unwrap_or("a case"),
        );
    }
}

fn is_never_excused(panic: &(dyn Any + Send)) -> bool {
    let words = message(panic).unwrap_or_default();
    NEVER_EXCUSED.iter().any(|rule| words.contains(rule))
}

/// What a panic said.
#[must_use]
pub fn message(panic: &(dyn Any + Send)) -> Option<&str> {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
}

/// Catches the panic of a future, here and not in a task, so that its message is the test's.
async fn unwound(future: impl Future<Output = ()>) -> Result<(), Box<dyn Any + Send>> {
    let mut future = pin!(future);
    poll_fn(
        |context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        },
    )
    .await
}

impl Lag {
    pub fn note(&self, stall: Duration) {
        let nanos = u64::try_from(stall.as_nanos()).unwrap_or(u64::MAX);
        self.longest.fetch_max(nanos, Ordering::SeqCst);
    }

    /// Makes a call to the store, and notes how long it takes: until its answer, or until it is dropped.
    pub async fn time<T>(&self, call: impl Future<Output = T>) -> T {
        let _timing = Timing(Instant::now(), self);
        call.await
    }

    /// Counts a call to the store until the returned value is dropped.
    #[must_use]
    pub fn call(&self) -> UnderWay {
        self.under_way.fetch_add(1, Ordering::SeqCst);
        UnderWay(Arc::clone(&self.under_way))
    }

    /// Whether the store owes nobody an answer.
    #[must_use]
    pub fn all_answered(&self) -> bool {
        self.under_way.load(Ordering::SeqCst) == 0
    }

    fn longest(&self) -> Duration {
        Duration::from_nanos(self.longest.load(Ordering::SeqCst))
    }

    /// Several, since one thread can stall while the others run. None in paused time, where nothing
    /// stalls.
    fn watches(&self) -> JoinSet<()> {
        let mut watches = JoinSet::new();
        if Handle::current().runtime_flavor() != RuntimeFlavor::CurrentThread {
            for _ in 0..8 {
                watches.spawn(self.clone().watch());
            }
        }
        watches
    }

    async fn watch(self) {
        let beat = Duration::from_millis(5);
        loop {
            let began = Instant::now();
            sleep(beat).await;
            self.note(began.elapsed().saturating_sub(beat));
        }
    }
}
