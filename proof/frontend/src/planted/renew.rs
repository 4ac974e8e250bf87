//! Wrong decisions of renew.

use dlock_core::provider::{Acquire, AcquireOutcome, Renew, RenewOutcome};
use dlock_testkit::memory::rules::{self, Decision, Now, Stored, Write, micros};

use super::Flaw;

pub(super) fn renew(
    flaw: Flaw,
    stored: Option<&Stored>,
    request: &Renew,
    now: &Now,
) -> Decision<RenewOutcome> {
    let right = || rules::renew(stored, request, now);
    let Some(stored) = stored else {
        if flaw != Flaw::RenewalCreates {
            return lost(flaw, right());
        }
        let created = Acquire::new(
            request.name.clone(),
            request.uuid,
            std::time::Duration::from_secs(10),
        );
        let Decision { write, answer } = rules::acquire(None, &created, now);
        return Decision {
            write,
            answer: answer.map(|_: AcquireOutcome| RenewOutcome::Renewed { asked: false }),
        };
    };
    let record = &stored.record;
    let ours = stored.held_by(request.uuid);
    let repeated = ours && record.renewals >= request.n;
    let mut seen = stored.clone();
    match flaw {
        Flaw::RepeatedRenewalIsLost if repeated => {
            return Decision::answer(RenewOutcome::Lost(Some(now.shows(stored))));
        }
        Flaw::RepeatAfterExpiryIsLost if repeated && now.expired(stored) => {
            return Decision::answer(RenewOutcome::Lost(Some(now.shows(stored))));
        }
        Flaw::MarkedRenewalIsLost if ours && record.wanted != 0 => {
            return Decision::answer(RenewOutcome::Lost(Some(now.shows(stored))));
        }
        Flaw::RepeatedRenewalExtends if repeated => {
            seen.expiry = now.clock + micros(record.duration);
            return applied(seen);
        }
        Flaw::RenewalWithoutNumber if ours => seen.record.renewals = 0,
        Flaw::RenewalRevivesExpired => seen.expiry = i64::MAX,
        Flaw::RenewalRevivesReleased if record.uuid == request.uuid => seen.record.released = false,
        Flaw::RenewalOfAnyTerm => seen.record.uuid = request.uuid,
        Flaw::RenewStrictlyPast if now.clock == stored.expiry => {
            return rules::renew(
                Some(stored),
                request,
                &Now {
                    clock: now.clock - 1,
                    ..*now
                },
            );
        }
        _ => {}
    }
    let mut decision = rules::renew(Some(&seen), request, now);
    let Decision {
        write: Write::Put(renewed),
        answer,
    } = &mut decision
    else {
        return lost(flaw, decision);
    };
    match flaw {
        Flaw::RenewalOfAnyTerm => renewed.record.uuid = record.uuid,
        Flaw::RenewalDoesNotExtend => renewed.expiry = stored.expiry,
        Flaw::RenewalExtendsFromExpiry => renewed.expiry = stored.expiry + micros(record.duration),
        Flaw::RenewalIsStored32Bits => renewed.record.renewals = request.n & 0xffff_ffff,
        Flaw::RenewalCountsByOne => renewed.record.renewals = record.renewals + 1,
        Flaw::RenewalMintsToken => {
            let next = record.token.get() + 1;
            renewed.record.token = dlock_core::FencingToken::new(next).unwrap_or(record.token);
        }
        Flaw::RenewalMovesSince => {
            renewed.record.since =
                std::time::UNIX_EPOCH + std::time::Duration::from_micros(now.wall);
        }
        Flaw::RenewalClearsData => renewed.record.data = None,
        Flaw::RenewalClearsMark => renewed.record.wanted = 0,
        Flaw::RenewalTakesRequestBack => renewed.record.asked = false,
        Flaw::RequestIsNotTold => *answer = Ok(RenewOutcome::Renewed { asked: false }),
        _ => {}
    }
    decision
}

/// The same, as a batch's statement decides it.
pub(super) fn batched(
    flaw: Flaw,
    stored: Option<&Stored>,
    request: &Renew,
    now: &Now,
) -> Decision<RenewOutcome> {
    let mut decision = renew(flaw, stored, request, now);
    match (flaw, &mut decision) {
        (
            Flaw::BatchDoesNotExtend,
            Decision {
                write: Write::Put(renewed),
                ..
            },
        ) => {
            if let Some(stored) = stored {
                renewed.expiry = stored.expiry;
            }
        }
        (
            Flaw::BatchClearsMark,
            Decision {
                write: Write::Put(renewed),
                ..
            },
        ) => renewed.record.wanted = 0,
        (
            Flaw::BatchDoesNotTell,
            Decision {
                answer: Ok(RenewOutcome::Renewed { asked }),
                ..
            },
        ) => *asked = false,
        _ => {}
    }
    decision
}

fn applied(stored: Stored) -> Decision<RenewOutcome> {
    let asked = stored.record.asked;
    Decision {
        write: Write::Put(Box::new(stored)),
        answer: Ok(RenewOutcome::Renewed { asked }),
    }
}

fn lost(flaw: Flaw, mut decision: Decision<RenewOutcome>) -> Decision<RenewOutcome> {
    if let (Flaw::LostShowsNothing, Ok(RenewOutcome::Lost(shown))) = (flaw, &mut decision.answer) {
        *shown = None;
    }
    decision
}
