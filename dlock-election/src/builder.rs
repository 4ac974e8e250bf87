//! Building an election, and every check of its settings.

use std::time::Duration;

use dlock_core::{BuildError, Client, DLock, IntoClient};
use typed_builder::TypedBuilder;

use crate::{Election, shared::Times};

/// Seed values of the design that this crate grew from (002-1); the ratios stay when the lease is
/// another.
const LEASE: Duration = Duration::from_secs(60);
/// The longest that a lock's waiter may sleep, and so a follower.
const RAREST_ATTEMPTS: Duration = Duration::from_secs(3600);
/// What a leader keeps beside its lease ([`Record::data`](dlock_core::Record::data)), and leaves there when it is gone:
/// it tells those who read the record that the name is that of an election. A lock may carry the same, so nothing is to be
/// decided by it.
pub const RECORD_DATA: &[u8] = b"dlock-election";
/// The locks' own default.
const MARGIN: f64 = 0.2;

/// What was asked for; `build()` checks it.
#[derive(TypedBuilder)]
#[builder(
    builder_type(name = ElectionBuilder, vis = "pub", doc = "Builds an [`Election`]; made by [`Election::builder`].\n\nA setting that an election can do without has two setters, as those of a [lock](dlock_core::DLockBuilder): `owner` takes the value, `owner_opt` an `Option` of it."),
    builder_method(vis = "pub(crate)", name = start),
    build_method(into = Result<Election, BuildError>, doc = "Checks the settings. Talks to no store.\n\n# Errors\nA [`BuildError`] for the first setting that no lease can have.")
)]
pub(crate) struct Request {
    /// The store: a provider, an `Arc<dyn Provider>`, or a [`Client`].
    #[builder(setter(transform = |provider: impl IntoClient| provider.into_client()))]
    provider: Client,
    /// What the instances elect a leader for: the name of a lock, the same on all of them.
    #[builder(setter(into))]
    name: String,
    /// How long the store keeps others out after the leader's last renewal. Default 60 s; see
    /// [`DLockBuilder::duration`](dlock_core::DLockBuilder::duration).
    #[builder(default = LEASE)]
    duration: Duration,
    /// How often the leader renews: a twentieth of the lease to 0.4 of it. Default a third of the lease (20 s).
    #[builder(default, setter(strip_option(fallback_suffix = "_opt")))]
    renew_every: Option<Duration>,
    /// How often a follower asks the store, at most, besides at the end of the leader's lease and when it is woken: 1
    /// ms to 1 h. Default half the lease (30 s), at most 1 h.
    #[builder(default, setter(strip_option(fallback_suffix = "_opt")))]
    poll_every: Option<Duration>,
    /// The part of the lease after which a leader that hears nothing steps down early; see
    /// [`DLockBuilder::margin`](dlock_core::DLockBuilder::margin). Default 0.2: a leader is gone by 48 s.
    #[builder(
        default = MARGIN)]
    margin: f64,
    /// How people recognise this instance. It decides nothing. Default `host:pid`.
    #[builder(default, setter(into, strip_option(fallback_suffix = "_opt")))]
    owner: Option<String>,
    /// Whether this instance only follows: it asks the store for nothing by itself, and can tell who leads. Default
    /// false.
    #[builder(default)]
    never_lead: bool,
    /// Whether a follower listens for wake-ups where the store has them. Default true. Without, no connection is opened
    /// for them, and a stopped leader is followed at the next attempt.
    #[builder(default = true)]
    wakeups: bool,
    /// How long work may take to end by itself when the leader resigns, before it is dropped. Renewals go on meanwhile.
    /// Default a sixth of the lease (10 s).
    #[builder(default, setter(strip_option(fallback_suffix = "_opt")))]
    grace: Option<Duration>,
    /// How long an instance that has resigned on request stays a follower, so that another one can win. Default one and
    /// a quarter `poll_every`: by then everybody has asked once.
    #[builder(default, setter(strip_option(fallback_suffix = "_opt")))]
    cool_down: Option<Duration>,
}

impl Election {
    /// Starts building an election. Provider and name are required.
    pub fn builder() -> ElectionBuilder {
        Request::start()
    }
}

impl From<Request> for Result<Election, BuildError> {
    fn from(request: Request) -> Self {
        let Request {
            provider,
            name,
            duration,
            renew_every,
            poll_every,
            margin,
            owner,
            never_lead,
            wakeups,
            grace,
            cool_down,
        } = request;
        let poll_every = poll_every.unwrap_or_else(|| RAREST_ATTEMPTS.min(duration / 2));
        let lock = DLock::builder()
            .group(name.clone())
            .name(name)
            .provider(provider)
            .data(RECORD_DATA)
            .duration(duration)
            .margin(margin)
            .poll_every(poll_every)
            .wakeups(wakeups)
            .renew_every_opt(renew_every)
            .owner_opt(owner)
            .build()?;
        let times = Times {
            poll_every,
            grace: grace.unwrap_or(duration / 6),
            cool_down: cool_down.unwrap_or(poll_every * 5 / 4),
        };
        Ok(Election::new(lock, times, never_lead))
    }
}
