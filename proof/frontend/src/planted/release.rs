//! Wrong decisions of release, revoke and ask.

use std::time::UNIX_EPOCH;

use dlock_core::{
    FencingToken, Record,
    provider::{Ask, AskOutcome, Release, ReleaseOutcome, Revoke, RevokeOutcome},
};
use dlock_testkit::memory::rules::{self, Decision, Now, Stored, Write, micros};

use super::{Flaw, marks};

pub(super) fn release(
    flaw: Flaw,
    stored: Option<&Stored>,
    request: &Release,
    now: &Now,
) -> Decision<ReleaseOutcome> {
    let Some(stored) = stored else {
        let mut decision = rules::release(None, request, now);
        if flaw == Flaw::ReleaseCreates {
            let mut record = Record::new(
                request.uuid,
                "",
                UNIX_EPOCH,
                FencingToken::MAX,
                std::time::Duration::ZERO,
            );
            record.released = true;
            decision.write = Write::Put(Box::new(Stored { record, expiry: 0 }));
        }
        return decision;
    };
    if request.closing.is_some() {
        return close(flaw, stored, request, now);
    }
    let record = &stored.record;
    let refused = || Decision::answer(ReleaseOutcome::NotHeld(Some(now.shows(stored))));
    let mut seen = stored.clone();
    match flaw {
        Flaw::ReleaseNeedsToken if request.token != Some(record.token) => return refused(),
        Flaw::ReleaseNeedsLife if now.expired(stored) && !record.released => return refused(),
        Flaw::ReleaseNeedsNoRenewals if record.renewals > 0 && !record.released => {
            return refused();
        }
        Flaw::RepeatedReleaseIsRefused if record.released => return refused(),
        Flaw::ReleaseOfAnyTerm => seen.record.uuid = request.uuid,
        _ => {}
    }
    let mut decision = rules::release(Some(&seen), request, now);
    if let Decision {
        write: Write::Put(released),
        ..
    } = &mut decision
    {
        match flaw {
            Flaw::ReleaseDeletes => decision.write = Write::Delete,
            Flaw::ReleaseResetsToken => {
                released.record.token = FencingToken::new(1).unwrap_or(record.token);
            }
            Flaw::ReleaseClearsData => released.record.data = None,
            Flaw::ReleaseClearsRequest => released.record.asked = false,
            Flaw::ReleaseOfAnyTerm => released.record.uuid = record.uuid,
            _ => {}
        }
    }
    if let (Flaw::NotHeldShowsNothing, Ok(ReleaseOutcome::NotHeld(shown))) =
        (flaw, &mut decision.answer)
    {
        *shown = None;
    }
    marks::released(flaw, decision, record, false)
}

fn close(flaw: Flaw, stored: &Stored, request: &Release, now: &Now) -> Decision<ReleaseOutcome> {
    let record = &stored.record;
    let refused = || Decision::answer(ReleaseOutcome::NotHeld(Some(now.shows(stored))));
    let repeated = record.is_closed();
    let mut seen = stored.clone();
    let mut asked = request.clone();
    match flaw {
        Flaw::ClosingIgnored => asked.closing = None,
        Flaw::ClosingNeedsLife if now.expired(stored) => return refused(),
        Flaw::RepeatedClosingIsRefused if repeated => return refused(),
        Flaw::RepeatedClosingExtends if repeated => seen.record.uuid = request.uuid,
        Flaw::ClosingOfAnyTerm => seen.record.uuid = request.uuid,
        Flaw::ClosingOfReleased => seen.record.released = false,
        _ => {}
    }
    let mut decision = rules::release(Some(&seen), &asked, now);
    if let Decision {
        write: Write::Put(closed),
        ..
    } = &mut decision
    {
        match flaw {
            Flaw::ClosingKeepsUuid => closed.record.uuid = record.uuid,
            Flaw::ClosingKeepsNumber => closed.record.renewals = record.renewals,
            Flaw::ClosingKeepsDuration => closed.record.duration = record.duration,
            Flaw::ClosingKeepsExpiry => closed.expiry = stored.expiry,
            Flaw::ClosingClearsData => closed.record.data = None,
            Flaw::ClosingMintsToken => {
                closed.record.token =
                    FencingToken::new(record.token.get() + 1).unwrap_or(record.token);
            }
            _ => {}
        }
    }
    if let (Flaw::NotHeldShowsNothing, Ok(ReleaseOutcome::NotHeld(shown))) =
        (flaw, &mut decision.answer)
    {
        *shown = None;
    }
    marks::released(flaw, decision, record, true)
}

pub(super) fn revoke(
    flaw: Flaw,
    stored: Option<&Stored>,
    request: &Revoke,
    now: &Now,
) -> Decision<RevokeOutcome> {
    let Some(stored) = stored else {
        return rules::revoke(None, request, now);
    };
    let record = &stored.record;
    let mut seen = stored.clone();
    match flaw {
        Flaw::RevokeByUuid if record.uuid == request.version.uuid => {
            seen.record.renewals = request.version.renewals;
        }
        Flaw::RevokeReleased => seen.record.released = false,
        Flaw::RepeatedRevokeIsRefused if record.uuid == request.new => {
            return Decision::answer(RevokeOutcome::Changed(Some(now.shows(stored))));
        }
        _ => {}
    }
    let mut decision = rules::revoke(Some(&seen), request, now);
    if let Decision {
        write: Write::Put(revoked),
        ..
    } = &mut decision
    {
        match flaw {
            Flaw::RevokeFrees => revoked.record.released = true,
            Flaw::RevokeExtends => revoked.expiry = now.clock + micros(record.duration),
            Flaw::RevokeClearsMark => revoked.record.wanted = 0,
            Flaw::RevokeKeepsNumber => revoked.record.renewals = record.renewals,
            Flaw::RevokeMintsToken => {
                revoked.record.token =
                    FencingToken::new(record.token.get() + 1).unwrap_or(record.token);
            }
            _ => {}
        }
    }
    decision
}

pub(super) fn ask(
    flaw: Flaw,
    stored: Option<&Stored>,
    request: &Ask,
    now: &Now,
) -> Decision<AskOutcome> {
    let Some(stored) = stored else {
        return rules::ask(None, request, now);
    };
    let record = &stored.record;
    let mut seen = stored.clone();
    match flaw {
        Flaw::AskOfAnyTerm => seen.record.uuid = request.uuid,
        Flaw::AskOfReleased => seen.record.released = false,
        Flaw::AskIsRefusedTwice if record.asked => {
            return Decision::answer(AskOutcome::Changed(Some(now.shows(stored))));
        }
        _ => {}
    }
    let mut decision = rules::ask(Some(&seen), request, now);
    if let Decision {
        write: Write::Put(asked),
        ..
    } = &mut decision
    {
        match flaw {
            Flaw::AskOfAnyTerm => asked.record.uuid = record.uuid,
            Flaw::AskOfReleased => asked.record.released = record.released,
            Flaw::AskClearsMark => asked.record.wanted = 0,
            Flaw::AskCounts => asked.record.renewals += 1,
            _ => {}
        }
    }
    decision
}
