//! Tasks that a leader runs again and again.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use tokio::time::{MissedTickBehavior, interval};

use crate::{Leadership, observe::Run, subscriber::told};

/// Runs the task every `period` for as long as the leadership lasts. Dropping this drops a run in progress.
pub(crate) async fn repeat<F, Fut>(
    name: &'static str,
    period: Duration,
    task: Arc<F>,
    leadership: Leadership,
) where
    F: Fn(Leadership) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    // An interval of zero would never let another task run.
    let mut ticks = interval(period.max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut ending = pin!(leadership.ending());
    loop {
        tokio::select! {
            biased;
            () = &mut ending => return,
            _ = ticks.tick() => {}
        }
        // The timer of the deadline may be due but not yet checked; the clock decides.
        if !leadership.is_valid() {
            return;
        }
        let observed = Run::begin(leadership.label(), name);
        let finished = run_once(&*task, leadership.clone()).await;
        observed.end(finished);
        if !finished {
            told(|| {
                tracing::error!(
                    name: "run_panicked",
                    task = name,
                    "a run of a periodic task panicked; the next one starts at its usual time"
                );
            });
        }
    }
}

/// Returns whether the run ended without a panic.
async fn run_once<F, Fut>(task: &F, leadership: Leadership) -> bool
where
    F: Fn(Leadership) -> Fut + Sync,
    Fut: Future<Output = ()> + Send,
{
    // The state of a run is not used after its panic, hence the assertions.
    let Ok(run) = catch_unwind(AssertUnwindSafe(|| task(leadership))) else {
        return false;
    };
    let mut run = pin!(run);
    std::future::poll_fn(|context| {
        match catch_unwind(AssertUnwindSafe(|| run.as_mut().poll(context))) {
            Ok(poll) => poll.map(|()| true),
            Err(_) => Poll::Ready(false),
        }
    })
    .await
}
