//! The checks of `dlock doctor`, on a lock of its own: every call that holders and operators make, timed.

use std::{
    error::Error as _,
    time::{Duration, SystemTime},
};

use dlock_core::{
    Client, Clock, DLock, Error, ErrorKind, Lease, Name, ProviderError, Record, TryAcquire,
    provider::{Ask, List},
};
use dlock_stores::{Store, text::with_causes};

use super::report::{Finding, Report};
use crate::{
    bench::latencies::short,
    display::{Holding, exact, span, wall_clock},
    exit::{Exit, Failure},
    query,
};

const NAME: &str = "dlock-doctor";

/// How often the lock is taken, so that the result does not rest on one call that happened to be slow.
const ROUNDS: u32 = 5;

/// A clock that is further from ours than this is reported.
const APART: Duration = Duration::from_secs(2);

/// A call that takes more than this fraction of its time-out leaves too little margin for a bad day.
const TOO_SLOW: u32 = 4;

/// A store under examination.
pub(super) struct Patient<'a> {
    store: &'a Store,
    client: Client,
    lock: DLock,
    clock: Clock,
    /// The slowest call, and its name.
    slowest: (Duration, &'static str),
}

impl<'a> Patient<'a> {
    pub(super) fn new(store: &'a Store, lease: Duration) -> Result<Self, Failure> {
        let client = store.client();
        let lock = DLock::builder()
            .name(NAME)
            .duration(lease)
            .provider(&client)
            .build()?;
        Ok(Self {
            store,
            client,
            lock,
            clock: Clock::system(),
            slowest: (Duration::ZERO, "none"),
        })
    }

    pub(super) async fn examine(&mut self, report: &mut Report) -> Result<(), Failure> {
        let mut seen = None;
        for round in 0..ROUNDS {
            let rights = self.hold(round == 0, report).await;
            seen = Some(match rights {
                Ok(seen) => seen,
                Err(failure) => return report.note("rights", Err(failure), |()| String::new()),
            });
        }
        report.add(Finding::good("rights", "to lock, renew, read and release"));
        report.add(self.characters().await);
        if let Some(seen) = seen {
            if self.store.needs_observers() {
                report.add(self.memory());
            } else {
                report.add(clocks(&seen));
            }
        }
        report.add(latency(self.slowest, self.lock.duration()));
        Ok(())
    }

    /// Names and texts may have characters that a database with an encoding other than UTF8 cannot store.
    async fn characters(&self) -> Finding {
        let check = "characters";
        let refused = match Name::new("dlock-doctor \u{1f512}") {
            Ok(name) => self.store.provider().read(&name).await.err(),
            Err(_) => None,
        };
        match refused.filter(|error| error.kind() == ErrorKind::Fatal) {
            None => Finding::good(check, "all are possible in names and texts"),
            Some(error) => Finding::good(check, with_causes(&error.to_string(), error.source())).advise(
                "names with such characters are refused, and errors of tasks are kept with escapes in their place",
            ),
        }
    }

    /// Releases whatever is still held.
    pub(super) async fn close(self) {
        drop(self.lock);
        self.client.close().await;
    }

    /// Takes the lock, does what holders do, and releases it. The first time it also does what operators do.
    async fn hold(&mut self, first: bool, report: &mut Report) -> Result<Seen, Failure> {
        let before = wall_clock();
        let lock = self.lock.clone();
        let acquired = self.timed("acquire", lock.try_acquire()).await;
        let mut lease = match acquired {
            Ok(TryAcquire::Acquired(lease)) => lease,
            Ok(TryAcquire::Held(holder)) => {
                return Err(Failure::new(
                    Exit::NotAcquired,
                    format!(
                        "another 'dlock doctor' is at work: {NAME:?} is {}",
                        Holding(&holder.record)
                    ),
                ));
            }
            Err(error) => return Err(self.failure("can't lock", error).await),
        };
        let after = wall_clock();
        if let Err(error) = self.timed("renew", lease.renew()).await {
            return Err(self.failure("can't renew", error).await);
        }
        let record = match self.timed("read", lock.read()).await {
            Ok(Some(record)) => record,
            Ok(None) => {
                return Err(Failure::new(
                    Exit::StoreUnusable,
                    "the record that was written is not there",
                ));
            }
            Err(error) => return Err(self.failure("can't read", error).await),
        };
        if first {
            self.operate(&lease, report).await?;
        }
        if let Err(error) = self.timed("release", lease.release()).await {
            return Err(self.failure("can't release", error).await);
        }
        Ok(Seen {
            before,
            after,
            record,
        })
    }

    /// The calls of `dlock status` and `dlock ask`. A holder needs neither.
    async fn operate(&mut self, lease: &Lease, report: &mut Report) -> Result<(), Failure> {
        let store = self.store;
        let provider = store.provider();
        let request = List::new(NAME);
        let listing = async { provider.list(&request).await.map(drop) };
        let listed = self.bounded("list", listing).await;
        let request = Ask::new(Name::new(NAME)?, lease.uuid());
        let asking = async { provider.ask(&request).await.map(drop) };
        let asked = self.bounded("ask", asking).await;
        for (what, answer) in [("'dlock status'", listed), ("'dlock ask'", asked)] {
            let Err(failure) = answer else { continue };
            let why = failure.to_string();
            let finding = Finding::good("rights", format!("{what} is not possible: {why}"));
            report
                .add(finding.advise("holders need it not; grant it to those who look after locks"));
        }
        Ok(())
    }

