//! How a request is sent: within time limits of its own, and with retries that share no quota with
//! anybody.

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

/// How often the SDK may send what is no conditional write, and its pauses in between: a lease is
/// short, so they are too.
const ATTEMPTS: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// What overrides the client's own settings in each request of a provider.
#[derive(Clone)]
pub(crate) struct Calls {
    once: Builder,
    repeated: Builder,
}

impl Calls {
    pub(crate) fn new(attempt: Duration, operation: Duration) -> Self {
        // A partition of this provider alone: the default one is shared by every DynamoDB client
        // of the process, whose failures would use up our retries.
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

    /// For a conditional write: one request. The frontend repeats it, and knows then that it does.
    /// A release that the SDK repeated behind its back after a lost reply could find the next
    /// holder's record, and would be called "not held" although it was what freed the lock.
    pub(crate) fn once(&self) -> Builder {
        self.once.clone()
    }

    /// For whatever changes nothing by being repeated.
    pub(crate) fn repeated(&self) -> Builder {
        self.repeated.clone()
    }
}

/// The SDK's timeouts need a timer, whatever features of the SDK are on.
#[derive(Debug)]
struct TokioSleep;

impl AsyncSleep for TokioSleep {
    fn sleep(&self, duration: Duration) -> Sleep {
        Sleep::new(tokio::time::sleep(duration))
    }
}

/// The store's clock, as its last reply told it: in seconds since 1970.
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
