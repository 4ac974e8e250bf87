//! Wrong decisions of acquire: the right decision on a changed request, or with a changed answer.

use std::{num::NonZeroU8, time::Duration};

use dlock_core::{
    FencingToken, ProviderError,
    provider::{Acquire, AcquireOutcome, Tokens},
};
use dlock_testkit::memory::rules::{self, Decision, Now, Stored, Write, micros};

use super::{Flaw, marks};

pub(super) fn acquire(
    flaw: Flaw,
    stored: Option<&Stored>,
    request: &Acquire,
    now: &Now,
) -> Decision<AcquireOutcome> {
    if let Some(stored) = stored
        && let Some(wrong) = instead(flaw, stored, request, now)
    {
        return wrong;
    }
    if flaw == Flaw::FloorExceeded && request.floor > 0 {
        let above = request.clone().floor(request.floor.saturating_add(1));
        return rules::acquire(stored, &above, now);
    }
    if flaw == Flaw::HugeFloorIgnored && request.floor > FencingToken::MAX.get() {
        return rules::acquire(stored, &request.clone().floor(0), now);
    }
    let right = rules::acquire(stored, &misread(flaw, stored, request), now);
    written(flaw, right, stored, request, now)
}

/// The request, misunderstood.
fn misread(flaw: Flaw, stored: Option<&Stored>, request: &Acquire) -> Acquire {
    let mut request = request.clone();
    let version = stored.map(|stored| stored.record.version());
    match (flaw, request.prev) {
        (Flaw::NullClaimMatches, None) => request.prev = version,
        (Flaw::ClaimIgnored, _) => request.prev = None,
        (Flaw::ClaimByUuid, Some(prev))
            if version.is_some_and(|version| version.uuid == prev.uuid) =>
        {
            request.prev = version;
        }
        (Flaw::ClaimByNumber, Some(prev))
            if version.is_some_and(|version| version.renewals == prev.renewals) =>
        {
            request.prev = version;
        }
        _ => {}
    }
    let ignored = match flaw {
        Flaw::FloorIgnored => request.floor <= FencingToken::MAX.get(),
        Flaw::FloorOnlyForTheFirst => stored.is_some() && request.floor <= FencingToken::MAX.get(),
        _ => false,
    };
    if ignored {
        request.floor = 0;
    }
    request
}

/// Another branch than the right one, for an existing record.
fn instead(
    flaw: Flaw,
    stored: &Stored,
    request: &Acquire,
    now: &Now,
) -> Option<Decision<AcquireOutcome>> {
    let record = &stored.record;
    let ours = record.uuid == request.new;
    let expired = now.expired(stored);
    let live = ours && !record.released && !expired;
    let held = || Some(Decision::answer(AcquireOutcome::Held(now.shows(stored))));
    let retaken = || Some(rules::acquire(Some(&strangers(stored)), request, now));
    match flaw {
        Flaw::ClaimHinders
            if (record.released || expired)
                && request.prev.is_some_and(|prev| prev != record.version()) =>
        {
            held()
        }
        Flaw::RepeatContends if live => held(),
        Flaw::RepeatOnlyUnrenewed if live && record.renewals > 0 => held(),
        Flaw::RepeatMintsToken if live => Some(rules::acquire(
            Some(&freed(&strangers(stored))),
            request,
            now,
        )),
        Flaw::RepeatExtends if live => {
            let mut extended = stored.clone();
            extended.expiry = now.clock + micros(record.duration);
            let write = Write::Put(Box::new(extended));
            Some(Decision {
                write,
                answer: Ok(AcquireOutcome::Acquired(record.token.into())),
            })
        }
        Flaw::SpentForgotten if ours && !live => retaken(),
        Flaw::SpentOnlyIfReleased if ours && expired && !record.released => Some(Decision::answer(
            AcquireOutcome::Acquired(record.token.into()),
        )),
        Flaw::RepeatClaimsBlock if live => {
            let claimed = Tokens::new(record.token, request.tokens)?;
            Some(Decision::answer(AcquireOutcome::Acquired(claimed)))
        }
        Flaw::ReleasedStaysHeld if !ours && record.released && !expired => held(),
        Flaw::ExpiredStaysHeld if !ours && expired && !record.released => held(),
        Flaw::ExpiredIsTakenOnObserver if !ours && now.clock >= stored.expiry => {
            Some(rules::acquire(Some(&freed(stored)), request, now))
        }
        Flaw::AcquireStrictlyPast if expired && now.clock == stored.expiry => {
            let earlier = Now {
                clock: now.clock - 1,
                ..*now
            };
            Some(rules::acquire(Some(stored), request, &earlier))
        }
        Flaw::ExpiresEarly if !ours && now.clock + micros(record.duration) / 3 >= stored.expiry => {
            Some(rules::acquire(Some(&freed(stored)), request, now))
        }
        Flaw::MarkIsOfTheVersion
            if record.wanted != 0 && request.prev == Some(record.version()) && !record.released =>
        {
            held()
        }
        Flaw::MarkRevivesReleased if !ours && record.released && request.marks != 0 => {
            let answer = Ok(AcquireOutcome::Held(now.shows(stored)));
            let write = marks::revived(stored, request);
            Some(Decision { write, answer })
        }
        Flaw::OwnerDecides if !ours && !record.released && record.owner == request.owner => {
            Some(rules::acquire(Some(&freed(stored)), request, now))
        }
        _ => None,
    }
}

