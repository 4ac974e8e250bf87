//! Builds an election, and checks its settings.

use std::time::Duration;

use dlock_core::{BuildError, Client, DLock, IntoClient};
use typed_builder::TypedBuilder;

use crate::{Election, shared::Times};

/// The default lease. The other defaults are fractions of the lease, whichever it is.
const LEASE: Duration = Duration::from_secs(60);
/// The longest time that a lock's waiter, and so a follower, may sleep.
const RAREST_ATTEMPTS: Duration = Duration::from_secs(3600);
/// The data that a leader stores with its lease ([`Record::data`](dlock_core::Record::data)), and that stays there when
/// the leader is gone. It shows readers of the record that the name is that of an election. A lock may carry the same
/// data, so make no decision depend on it.
pub const RECORD_DATA: &[u8] = b"dlock-election";
/// The locks' own default.
const MARGIN: f64 = 0.2;

/// The requested settings; `build()` checks them.
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
    /// The name of the election: that of a lock, the same on all instances.
    #[builder(setter(into))]
    name: String,
    /// How long the store keeps others out after the leader's last renewal. Default 60 s; see
    /// [`DLockBuilder::duration`](dlock_core::DLockBuilder::duration).
    #[builder(default = LEASE)]
    duration: Duration,
    /// How often the leader renews: a twentieth of the lease to 0.4 of it. Default a third of the lease (20 s).
    #[builder(default, setter(strip_option(fallback_suffix = "_opt")))]
    renew_every: Option<Duration>,
    /// How often a follower tries at most, in addition to the end of the leader's lease and to wake-ups: every 1 ms to
    /// 1 h. Default half the lease (30 s), at most 1 h.
    #[builder(default, setter(strip_option(fallback_suffix = "_opt")))]
    poll_every: Option<Duration>,
    /// The part of the lease by which a leader that gets no answer steps down early; see
    /// [`DLockBuilder::margin`](dlock_core::DLockBuilder::margin). Default 0.2: such a leader stops by 48 s.
    #[builder(
        default = MARGIN)]
    margin: f64,
    /// A label by which people recognise this instance. No decision depends on it. Default `host:pid`.
    #[builder(default, setter(into, strip_option(fallback_suffix = "_opt")))]
    owner: Option<String>,
    /// Whether this instance only follows: it makes no attempt to lead, but can read which instance leads. Default
    /// false.
    #[builder(default)]
    never_lead: bool,
    /// Whether a follower listens for wake-ups, if the store has them. Default true. If false, no connection is opened
    /// for them, and a follower notices a stopped leader at its next attempt.
    #[builder(default = true)]
    wakeups: bool,
    /// How long work may take to end on its own when the leader resigns, before it is dropped. Renewals continue
    /// meanwhile. Default a sixth of the lease (10 s).
    #[builder(default, setter(strip_option(fallback_suffix = "_opt")))]
    grace: Option<Duration>,
    /// How long an instance that has resigned on request stays a follower, so that another one can win. Default one and
    /// a quarter `poll_every`: by then every other instance has tried once.
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
