//! The store: the tables A, R, L and B1 of the protocol, word for word. First rule that fits.

use crate::{
    config::Config,
    state::{Id, NOBODY, REVOKED, Record, Row, Version},
    trap::Trap,
};

/// The line of a table that answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the protocol's tables")]
#[expect(clippy::exhaustive_enums, reason = "the tables are closed")]
pub enum Rule {
    A1,
    A2,
    A3,
    A4,
    A5,
    A6,
    A7,
    R1,
    R2,
    R3,
    L1,
    L2,
    L3,
    /// Closed.
    B4,
    /// Already closed by this term.
    B4Again,
    /// Revoked.
    B1,
    /// Already revoked by this revoke.
    B1Again,
    /// Changed.
    B1Changed,
}

/// An acquire as it arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acquire {
    pub(crate) new: Id,
    pub(crate) prev: Option<Version>,
    pub(crate) duration: u8,
    /// T1: how many tokens a grant brings.
    pub(crate) block: u8,
    /// T1: the lowest token, and the store's time as one.
    pub(crate) floor: u8,
    pub(crate) now: u8,
}

/// The store's clock is at or past the expiry. Stores of observers never report that.
pub(crate) fn expired(config: &Config, record: &Record) -> bool {
    config.store_clock() && record.held() && record.expiry <= 0
}

/// acquire: A1 to A7.
pub(crate) fn acquire(config: &Config, record: &mut Record, request: Acquire) -> Rule {
    let Acquire { new, prev, .. } = request;
    let own = record.version.uuid == new && record.row != Row::Absent;
    let expired = expired(config, record);
    let released = record.row == Row::Released;
    let unchanged = if config.is(Trap::ClaimByUuid) {
        prev.is_some_and(|prev| prev.uuid == record.version.uuid)
    } else {
        prev == Some(record.version)
    };

    let rule = if record.row == Row::Absent {
        Rule::A1
    } else if record.held() && own && !expired && !config.is(Trap::A2Removed) {
        Rule::A2
    } else if own && (released || expired) && !config.is(Trap::A3Removed) {
        Rule::A3
    } else if released && !config.is(Trap::A4Removed) {
        Rule::A4
    } else if expired && !config.is(Trap::A5Removed) {
        Rule::A5
    } else if record.held()
        && unchanged
        && !config.is(Trap::A6Removed)
        && !config.is(Trap::StoreClockBackWithoutA6)
    {
        Rule::A6
    } else {
        Rule::A7
    };
    if matches!(rule, Rule::A1 | Rule::A4 | Rule::A5 | Rule::A6) {
        take(config, record, request);
    }
    rule
}

/// Every field is written.
fn take(config: &Config, record: &mut Record, request: Acquire) {
    let Acquire { new, duration, .. } = request;
    let token = if config.is(Trap::TokenResetOnRelease) && record.row == Row::Released {
        1
    } else if config.is(Trap::TokenKept) {
        record.token.max(1)
    } else {
        mint(config, record, request)
    };
    let duration = if config.is(Trap::TakeKeepsDuration) && record.row != Row::Absent {
        record.duration
    } else {
        duration
    };
    *record = Record {
        row: Row::Held,
        version: Version {
            uuid: new,
            renewals: 0,
        },
        duration,
        expiry: life(config, duration),
        token,
        grant: record.grant + 1,
    };
}

/// T1: the token that the record shows, the last of the block.
fn mint(config: &Config, record: &Record, request: Acquire) -> u8 {
    let Acquire {
        block, floor, now, ..
    } = request;
    if config.shows_beginning() {
        // Every party takes the last block to be as large as its own.
        return (record.token + block).max(now).max(floor);
    }
    (record.token + 1).max(now).max(floor) + block - 1
}

/// The last token of the block that the record shows, as a client hears it.
pub(crate) fn last_of_block(config: &Config, record: &Record, block: u8) -> u8 {
    if config.shows_beginning() {
        record.token + block - 1
    } else {
        record.token
    }
}

/// renew: R1 to R3.
pub(crate) fn renew(config: &Config, record: &mut Record, uuid: Id, number: u8) -> Rule {
    let own = record.held_by(uuid)
        || (config.is(Trap::RenewalWithoutUuid) && record.held())
        || (config.is(Trap::RenewalRevivesReleased)
            && record.version.uuid == uuid
            && record.row == Row::Released);
    let newer = record.version.renewals < number || config.is(Trap::RenewalNumberUnchecked);
    let alive = !expired(config, record) || config.is(Trap::RenewalRevivesExpired);
    if own && newer && alive {
        record.row = Row::Held;
        record.version.renewals = number;
        record.expiry = life(config, record.duration);
        Rule::R1
    } else if own && record.version.renewals >= number && !config.is(Trap::R2Removed) {
        Rule::R2
    } else {
        Rule::R3
    }
}

/// release: L1 to L3. `confirmed` is the number that a wrong client believes in.
pub(crate) fn release(config: &Config, record: &mut Record, uuid: Id, confirmed: u8) -> Rule {
    let own = record.version.uuid == uuid || config.is(Trap::ReleaseWithoutUuid);
    let wrong_state =
        config.is(Trap::ReleaseByConfirmedState) && record.version.renewals != confirmed;
    if record.held() && own && !wrong_state {
        record.row = Row::Released;
        Rule::L1
    } else if record.row == Row::Released && own {
        Rule::L2
    } else {
        Rule::L3
    }
}

/// B4: uuid, number, duration and expiry change. Everything else stays.
pub(crate) fn close(
    config: &Config,
    record: &mut Record,
    uuid: Id,
    closing: Id,
    duration: u8,
) -> Rule {
    let again = record.held_by(closing);
    if again && !config.is(Trap::RepeatedClosingExtends) {
        Rule::B4Again
    } else if again || record.held_by(uuid) {
        record.version = Version {
            uuid: closing,
            renewals: 0,
        };
        record.duration = duration;
        record.expiry = life(config, duration);
        if config.is(Trap::ClosingIgnored) {
            record.row = Row::Released;
        }
        Rule::B4
    } else {
        Rule::L3
    }
}

/// B1: everything except uuid and number stays.
pub(crate) fn revoke(record: &mut Record, version: Version) -> Rule {
    if record.held() && record.version == version && version.uuid != NOBODY {
        record.version = Version {
            uuid: REVOKED,
            renewals: 0,
        };
        Rule::B1
    } else if record.held_by(REVOKED) {
        Rule::B1Again
    } else {
        Rule::B1Changed
    }
}

/// The expiry that a write at this instant gives a record.
fn life(config: &Config, duration: u8) -> i8 {
    if config.store_clock() {
        duration.cast_signed() + i8::from(config.is(Trap::KeptTooLong))
    } else {
        0
    }
}
