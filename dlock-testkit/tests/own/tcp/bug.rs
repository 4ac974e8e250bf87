//! The possible bugs of a driver, one wrong decision each.

use std::time::Duration;

use dlock_core::{
    FencingToken, Provider, ProviderError,
    provider::{AcquireOutcome, Release, ReleaseOutcome},
};
use dlock_testkit::memory::MemoryProvider;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// It automatically repeats a call that got no answer, as SDKs do: a bug only in a release.
    Repeats,
    /// One connection for all calls, even after a call without an answer.
    KeepsItsConnection,
    /// A connection that has ended is reused.
    KeepsBrokenConnections,
    NoLimit,
    /// A connection that breaks is `Fatal`.
    FatalWhenCut,
    /// A connection that breaks is `NotApplied`.
    DeniesWhatItSent,
    /// A connection that is refused is `Unknown`.
    UnsureOfRefusals,
    /// An acquire that got no answer is repeated with another uuid.
    AsksAnew,
    /// An acquire that got no answer was granted.
    AssumesItsGrants,
    /// A renewal that got no answer is a loss.
    LostWhenUnanswered,
    /// A renewal that got no answer has worked.
    AssumesItsRenewals,
    /// A release that got no answer has worked.
    AssumesItsReleases,
    /// A second release of one term is refused.
    ForgetsItsReleases,
    /// A release frees the lock, whichever client holds it.
    ReleasesAnybody,
    /// The store keeps others out for longer than requested.
    KeepsTooLong,
    /// The store gives the lock away too early.
    KeepsTooShort,
}

impl Bug {
    pub(crate) const fn is_hasty(self) -> bool {
        matches!(
            self,
            Self::AsksAnew
                | Self::AssumesItsGrants
                | Self::LostWhenUnanswered
                | Self::AssumesItsRenewals
                | Self::AssumesItsReleases
        )
    }

    pub(crate) fn lease(self, asked: Duration) -> Duration {
        match self {
            Self::KeepsTooLong => 3 * asked,
            Self::KeepsTooShort => asked * 2 / 3,
            _ => asked,
        }
    }
}

/// A grant that the store never made.
pub(crate) fn grant() -> AcquireOutcome {
    let token = FencingToken::new(1).expect("a token above zero");
    AcquireOutcome::Acquired(token.into())
}

/// The server's handling of a release.
pub(crate) async fn release(
    bug: Option<Bug>,
    store: &MemoryProvider,
    mut request: Release,
) -> Result<ReleaseOutcome, ProviderError> {
    let record = store.read(&request.name).await?;
    match (bug, record) {
        (Some(Bug::ForgetsItsReleases), Some(record)) if record.released => {
            return Ok(ReleaseOutcome::NotHeld(Some(record)));
        }
        (Some(Bug::ReleasesAnybody), Some(record)) => request.uuid = record.uuid,
        _ => {}
    }
    store.release(&request).await
}