/// Changes the decision's write.
fn written(
    flaw: Flaw,
    mut decision: Decision<AcquireOutcome>,
    stored: Option<&Stored>,
    request: &Acquire,
    now: &Now,
) -> Decision<AcquireOutcome> {
    match &mut decision {
        Decision {
            write: Write::Put(taken),
            answer: Ok(AcquireOutcome::Acquired(tokens)),
        } => {
            if let Some(old) = stored {
                kept(flaw, taken, old);
            }
            let old = stored.map(|stored| &stored.record);
            marks::taken(flaw, &mut taken.record, old, request);
            shrunk(flaw, taken);
            if let Some(wrong) = minted(flaw, stored, request, now, tokens.last()) {
                taken.record.token = wrong;
                *tokens = wrong.into();
            }
            if let Some((shown, wrong)) = block(flaw, stored, request, now, *tokens) {
                taken.record.token = shown;
                *tokens = wrong;
            }
            if flaw == Flaw::TokensEndEarly && tokens.last() == FencingToken::MAX {
                return refused("the last token is kept back");
            }
        }
        Decision {
            write,
            answer: Ok(AcquireOutcome::Held(shown)),
        } => {
            if let Some(stored) = stored
                && let Some(changed) = touched(flaw, stored, request, now)
            {
                *write = Write::Put(Box::new(changed));
            }
            if let Some(stored) = stored {
                marks::left(flaw, (write, shown), stored, request, now);
            }
            match flaw {
                Flaw::RemainingNeverEnds => shown.remaining = Some(shown.duration),
                Flaw::RemainingIsMissing => shown.remaining = None,
                Flaw::RemainingOnObserver => shown.remaining = Some(shown.duration),
                _ => {}
            }
        }
        Decision {
            write: Write::Nothing,
            answer: Err(_),
        } => match flaw {
            Flaw::TokenWraps => {
                let from_the_start = stored.map(|stored| {
                    let mut stored = stored.clone();
                    stored.record.token = least();
                    stored
                });
                return rules::acquire(from_the_start.as_ref(), &request.clone().floor(0), now);
            }
            Flaw::CeilingWrites => {
                let mut taken = rules::acquire(None, &request.clone().floor(0), now);
                taken.answer = decision.answer;
                return taken;
            }
            Flaw::BlockReachesBack if request.floor <= FencingToken::MAX.get() => {
                let last = request.clone().tokens(NonZeroU8::MIN);
                let mut taken = rules::acquire(stored, &last, now);
                if let (Write::Put(taken), Ok(AcquireOutcome::Acquired(tokens))) =
                    (&mut taken.write, &mut taken.answer)
                {
                    taken.record.token = FencingToken::MAX;
                    *tokens = Tokens::new(FencingToken::MAX, request.tokens).unwrap_or(*tokens);
                }
                return taken;
            }
            _ => {}
        },
        _ => {}
    }
    decision
}

/// The fields of the old term that a takeover leaves in place.
fn kept(flaw: Flaw, taken: &mut Stored, old: &Stored) {
    let (taken_record, old_record) = (&mut taken.record, &old.record);
    match flaw {
        Flaw::KeepsDuration => taken_record.duration = old_record.duration,
        Flaw::KeepsExpiry => taken.expiry = old.expiry,
        Flaw::KeepsOwner => taken_record.owner.clone_from(&old_record.owner),
        Flaw::KeepsSince => taken_record.since = old_record.since,
        Flaw::KeepsData if taken_record.data.is_none() => {
            taken_record.data.clone_from(&old_record.data);
        }
        Flaw::KeepsAsked => taken_record.asked = old_record.asked,
        Flaw::KeepsNumber => taken_record.renewals = old_record.renewals,
        _ => {}
    }
}

