//! How each request changes the record that it finds: A1 to A7, R1 to R3, L1 to L3, B1, B3, B4, N1 to N3. Nothing here
//! calls a store.

use dlock_core::{
    FencingToken, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Ask, AskOutcome, Closing, Release, ReleaseOutcome, Renew,
        RenewOutcome, Revoke, RevokeOutcome, Tokens,
    },
};

use crate::clock::Wall;

/// The consequence of a record.
pub(crate) enum Step<T> {
    /// The answer, without a write.
    Answer(T),
    /// This record replaces the one that was found; once it does, that is the answer.
    Write(Record, T),
}

pub(crate) type Decision<T> = Result<Step<T>, ProviderError>;

pub(crate) fn acquire(
    request: &Acquire,
    found: Option<&Record>,
    now: Wall,
) -> Decision<AcquireOutcome> {
    let (last, wanted) = match found {
        None => (None, 0), // A1
        Some(record) if record.uuid == request.new => {
            return Ok(Step::Answer(if record.released {
                AcquireOutcome::Spent // A3
            } else {
                AcquireOutcome::Acquired(record.token.into()) // A2
            }));
        }
        Some(record) if record.released => (Some(record.token), 0), // A4
        Some(record) if request.prev == Some(record.version()) => {
            (Some(record.token), record.wanted) // A6, N2
        }
        Some(record) if request.marks != 0 && record.wanted == 0 => {
            let mut record = record.clone();
            record.wanted = request.marks;
            return Ok(Step::Write(record.clone(), AcquireOutcome::Held(record))); // A7, N1
        }
        Some(record) => return Ok(Step::Answer(AcquireOutcome::Held(record.clone()))), // A7
    };
    let tokens = mint(request, last, now)?;
    let since = std::time::UNIX_EPOCH + std::time::Duration::from_micros(now.micros());
    let mut record = Record::new(
        request.new,
        &request.owner,
        since,
        tokens.last(),
        request.duration,
    );
    record.data.clone_from(&request.data);
    record.wanted = wanted;
    Ok(Step::Write(record, AcquireOutcome::Acquired(tokens)))
}

/// The tokens of a grant: T1, T2. They follow the clock at every grant, not only at the first of a name: a store that
/// has lost acknowledged writes would hand out `last + 1` once more.
fn mint(request: &Acquire, last: Option<FencingToken>, now: Wall) -> Result<Tokens, ProviderError> {
    let sane = now.sane();
    if last.is_none() && sane.is_none() {
        return Err(ProviderError::fatal(
            "the lock has no record yet, and its first token would come from this machine's clock, \
             which is not between 2024 and 2100: set the clock",
        ));
    }
    request.mint(last, sane.unwrap_or(0)).ok_or_else(|| {
        ProviderError::fatal("the lock's fencing tokens are used up: use another name")
    })
}

pub(crate) fn renew(request: &Renew, found: Option<&Record>) -> Decision<RenewOutcome> {
    Ok(match found {
        Some(record) if record.held_by(request.uuid) => {
            let renewed = RenewOutcome::Renewed {
                asked: record.asked,
            };
            if record.renewals >= request.n {
                Step::Answer(renewed) // R2
            } else {
                let mut record = record.clone();
                record.renewals = request.n;
                Step::Write(record, renewed) // R1
            }
        }
        other => Step::Answer(RenewOutcome::Lost(other.cloned())), // R3
    })
}

/// `maybe_applied`: an earlier write of this very request was refused, but that may have been the answer to its repeat.
pub(crate) fn release(
    request: &Release,
    found: Option<&Record>,
    maybe_applied: bool,
) -> Decision<ReleaseOutcome> {
    let ours = match &request.closing {
        Some(closing) => close(request, closing, found),
        None => found
            .filter(|record| record.uuid == request.uuid)
            .map(|record| {
                let outcome = ReleaseOutcome::Released {
                    wanted: record.wanted != 0, // N3
                };
                if record.released {
                    Step::Answer(outcome) // L2
                } else {
                    let mut record = record.clone();
                    record.released = true;
                    Step::Write(record, outcome) // L1
                }
            }),
    };
    match ours {
        Some(step) => Ok(step),
        // That earlier write may have let the next holder in.
        None if maybe_applied => Err(ProviderError::unknown(
            "the lock is not held any more, perhaps by this release",
        )),
        None => Ok(Step::Answer(ReleaseOutcome::NotHeld(found.cloned()))), // L3
    }
}

/// B4.
fn close(
    request: &Release,
    closing: &Closing,
    found: Option<&Record>,
) -> Option<Step<ReleaseOutcome>> {
    let record = found?;
    if record.held_by(closing.uuid()) {
        return Some(Step::Answer(ReleaseOutcome::Released { wanted: false }));
    }
    record.held_by(request.uuid).then(|| {
        let mut record = record.clone();
        record.uuid = closing.uuid();
        record.renewals = 0;
        record.duration = closing.lasts();
        Step::Write(record, ReleaseOutcome::Released { wanted: false })
    })
}

/// B1.
pub(crate) fn revoke(request: &Revoke, found: Option<&Record>) -> Decision<RevokeOutcome> {
    Ok(match found {
        Some(record) if record.held_by(request.new) => Step::Answer(RevokeOutcome::Revoked),
        Some(record) if !record.released && record.version() == request.version => {
            let mut record = record.clone();
            record.uuid = request.new;
            record.renewals = 0;
            Step::Write(record, RevokeOutcome::Revoked)
        }
        other => Step::Answer(RevokeOutcome::Changed(other.cloned())),
    })
}

/// B3.
pub(crate) fn ask(request: &Ask, found: Option<&Record>) -> Decision<AskOutcome> {
    Ok(match found {
        // Writing it once more would repeat contents.
        Some(record) if record.held_by(request.uuid) && record.asked => {
            Step::Answer(AskOutcome::Asked)
        }
        Some(record) if record.held_by(request.uuid) => {
            let mut record = record.clone();
            record.asked = true;
            Step::Write(record, AskOutcome::Asked)
        }
        other => Step::Answer(AskOutcome::Changed(other.cloned())),
    })
}
