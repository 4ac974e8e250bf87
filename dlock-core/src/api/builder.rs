//! Building a lock, and every check of its settings.

use std::{sync::Arc, time::Duration};

use typed_builder::TypedBuilder;

use crate::{
    BuildError, Client, DLock, IntoClient, Name, Record,
    lease::{Settings, checked_data, checked_owner},
    testing::Event,
    time::{Plan, default_poll},
};

const DEFAULT_DURATION: Duration = Duration::from_secs(15);

/// 20 %: covers two clocks that are each 10 % wrong, in opposite directions.
const DEFAULT_MARGIN: f64 = 0.2;
const LEAST_MARGIN: Duration = Duration::from_millis(2);

/// The requested settings; `build()` checks them.
#[derive(TypedBuilder)]
#[builder(
    builder_type(name = DLockBuilder, vis = "pub", doc = "Builds a [`DLock`]; made by [`DLock::builder`].\n\nAn optional setting has two setters: `poll_every` takes the value, `poll_every_opt` an `Option` of it, for a value that is known only at run time. `None` is the default."),
    builder_method(vis = "pub(crate)", name = start),
    build_method(into = Result<DLock, BuildError>, doc = "Checks the settings and makes the lock. Does not call the store.\n\n# Errors\nA [`BuildError`] for the first setting that is not allowed.")
)]
pub(crate) struct Options {
    /// The name to lock: 1 to 1024 bytes of UTF-8 without NUL, the provider's prefix included.
    #[builder(setter(into))]
    name: String,
    /// The store: a provider, an `Arc<dyn Provider>`, or a [`Client`]. Clones of one provider share one client
    /// automatically.
    #[builder(setter(transform = |provider: impl IntoClient| provider.into_client()))]
    provider: Client,
    /// A label that people see. It decides nothing: two leases with the same label exclude each other. At most 1024
    /// bytes without NUL. Default `host:pid`.
    #[builder(default, setter(into, strip_option(fallback_suffix = "_opt")))]
    owner: Option<String>,
    /// The lease D: how long the store keeps other clients out after the last renewal, and so how long they wait when
    /// a holder dies. Whole milliseconds, 100 ms to 24 h; default 15 s.
    ///
    /// Each call to the store gets at most a sixth of it, including the time to open a connection: several round
    /// trips, more with TLS and a password. So over a long distance a short lease can be renewed, but not acquired
    /// before a connection is open. In that case open one first: [`Provider::read`](crate::Provider::read) of any
    /// name has only the provider's own time limit. Or choose a lease of six times the time that logging in and one
    /// call take together.
    #[builder(default = DEFAULT_DURATION)]
    duration: Duration,
    /// How much earlier than the store the holder stops believing in the lease, so that clocks may run at different
    /// rates. A fraction of the lease, 0.01 to 0.5, and at least 2 ms; default 0.2, which covers clocks 10 % wrong on
    /// both sides.
    #[builder(default = DEFAULT_MARGIN)]
    margin: f64,
    /// How long after the last success the next renewal is sent: D/20 to 0.4 D, default D/3.
    #[builder(default, setter(strip_option(fallback_suffix = "_opt")))]
    renew_every: Option<Duration>,
    /// The longest that a waiter sleeps between two tries: 1 ms to 1 h. Default D/10 within 100 ms to 1 s, and D/3
    /// within 1 to 5 s while the store sends wake-ups.
    #[builder(default, setter(strip_option(fallback_suffix = "_opt")))]
    poll_every: Option<Duration>,
    /// Whether waiters listen for wake-ups where the store sends them. Default true. With `false` this lock opens no
    /// channel for them and only polls; a channel that another lock of the same client has opened still wakes it.
    #[builder(default = true)]
    wakeups: bool,
    /// How long an acquire keeps calling a store that does not answer at all: 1 ms to 24 h. Default D, at least 10 s.
    #[builder(default, setter(strip_option(fallback_suffix = "_opt")))]
    give_up_after: Option<Duration>,
    /// The longest time for which a guard renews its lease; at least D. After that the lease runs out and is lost
    /// with [`EndCause::HeldTooLong`](crate::EndCause::HeldTooLong). Default: no limit.
    #[builder(default, setter(strip_option(fallback_suffix = "_opt")))]
    max_hold: Option<Duration>,
    /// Keeps every other holder out for at least this long after the lock was requested, however short the work:
    /// *once per period, not a mutex*. A release before that leaves the name **closed** until then, by the store's
    /// clock (B4): for this process's own waiters too, and whether the lease was released by its handle, dropped, or
    /// released by `with`, also after a panic. Work that takes longer ends as usual. A crash closes nothing, nor does
    /// a lease that was lost: the work did not end, and the next holder may begin it anew. 100 ms to 24 h; it may be
    /// longer than the lease. Choose more than the clocks of your hosts differ by, and less than the period. Use it
    /// with [`try_acquire`](DLock::try_acquire): a caller that *waits* gets the lock when the name opens, and then
    /// does the work once more. On a store whose clock decides nothing (DynamoDB), a program that tries once and
    /// exits also needs [`Client::observations`], or it never sees the name open. Default none.
    #[builder(default, setter(strip_option(fallback_suffix = "_opt")))]
    at_least: Option<Duration>,
    /// Stored next to the lock while it is held, and readable without acquiring it: at most 4096 bytes. Default none.
    #[builder(default, setter(into, strip_option(fallback_suffix = "_opt")))]
    data: Option<Vec<u8>>,
    /// The value of the label `group` on the metrics of this lock and of locks made from it with `named`. Keep the
    /// number of groups small, since each is a series of its own; for the same reason a lock's name is not a label.
    /// Default none. Has no effect without the feature `metrics`.
    #[builder(default, setter(into, strip_option(fallback_suffix = "_opt")))]
    group: Option<String>,
}