/// The fields, narrowed by a store's types.
fn shrunk(flaw: Flaw, taken: &mut Stored) {
    let record = &mut taken.record;
    match flaw {
        Flaw::EmptyDataIsNone => record.data = record.data.take().filter(|data| !data.is_empty()),
        Flaw::DataIsText => {
            record.data = record
                .data
                .take()
                .map(|data| String::from_utf8_lossy(&data).into_owned().into_bytes());
        }
        Flaw::DataIsCut => {
            if let Some(data) = &mut record.data {
                data.truncate(255);
            }
        }
        Flaw::OwnerIsCut => record.owner.truncate(record.owner.floor_char_boundary(255)),
        Flaw::DurationInSeconds => {
            record.duration = Duration::from_secs(record.duration.as_secs().max(1));
        }
        Flaw::DurationIs24Bits => {
            let millis = u64::try_from(record.duration.as_millis()).unwrap_or(u64::MAX);
            record.duration = Duration::from_millis(millis & 0xff_ffff);
        }
        _ => {}
    }
}

/// Another token than the right one.
fn minted(
    flaw: Flaw,
    stored: Option<&Stored>,
    request: &Acquire,
    now: &Now,
    right: FencingToken,
) -> Option<FencingToken> {
    let last = stored.map(|stored| stored.record.token);
    let next = last.map_or(1, |last| last.get() + 1);
    let token = match flaw {
        Flaw::KeepsToken if stored.is_some_and(|stored| !stored.record.released) => {
            last?.get().max(request.floor)
        }
        Flaw::TokenWithoutClock => next.max(request.floor),
        Flaw::TokenInMillis => next.max(now.wall / 1000).max(request.floor),
        Flaw::TokenNotAboveLast => now.wall.max(request.floor),
        Flaw::ClockOnlyForTheFirst if last.is_some() => next.max(request.floor),
        Flaw::TokenLosesDigits => right.get() / 10 * 10,
        _ => return None,
    };
    FencingToken::new(token)
}

/// Another block than the right one: the token that the record shows, and the tokens in the answer.
fn block(
    flaw: Flaw,
    stored: Option<&Stored>,
    request: &Acquire,
    now: &Now,
    right: Tokens,
) -> Option<(FencingToken, Tokens)> {
    let count = request.tokens;
    let more = u64::from(count.get()) - 1;
    if more == 0 {
        return None;
    }
    let last = stored.map_or(0, |stored| stored.record.token.get());
    let end = match flaw {
        Flaw::BlockShownByItsFirst => return Some((right.first(), right)),
        Flaw::BlockIsOneToken => right.first().get(),
        Flaw::BlockBeginsAtTheLast => right.last().get() - 1,
        Flaw::BlockIsNotMinted => right.first().get(),
        Flaw::BlockEndsAtTheFloor => (last + 1 + more).max(now.wall + more).max(request.floor),
        Flaw::BlockWithoutClock => (last + 1).max(request.floor) + more,
        _ => return None,
    };
    let end = FencingToken::new(end)?;
    let answered = match flaw {
        Flaw::BlockIsOneToken => end.into(),
        _ => Tokens::new(end, count)?,
    };
    Some((end, answered))
}

/// The write that a refusal should not make.
fn touched(flaw: Flaw, stored: &Stored, request: &Acquire, now: &Now) -> Option<Stored> {
    let mut stored = stored.clone();
    match flaw {
        Flaw::RefusedAsks => stored.record.asked = true,
        Flaw::RefusedExtends => stored.expiry = now.clock + micros(stored.record.duration),
        Flaw::RefusedRaisesToken => {
            stored.record.token = FencingToken::new(request.floor)
                .unwrap_or(least())
                .max(stored.record.token);
        }
        _ => return None,
    }
    Some(stored)
}

pub(super) fn freed(stored: &Stored) -> Stored {
    let mut stored = stored.clone();
    stored.record.released = true;
    stored
}

pub(super) fn strangers(stored: &Stored) -> Stored {
    let mut stored = stored.clone();
    stored.record.uuid = uuid::Uuid::nil();
    stored
}

fn refused(why: &str) -> Decision<AcquireOutcome> {
    Decision {
        write: Write::Nothing,
        answer: Err(ProviderError::fatal(why)),
    }
}

fn least() -> FencingToken {
    match FencingToken::new(1) {
        Some(token) => token,
        None => FencingToken::MAX,
    }
}
