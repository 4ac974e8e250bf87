//! The rule tables of the contract as pure functions: record, request and time in, decision out.
//! Each branch carries its rule's number. Nothing here locks, waits or reads a clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dlock_core::{
    FencingToken, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Ask, AskOutcome, Closing, Discipline, Release, ReleaseOutcome,
        Renew, RenewOutcome, Revoke, RevokeOutcome,
    },
};

/// A record and its expiry on the store's clock, in microseconds. `record.remaining` is unset: it depends on the time
/// of the read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub record: Record,
    pub expiry: i64,
}

/// The moment of a decision.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    pub discipline: Discipline,
    /// The store's clock in microseconds, on which expiries are measured.
    pub clock: i64,
    /// How fast that clock runs against true time.
    pub rate: f64,
    /// Unix time in microseconds, for tokens and `since`.
    pub wall: u64,
}

/// The change to the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    Nothing,
    Put(Box<Stored>),
    Delete,
}

/// An operation's change to the record, and its answer.
#[derive(Clone, Debug)]
pub struct Decision<A> {
    pub write: Write,
    pub answer: Result<A, ProviderError>,
}

/// How long after its expiry a record may be purged (T5).
pub const PURGE_AFTER: Duration = Duration::from_hours(7 * 24);

#[expect(
    clippy::if_same_then_else,
    reason = "one branch per rule, as in the table"
)]
pub fn acquire(stored: Option<&Stored>, request: &Acquire, now: &Now) -> Decision<AcquireOutcome> {
    let Some(stored) = stored else {
        return take(None, request, now); // A1
    };
    let record = &stored.record;
    let expired = now.expired(stored);

    if record.uuid == request.new {
        if record.released || expired {
            Decision::answer(AcquireOutcome::Spent) // A3
        } else {
            Decision::answer(AcquireOutcome::Acquired(record.token.into())) // A2
        }
    } else if record.released {
        take(Some(stored), request, now) // A4
    } else if expired {
        take(Some(stored), request, now) // A5
    } else if request.prev == Some(record.version()) {
        take(Some(stored), request, now).with_mark(record.wanted) // A6, N2
    } else if request.marks != 0 && record.wanted == 0 {
        let mut marked = stored.clone();
        marked.record.wanted = request.marks;
        let answer = Ok(AcquireOutcome::Held(now.shows(&marked)));
        Decision {
            write: Write::Put(Box::new(marked)),
            answer, // A7, N1
        }
    } else {
        Decision::answer(AcquireOutcome::Held(now.shows(stored))) // A7
    }
}

/// *Take it*: every field is the new term's.
fn take(stored: Option<&Stored>, request: &Acquire, now: &Now) -> Decision<AcquireOutcome> {
    let Acquire {
        owner,
        new,
        duration,
        data,
        ..
    } = request;
    let last = stored.map(|stored| stored.record.token);
    let Some(tokens) = request.mint(last, now.minting(last)) else {
        return Decision {
            write: Write::Nothing,
            answer: Err(ProviderError::fatal(
                "the lock has used up its fencing tokens; use another name for what it protects",
            )),
        }; // T2
    };
    let mut record = Record::new(*new, owner, now.since(), tokens.last(), *duration);
    record.data.clone_from(data);
    let taken = Stored {
        record,
        expiry: now.clock + micros(*duration),
    };
    Decision {
        write: Write::Put(Box::new(taken)),
        answer: Ok(AcquireOutcome::Acquired(tokens)),
    }
}

pub fn renew(stored: Option<&Stored>, request: &Renew, now: &Now) -> Decision<RenewOutcome> {
    match stored {
        Some(stored) if stored.held_by(request.uuid) && stored.record.renewals >= request.n => {
            Decision::answer(RenewOutcome::Renewed {
                asked: stored.record.asked,
            }) // R2
        }
        Some(stored) if stored.held_by(request.uuid) && !now.expired(stored) => {
            let mut renewed = stored.clone();
            renewed.record.renewals = request.n;
            renewed.expiry = now.clock + micros(stored.record.duration);
            Decision {
                write: Write::Put(Box::new(renewed)),
                answer: Ok(RenewOutcome::Renewed {
                    asked: stored.record.asked,
                }), // R1
            }
        }
        other => Decision::answer(RenewOutcome::Lost(other.map(|stored| now.shows(stored)))), // R3
    }
}

pub fn release(stored: Option<&Stored>, request: &Release, now: &Now) -> Decision<ReleaseOutcome> {
    if let Some(closing) = &request.closing {
        return close(stored, request, closing, now);
    }
    match stored {
        Some(stored) if stored.held_by(request.uuid) => {
            let mut released = stored.clone();
            released.record.released = true;
            Decision {
                write: Write::Put(Box::new(released)),
                answer: Ok(stored.released()),
            } // L1
        }
        Some(stored) if stored.record.uuid == request.uuid => Decision::answer(stored.released()), // L2
        other => Decision::answer(ReleaseOutcome::NotHeld(
            other.map(|stored| now.shows(stored)),
        )), // L3
    }
}