    async fn bounded(
        &mut self,
        what: &'static str,
        call: impl Future<Output = Result<(), ProviderError>>,
    ) -> Result<(), Failure> {
        let store = self.store;
        self.timed(what, query::answer(store, what, call)).await
    }

    async fn timed<T>(&mut self, what: &'static str, call: impl Future<Output = T>) -> T {
        let began = self.clock.reading();
        let answer = call.await;
        let took = self.clock.reading().saturating_sub(began);
        self.slowest = self.slowest.max((took, what));
        answer
    }

    async fn failure(&self, doing: &str, error: Error) -> Failure {
        match error {
            Error::Provider(error) => self.store.failure(doing, error).await.into(),
            other => Failure::new(Exit::StoreUnreachable, doing).because(other),
        }
    }

    fn memory(&self) -> Finding {
        let check = "memory";
        if self.store.remembers() {
            Finding::good(
                check,
                "this machine's observations of locks are kept for its next programs",
            )
        } else {
            Finding::good(check, "a program's observations of locks end with it").advise(
                "set HOME or XDG_STATE_HOME to a folder on a local disk, or let programs wait for longer than the lease of a dead holder",
            )
        }
    }
}

/// A record of ours, and when it was written, by the clock of this machine.
struct Seen {
    before: SystemTime,
    after: SystemTime,
    record: Record,
}

/// Whether the slowest call leaves a margin for a bad day, at this lease.
fn latency((took, what): (Duration, &str), lease: Duration) -> Finding {
    let limit = lease / 6;
    let found = format!(
        "the slowest of all calls was {what}, {}; at a lease of {} each may take {}",
        short(took),
        exact(lease),
        short(limit)
    );
    let finding = Finding::good("latency", found);
    if took * TOO_SLOW <= limit {
        return finding;
    }
    let needed = (took * TOO_SLOW * 6).max(Duration::from_secs(1));
    finding.wrong(format!(
        "take a lease of {} or more, or move the store closer; 'dlock bench' measures more",
        exact(Duration::from_secs(needed.as_secs() + 1))
    ))
}

/// How far the store's clock is from ours, at least.
fn clocks(seen: &Seen) -> Finding {
    let Seen {
        before,
        after,
        record,
    } = seen;
    let behind = before.duration_since(record.since).unwrap_or_default();
    let ahead = record.since.duration_since(*after).unwrap_or_default();
    let (apart, way) = if behind > ahead {
        (behind, "behind")
    } else {
        (ahead, "ahead of")
    };
    let check = "clock";
    let since = record.since.duration_since(SystemTime::UNIX_EPOCH);
    let token = Duration::from_micros(record.token.get());
    if since.is_ok_and(|since| token > since + APART) {
        return Finding::good(check, "the store's clock is behind the tokens that it has granted").advise(
            "was it set back? Tokens keep growing, but after a loss of the store's memory they would not: let it catch up",
        );
    }
    if apart <= APART {
        return Finding::good(
            check,
            format!("the store's is within {} of this machine's", exact(APART)),
        );
    }
    Finding::good(
        check,
        format!("the store's is {} {way} this machine's", span(apart)),
    )
    .advise("let both follow the time of a server (chrony, systemd-timesyncd)")
}

#[cfg(test)]
mod tests {
    use dlock_core::FencingToken;

    use super::*;

    fn found(since: i64, token: u64) -> String {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let shift = Duration::from_secs(since.unsigned_abs());
        let since = if since < 0 { now - shift } else { now + shift };
        let token = FencingToken::new(token * 1_000_000).unwrap();
        let lease = Duration::from_secs(15);
        let record = Record::new(uuid::Uuid::from_u128(1), "o", since, token, lease);
        let (before, after) = (now, now + Duration::from_secs(1));
        format!(
            "{:?}",
            clocks(&Seen {
                before,
                after,
                record
            })
        )
    }

    #[test]
    fn store_that_is_too_slow_for_the_lease_must_be_mended() {
        let found = |took| {
            let slowest = (Duration::from_millis(took), "renew");
            format!("{:?}", latency(slowest, Duration::from_secs(12)))
        };
        assert!(found(500).contains("Ok"), "{}", found(500));
        let slow = found(501);
        assert!(slow.contains("Wrong"), "{slow}");
        assert!(
            slow.contains("renew") && slow.contains("take a lease of 13"),
            "{slow}"
        );
    }

    #[test]
    fn clock_that_is_apart_or_behind_its_tokens_is_told() {
        for within in [-2, 0, 1, 3] {
            assert!(found(within, 7).contains("Ok"), "{within}");
        }
        assert!(found(-3, 7).contains("3.0s behind"));
        assert!(found(60, 7).contains("59s ahead of"));
        assert!(found(0, 1_000_002).contains("Ok"));
        assert!(found(0, 1_000_003).contains("set back"));
    }
}
