//! How one request is sent: within limits of its own, with retries that share no quota with anybody,
//! and leaving a trail of what may have been applied.

use std::{
    error::Error as StdError,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use aws_sdk_dynamodb::{
    config::{
        self, AsyncSleep, ConfigBag, Intercept, RuntimeComponents, Sleep,
        interceptors::{BeforeTransmitInterceptorContextRef, FinalizerInterceptorContextRef},
        retry::{RetryConfig, RetryPartition},
        timeout::TimeoutConfig,
    },
    error::BoxError,
    primitives::{DateTime, DateTimeFormat},
};

/// The SDK's own number of attempts; a conditional write may be repeated (A2, A3, R2, L2).
const ATTEMPTS: u32 = 3;

/// A lease is short, so the pauses between the SDK's attempts are too. The SDK draws from zero to
/// twice the one before, beginning here.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// What overrides the client's own settings in each request of a provider.
#[derive(Clone, Debug)]
pub(crate) struct Calls(config::Builder);

/// What is known of the attempts at one request.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    /// The present attempt was handed to the network.
    sent: AtomicBool,
    /// An attempt was sent and got no definite answer.
    doubtful: AtomicBool,
    /// The store's clock in the last reply, in seconds since 1970; 0 if it told none.
    date: AtomicU64,
}

/// Sends a request, and keeps its trail.
macro_rules! send {
    ($calls:expr, $request:expr) => {{
        let trail = std::sync::Arc::new($crate::call::Trail::default());
        let settings = $calls.settings(&trail);
        match $request.customize().config_override(settings).send().await {
            Ok(output) => Ok((output, trail)),
            Err(error) => Err($crate::error::Failure {
                error,
                doubtful: trail.doubtful(),
            }),
        }
    }};
}
pub(crate) use send;

impl Calls {
    pub(crate) fn new(attempt: Duration, operation: Duration) -> Self {
        let timeouts = TimeoutConfig::builder()
            .operation_attempt_timeout(attempt)
            .operation_timeout(operation)
            .build();
        let retries = RetryConfig::standard()
            .with_max_attempts(ATTEMPTS)
            .with_initial_backoff(FIRST_PAUSE)
            .with_max_backoff(LONGEST_PAUSE);
        // A partition of this provider alone: the default one is shared by every DynamoDB client
        // of the process, and their failures would use up our retries.
        let partition = RetryPartition::custom("dlock").build();
        Self(
            config::Builder::new()
                .timeout_config(timeouts)
                .retry_config(retries)
                .retry_partition(partition)
                .sleep_impl(TokioSleep),
        )
    }

    /// The overrides for one request that leaves this trail.
    pub(crate) fn settings(&self, trail: &Arc<Trail>) -> config::Builder {
        self.0.clone().interceptor(Follow(Arc::clone(trail)))
    }
}

impl Trail {
    /// Whether any attempt may have been applied although nobody said so.
    pub(crate) fn doubtful(&self) -> bool {
        self.doubtful.load(Ordering::Relaxed)
    }

    /// The store's clock in seconds since 1970, if its last reply told it.
    pub(crate) fn date(&self) -> Option<u64> {
        Some(self.date.load(Ordering::Relaxed)).filter(|date| *date != 0)
    }
}

/// Writes the trail of one request.
#[derive(Debug)]
struct Follow(Arc<Trail>);

impl Intercept for Follow {
    fn name(&self) -> &'static str {
        "dlock"
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.0.sent.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context
            .response()
            .and_then(|response| response.headers().get("date"))
            .and_then(|text| DateTime::from_str(text, DateTimeFormat::HttpDate).ok())
            .and_then(|date| u64::try_from(date.secs()).ok());
        self.0.date.store(date.unwrap_or(0), Ordering::Relaxed);
        if self.0.sent.swap(false, Ordering::Relaxed) && !definite(context) {
            self.0.doubtful.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// An answer of the store that is not a failure of its own, or no connection at all.
fn definite(context: &FinalizerInterceptorContextRef<'_>) -> bool {
    match context.output_or_error() {
        Some(Ok(_)) => true,
        Some(Err(error)) if error.is_operation_error() => context
            .response()
            .is_some_and(|response| response.status().as_u16() < 500),
        Some(Err(error)) => error
            .as_connector_error()
            .is_some_and(|error| refused(error)),
        None => false,
    }
}

/// The connection was refused, so nothing can have been sent. Whatever HTTP client it is: all of
/// them keep the system's error.
fn refused(error: &(dyn StdError + 'static)) -> bool {
    std::iter::successors(Some(error), |&error| error.source())
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// The SDK's timeouts need a timer, and without its feature `rt-tokio` it has none.
#[derive(Debug)]
struct TokioSleep;

impl AsyncSleep for TokioSleep {
    fn sleep(&self, duration: Duration) -> Sleep {
        Sleep::new(tokio::time::sleep(duration))
    }
}