fn close(
    stored: Option<&Stored>,
    request: &Release,
    closing: &Closing,
    now: &Now,
) -> Decision<ReleaseOutcome> {
    // B4
    match stored {
        Some(stored) if stored.held_by(closing.uuid()) => {
            Decision::answer(ReleaseOutcome::Released { wanted: false })
        }
        Some(stored) if stored.held_by(request.uuid) => {
            let mut closed = stored.clone();
            closed.record.uuid = closing.uuid();
            closed.record.renewals = 0;
            closed.record.duration = closing.lasts();
            closed.expiry = now.clock + micros(closing.lasts());
            Decision {
                write: Write::Put(Box::new(closed)),
                answer: Ok(ReleaseOutcome::Released { wanted: false }),
            }
        }
        other => Decision::answer(ReleaseOutcome::NotHeld(
            other.map(|stored| now.shows(stored)),
        )), // L3
    }
}

pub fn revoke(stored: Option<&Stored>, request: &Revoke, now: &Now) -> Decision<RevokeOutcome> {
    // B1
    match stored {
        Some(stored) if !stored.record.released && stored.record.version() == request.version => {
            let mut revoked = stored.clone();
            revoked.record.uuid = request.new;
            revoked.record.renewals = 0;
            Decision {
                write: Write::Put(Box::new(revoked)),
                answer: Ok(RevokeOutcome::Revoked),
            }
        }
        Some(stored) if stored.held_by(request.new) => Decision::answer(RevokeOutcome::Revoked),
        other => Decision::answer(RevokeOutcome::Changed(
            other.map(|stored| now.shows(stored)),
        )),
    }
}

pub fn ask(stored: Option<&Stored>, request: &Ask, now: &Now) -> Decision<AskOutcome> {
    // B3
    match stored {
        Some(stored) if stored.held_by(request.uuid) => {
            let mut asked = stored.clone();
            asked.record.asked = true;
            Decision {
                write: Write::Put(Box::new(asked)),
                answer: Ok(AskOutcome::Asked),
            }
        }
        other => Decision::answer(AskOutcome::Changed(other.map(|stored| now.shows(stored)))),
    }
}

/// T5: whether a purge may delete this record, released or not.
pub fn purgeable(stored: &Stored, now: &Now) -> bool {
    stored.expiry.saturating_add(micros(PURGE_AFTER)) <= now.clock
        && stored.record.token.get() < now.wall
}

impl<A> Decision<A> {
    pub const fn answer(answer: A) -> Self {
        Self {
            write: Write::Nothing,
            answer: Ok(answer),
        }
    }
}

impl Decision<AcquireOutcome> {
    /// A term that begins with a mark (N2).
    fn with_mark(mut self, wanted: u32) -> Self {
        if let Write::Put(stored) = &mut self.write {
            stored.record.wanted = wanted;
        }
        self
    }
}

impl Stored {
    /// N3.
    fn released(&self) -> ReleaseOutcome {
        ReleaseOutcome::Released {
            wanted: self.record.wanted != 0,
        }
    }

    pub fn held_by(&self, uuid: uuid::Uuid) -> bool {
        !self.record.released && self.record.uuid == uuid
    }
}

impl Now {
    /// The one comparison for every operation: at or past the expiry. Never on an observer's store.
    pub fn expired(&self, stored: &Stored) -> bool {
        self.discipline == Discipline::StoreClock && self.clock >= stored.expiry
    }

    /// The record as a reply made now shows it.
    pub fn shows(&self, stored: &Stored) -> Record {
        let mut record = stored.record.clone();
        record.remaining = match self.discipline {
            Discipline::StoreClock if !record.released => {
                let left = u64::try_from(stored.expiry.saturating_sub(self.clock)).unwrap_or(0);
                Some(Duration::from_millis(left.div_ceil(1000)).min(record.duration))
            }
            Discipline::StoreClock | Discipline::Observer => None,
        };
        record
    }

    /// The time that the next token follows. A store without a clock counts on from the record it has; only the first
    /// token of a name comes from a wall clock.
    fn minting(&self, last: Option<FencingToken>) -> u64 {
        match (self.discipline, last) {
            (Discipline::Observer, Some(_)) => 0,
            (Discipline::Observer, None) | (Discipline::StoreClock, _) => self.wall,
        }
    }

    fn since(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_micros(self.wall)
    }
}

/// 292,000 years fit; more is as good as never.
pub fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}