impl DLock {
    /// Starts building a lock. Name and provider are required.
    ///
    /// A built lock has no invalid setting: `build()` returns a [`BuildError`] that says what is
    /// allowed.
    ///
    /// For a setting that is optional in a program's own configuration, use the setter with `_opt`:
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use dlock_core::{BuildError, DLock, Provider};
    /// fn lock(provider: impl Provider, owner: Option<String>, poll_every: Option<Duration>) -> Result<DLock, BuildError> {
    ///     DLock::builder()
    ///         .name("nightly")
    ///         .provider(provider)
    ///         .owner_opt(owner)
    ///         .poll_every_opt(poll_every)
    ///         .build()
    /// }
    /// ```
    pub fn builder() -> DLockBuilder {
        Options::start()
    }
}

impl From<Options> for Result<DLock, BuildError> {
    fn from(mut options: Options) -> Self {
        let group = options.group.take().map(Into::into);
        let plan = Arc::new(Plan {
            group,
            ..plan(&options)?
        });
        if plan.at_least.is_some() {
            let Client(store) = &options.provider;
            let capabilities = store.provider.capabilities();
            if !capabilities.closing {
                let backend = capabilities.backend;
                return Err(BuildError::NoClosing { backend });
            }
        }
        let Options {
            name,
            provider: Client(store),
            owner,
            data,
            ..
        } = options;
        let name = Name::new(name)?;
        let owner = owner.map_or_else(|| Ok(default_owner()), checked_owner)?;
        let data = data.map(checked_data).transpose()?;
        let lock = DLock(Arc::new(Settings {
            state: store.names.get(&name, &store.clock),
            store,
            name,
            owner: owner.into(),
            plan,
            data: data.map(Into::into),
        }));
        let Settings {
            store, name, plan, ..
        } = &*lock.0;
        store.emit(name, plan, || Event::Built);
        Ok(lock)
    }
}

fn plan(options: &Options) -> Result<Plan, BuildError> {
    let &Options {
        duration,
        margin,
        renew_every,
        poll_every,
        wakeups,
        give_up_after,
        max_hold,
        at_least,
        ..
    } = options;

    let whole = duration.subsec_nanos() % 1_000_000 == 0;
    if !whole || !(Record::SHORTEST..=Record::LONGEST).contains(&duration) {
        return Err(BuildError::Duration { duration });
    }
    // The duration is in range here, so the product is too. A NaN is in no range.
    let spare = if (0.01..=0.5).contains(&margin) {
        duration.mul_f64(margin)
    } else {
        Duration::ZERO
    };
    if spare < LEAST_MARGIN {
        return Err(BuildError::Margin { margin });
    }
    let renew_every = renew_every.unwrap_or(duration / 3);
    if renew_every < duration / 20 || renew_every > duration * 2 / 5 {
        return Err(BuildError::RenewEvery {
            renew_every,
            duration,
        });
    }
    let millisecond = Duration::from_millis(1);
    if let Some(poll_every) = poll_every
        && !(millisecond..=Duration::from_secs(3600)).contains(&poll_every)
    {
        return Err(BuildError::PollEvery { poll_every });
    }
    if let Some(give_up_after) = give_up_after
        && !(millisecond..=Record::LONGEST).contains(&give_up_after)
    {
        return Err(BuildError::GiveUpAfter { give_up_after });
    }
    if let Some(max_hold) = max_hold
        && max_hold < duration
    {
        return Err(BuildError::MaxHold { max_hold, duration });
    }
    if let Some(at_least) = at_least
        && !(Record::SHORTEST..=Record::LONGEST).contains(&at_least)
    {
        return Err(BuildError::AtLeast { at_least });
    }
    let seconds = Duration::from_secs;
    Ok(Plan {
        duration,
        margin: spare,
        renew_every,
        wakeups,
        poll_every: poll_every.unwrap_or(default_poll(duration)),
        poll_watched: poll_every.unwrap_or((duration / 3).clamp(seconds(1), seconds(5))),
        give_up_after: give_up_after.unwrap_or(duration.max(seconds(10))),
        max_hold,
        at_least,
        group: None,
        tasks: Arc::default(),
    })
}

/// `host:pid`, for people.
fn default_owner() -> String {
    format!("{}:{}", host(), std::process::id())
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn host() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn host() -> String {
    let named = ["HOSTNAME", "COMPUTERNAME"]
        .iter()
        .find_map(|key| std::env::var(key).ok());
    named.unwrap_or_else(|| "unknown-host".into())
}
