//! How a request is sent: within its own time limits, and with retries that share no quota with
//! other clients.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use aws_sdk_dynamodb::{
    config::{
        AsyncSleep, Builder, ConfigBag, Intercept, RuntimeComponents, Sleep,
        interceptors::BeforeDeserializationInterceptorContextRef,
        retry::{RetryConfig, RetryPartition},
        timeout::TimeoutConfig,
    },
    error::BoxError,
    primitives::{DateTime, DateTimeFormat},
};

/// How often the SDK may send a request that is not a conditional write, and its pauses in between:
/// a lease is short, so they are too.
const ATTEMPTS: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// The settings that override the client's own in each request of a provider.
#[derive(Clone)]
pub(crate) struct Calls {
    once: Builder,
    repeated: Builder,
}

impl Calls {
    pub(crate) fn new(attempt: Duration, operation: Duration) -> Self {
        // A partition for this provider alone: every DynamoDB client of the process shares the
        // default one, and their failures would use up our retries.
        let partition = RetryPartition::custom("dlock").build();
        let builder = |retries: RetryConfig| {
            let timeouts = TimeoutConfig::builder()
                .operation_attempt_timeout(attempt)
                .operation_timeout(operation)
                .build();
            Builder::new()
                .timeout_config(timeouts)
                .retry_config(retries)
                .retry_partition(partition.clone())
                .sleep_impl(TokioSleep)
        };
        Self {
            once: builder(RetryConfig::disabled()),
            repeated: builder(
                RetryConfig::standard()
                    .with_max_attempts(ATTEMPTS)
                    .with_initial_backoff(FIRST_PAUSE)
                    .with_max_backoff(LONGEST_PAUSE),
            ),
        }
    }

    /// For a conditional write: one request. The frontend repeats it, and then knows that it is a
    /// repeat. A release that the SDK silently repeated after a lost reply could find the next
    /// holder's record, and would be called "not held" although it had freed the lock.
    pub(crate) fn once(&self) -> Builder {
        self.once.clone()
    }

    /// For a request that may be repeated without effect.
    pub(crate) fn repeated(&self) -> Builder {
        self.repeated.clone()
    }
}

/// The SDK's timeouts need a timer, whichever features of the SDK are enabled.
#[derive(Debug)]
struct TokioSleep;

impl AsyncSleep for TokioSleep {
    fn sleep(&self, duration: Duration) -> Sleep {
        Sleep::new(tokio::time::sleep(duration))
    }
}

/// The store's clock, from its last reply: in seconds since 1970.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoreDate(Arc<AtomicU64>);

impl StoreDate {
    /// `None` if the last reply had no date.
    pub(crate) fn seconds(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|seconds| *seconds != 0)
    }
}

impl Intercept for StoreDate {
    fn name(&self) -> &'static str {
        "dlock::StoreDate"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context
            .response()
            .headers()
            .get("date")
            .and_then(|text| DateTime::from_str(text, DateTimeFormat::HttpDate).ok())
            .and_then(|date| u64::try_from(date.secs()).ok());
        self.0.store(date.unwrap_or(0), Ordering::Relaxed);
        Ok(())
    }
}
