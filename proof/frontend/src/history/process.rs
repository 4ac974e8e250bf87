//! One process of a history: the beliefs of its clients, and their calls.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use dlock_core::{
    Client, Clock, EndCause, ErrorKind, FencingToken, Name, Provider, ProviderError, ReleaseEnd,
    testing::{AcquireEnd, Event, Recorder, seeded_client},
};
use uuid::Uuid;

use super::{
    Axis, Line, Log, Recorded,
    line::{Cause, Micros, Outcome, What, micros},
};

/// Records one process: a [`Recorder`] for its client, and a wrapper for its provider. Cheap to
/// clone; clones are the same process.
#[derive(Clone)]
pub struct Process(Arc<Inner>);

struct Inner {
    log: Log,
    name: Arc<str>,
    clock: Clock,
    axis: Axis,
    attempts: AtomicU64,
}

impl Process {
    pub(super) fn new(log: Log, name: &str, clock: Clock, axis: Axis, rate: Option<f64>) -> Self {
        log.note(name, "", What::Start { rate });
        Self(Arc::new(Inner {
            log,
            name: name.into(),
            clock,
            axis,
            attempts: AtomicU64::new(0),
        }))
    }

    /// A client on this process's clock over a provider, both recorded.
    #[must_use]
    pub fn client(&self, provider: impl Provider) -> Client {
        Client::with_clock(self.wrap(provider), self.0.clock.clone()).recorded(self.recorder())
    }

    /// As [`Process::client`], with uuids and jitter from a seed: only for simulations.
    #[must_use]
    pub fn simulated_client(&self, provider: impl Provider, seed: u64) -> Client {
        seeded_client(self.wrap(provider), self.0.clock.clone(), seed).recorded(self.recorder())
    }

    /// For [`Client::recorded`].
    #[must_use]
    pub fn recorder(&self) -> Arc<dyn Recorder> {
        Arc::new(self.clone())
    }

    /// The provider with its calls recorded.
    #[must_use]
    pub fn wrap<P: Provider>(&self, provider: P) -> Recorded<P> {
        Recorded::new(provider, self.clone())
    }

    /// Checks whether a lease is valid, and records the answer with the instant *before* the check.
    pub fn look(
        &self,
        name: &Name,
        (uuid, token): (Uuid, FencingToken),
        is_valid: impl FnOnce() -> bool,
    ) -> bool {
        let token = Some(token.get());
        let t = self.now();
        let valid = is_valid();
        self.write(t, name, What::Look { uuid, token, valid });
        valid
    }

    /// The name of the process.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Now, on the global axis.
    #[must_use]
    pub fn now(&self) -> Micros {
        self.0.log.now()
    }

    pub(super) fn attempt(&self) -> u64 {
        self.0.attempts.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn note(&self, name: &Name, what: What) {
        self.write(self.now(), name, what);
    }

    fn write(&self, t: Micros, name: &Name, what: What) {
        self.0.log.write(Line {
            t,
            process: Arc::clone(&self.0.name),
            name: name.as_str().into(),
            what,
        });
    }
}

impl Recorder for Process {
    fn record(&self, name: &Name, _: Duration, event: Event) {
        let global = |reading| self.0.axis.global(reading);
        let what = match event {
            Event::AcquireBegan { call, waits, limit } => What::Ask {
                handle: call,
                waits,
                limit: limit.map(micros),
            },
            Event::AcquireEnded { call, end, .. } => {
                let (outcome, lease) = ask_end(end);
                What::AskEnd {
                    handle: call,
                    outcome,
                    uuid: lease.map(|(uuid, _)| uuid),
                    token: lease.map(|(_, token)| token),
                }
            }
            Event::Tried {
                uuid,
                sent,
                duration,
                prev,
                floor,
            } => What::Try {
                uuid,
                sent: global(sent),
                duration: micros(duration),
                prev: prev.map(Into::into),
                floor,
            },
            Event::Granted(uuid, token, believed) => What::Grant {
                uuid,
                token: token.get(),
                sent: global(believed.sent),
                valid_until: global(believed.valid_until),
                unsure_from: global(believed.unsure_from),
            },
            Event::KeptAlive(uuid, token) => What::Keep {
                uuid,
                token: Some(token.get()),
            },
            Event::Renewed {
                uuid,
                token,
                n,
                believed,
                ..
            } => What::Credit {
                uuid,
                token: Some(token.get()),
                n,
                sent: global(believed.sent),
                valid_until: global(believed.valid_until),
                unsure_from: global(believed.unsure_from),
            },
            Event::Ended {
                uuid, token, cause, ..
            } => What::End {
                uuid,
                token: Some(token.get()),
                cause: (&cause).into(),
            },
            Event::EndDelivered(uuid, token) => What::Told {
                uuid,
                token: Some(token.get()),
            },
            Event::ReleaseBegan(uuid, token) => What::ReleaseBegan {
                uuid,
                token: token.map(FencingToken::get),
            },
            Event::ReleaseEnded(uuid, token, ended) => What::ReleaseEnded {
                uuid,
                token: token.map(FencingToken::get),
                outcome: release_end(&ended),
            },
            // To its holder, the lease was released.
            Event::HandedOn(uuid, token) => What::ReleaseEnded {
                uuid,
                token: Some(token.get()),
                outcome: Outcome::Ok,
            },
            // An event for which this version of the format has no line.
            _ => return,
        };
        // Every line's `t` is read from one clock, so that none is before its cause by a rounding.
        self.write(self.now(), name, what);
    }
}

const fn ask_end(end: AcquireEnd) -> (Outcome, Option<(Uuid, u64)>) {
    let outcome = match end {
        AcquireEnd::Granted(uuid, token) => return (Outcome::Ok, Some((uuid, token.get()))),
        AcquireEnd::Held => Outcome::Held,
        AcquireEnd::TimedOut => Outcome::Timeout,
        AcquireEnd::Closed => Outcome::Closed,
        AcquireEnd::Failed(kind) => error_outcome(kind),
        AcquireEnd::Dropped => Outcome::Dropped,
        _ => Outcome::Unknown,
    };
    (outcome, None)
}

fn release_end(ended: &Result<ReleaseEnd, ProviderError>) -> Outcome {
    match ended {
        Ok(ReleaseEnd::Released) => Outcome::Ok,
        Ok(ReleaseEnd::NotHeld(_)) => Outcome::Lost,
        Ok(ReleaseEnd::Unconfirmed) => Outcome::Unknown,
        Err(error) => error_outcome(error.kind()),
    }
}

pub(super) const fn error_outcome(kind: ErrorKind) -> Outcome {
    match kind {
        ErrorKind::NotApplied => Outcome::Error,
        ErrorKind::Unknown => Outcome::Unknown,
        ErrorKind::Fatal => Outcome::Fatal,
    }
}

impl From<&EndCause> for Cause {
    fn from(cause: &EndCause) -> Self {
        match cause {
            EndCause::Refused { .. } => Self::Refused,
            EndCause::HeldTooLong => Self::HeldTooLong,
            EndCause::Released => Self::Released,
            EndCause::HandedOver => Self::HandedOver,
            _ => Self::Expired,
        }
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Process").field(&self.0.name).finish()
    }
}
