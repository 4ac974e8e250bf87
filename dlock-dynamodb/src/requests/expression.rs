//! The conditional writes as DynamoDB's expressions: A1 to A7, N1, R1, L1, B1, B3, B4 are one condition and one update
//! each. `requests.rs` decides the meaning of a failed condition.
//!
//! Every write on an existing item also demands that the item is a record in all its fields ([`SOUND`]): DynamoDB
//! evaluates `#u <> :new` as true if there is no `#u` at all, so without that condition an acquire could overwrite a
//! foreign item.

use std::collections::HashMap;

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};
use dlock_core::{
    Record,
    provider::{Acquire, Ask, Closing, Release, Renew, Revoke, Version},
};
use uuid::Uuid;

use crate::record::{ATTRIBUTES, DURATIONS, MAX_EXACT};

/// One `UpdateItem`, without its table and key.
#[derive(Clone, Debug)]
pub(crate) struct Update {
    pub(crate) condition: String,
    pub(crate) update: String,
    pub(crate) values: HashMap<String, AttributeValue>,
    /// It names the key attribute, as `#k`.
    pub(crate) names_key: bool,
    /// It names the clean-up attribute, as `#l`.
    pub(crate) names_ttl: bool,
}

/// The item is a record. Every item that `record::read` accepts passes; of the others, only those whose flaw a parser
/// alone can see.
const SOUND: &str = "attribute_type(#u, :S) AND size(#u) = :uuid \
    AND #n BETWEEN :zero AND :max AND attribute_type(#o, :S) AND #s BETWEEN :zero AND :max \
    AND #t BETWEEN :one AND :max AND #d BETWEEN :short AND :long \
    AND attribute_type(#r, :BOOL) AND attribute_type(#a, :BOOL) \
    AND (attribute_not_exists(#x) OR (attribute_type(#x, :B) AND size(#x) <= :much)) \
    AND (attribute_not_exists(#w) OR #w BETWEEN :zero AND :marks)";

/// The start of a take if there is no record: the token before the first one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start(u64);

impl Start {
    /// `max(floor, the wall clock in microseconds) - 1` (T1); `None` if the new tokens would not end below
    /// 2^53 (T2).
    pub(crate) fn new(request: &Acquire, seed: u64) -> Option<Self> {
        let tokens = request.mint(None, seed)?;
        Some(Self(tokens.first().get() - 1))
    }
}

/// A1, and A4 or the claim of `prev` (A6), with the tokens from `last + 1` on, on the condition that this is not below
/// the floor. Without a `start` only an existing record can be taken.
pub(crate) fn take(
    request: &Acquire,
    prev: Option<Version>,
    since: u64,
    start: Option<Start>,
) -> Update {
    let mut update = taking(request, prev, since);
    let least = if request.floor == 0 {
        "-1".to_owned()
    } else {
        (request.floor - 1).to_string()
    };
    update.value(":least", AttributeValue::N(least));
    // For one token the values that every write has suffice; DynamoDB refuses unused values.
    let (count, end) = match u64::from(request.tokens.get()) {
        1 => (":one", ":max"),
        count => {
            update.value(":count", whole(count));
            update.value(":end", whole(MAX_EXACT + 1 - count));
            (":count", ":end")
        }
    };
    update.condition = format!("{} AND #t >= :least AND #t < {end}", update.condition);
    update.update = match start {
        Some(Start(start)) => {
            update.value(":start", whole(start));
            update.condition = format!("attribute_not_exists(#k) OR ({})", update.condition);
            update.names_key = true;
            format!(
                "#t = if_not_exists(#t, :start) + {count}, {}",
                update.update
            )
        }
        None => format!("#t = #t + {count}, {}", update.update),
    };
    update.update.insert_str(0, "SET ");
    update
}

/// A4, A6 if the record's token is more than one below the floor: DynamoDB cannot compute a maximum, so the first new
/// token becomes the floor on the condition that this is a rise.
pub(crate) fn take_at_floor(request: &Acquire, prev: Option<Version>, since: u64) -> Update {
    let mut update = taking(request, prev, since);
    update.value(":least", whole(request.floor.saturating_sub(1)));
    let more = u64::from(request.tokens.get() - 1);
    update.value(":last", whole(request.floor + more));
    update.condition = format!("{} AND #t < :least", update.condition);
    update.update = format!("SET #t = :last, {}", update.update);
    update
}

/// The common part of both kinds of take: every field but the token, on a record that may be taken.
fn taking(request: &Acquire, prev: Option<Version>, since: u64) -> Update {
    let Acquire {
        name: _,
        owner,
        prev: _,
        new,
        duration,
        data,
        floor: _,
        ..
    } = request;
    let mut update = Update::of_a_record();
    update.value(":new", text(new));
    update.value(":owner", AttributeValue::S(owner.clone()));
    update.value(":since", whole(since));
    update.value(":d", AttributeValue::N(duration.as_millis().to_string()));
    update.value(":false", AttributeValue::Bool(false));
    // A claim keeps the record's mark (N2).
    let (free, mark) = match prev {
        None => {
            update.value(":true", AttributeValue::Bool(true));
            ("#r = :true", ", #w = :zero")
        }
        Some(version) => {
            update.version(version);
            ("#r = :false AND #u = :pu AND #n = :pn", "")
        }
    };
    update.condition = format!("{SOUND} AND #u <> :new AND {free}");
    let fields =
        "#u = :new, #n = :zero, #o = :owner, #s = :since, #d = :d, #r = :false, #a = :false";
    // The clean-up attribute is removed, even if another client wrote it: DynamoDB would delete a held record.
    update.names_ttl = true;
    update.update = match data {
        None => format!("{fields}{mark} REMOVE #x, #l"),
        Some(data) => {
            update.value(":x", AttributeValue::B(Blob::new(data.clone())));
            format!("{fields}{mark}, #x = :x REMOVE #l")
        }
    };
    update
}

/// N1.
pub(crate) fn mark(uuid: &Uuid, marks: u32) -> Update {
    let mut update = Update::of_term(uuid);
    update.value(":m", whole(marks.into()));
    let unmarked = " AND (attribute_not_exists(#w) OR #w = :zero)";
    update.condition.push_str(unmarked);
    update.update = "SET #w = :m".into();
    update
}

/// R1.
pub(crate) fn renew(request: &Renew) -> Update {
    let Renew { uuid, n, .. } = request;
    let mut update = Update::of_term(uuid);
    update.value(":to", whole(*n));
    update.condition.push_str(" AND #n < :to");
    update.update = "SET #n = :to".into();
    update
}

/// L1. `clean_up`: when DynamoDB may delete the record, in seconds since 1970.
pub(crate) fn release(request: &Release, clean_up: Option<u64>) -> Update {
    let mut update = Update::of_term(&request.uuid);
    update.value(":true", AttributeValue::Bool(true));
    update.update = "SET #r = :true".into();
    if let Some(seconds) = clean_up {
        update.value(":l", whole(seconds));
        update.update.push_str(", #l = :l");
        update.names_ttl = true;
    }
    update
}

/// B4. No clean-up attribute: the record is held.
pub(crate) fn close(request: &Release, closing: &Closing) -> Update {
    let mut update = Update::of_term(&request.uuid);
    update.value(":new", text(&closing.uuid()));
    let lasts = closing.lasts().as_millis().to_string();
    update.value(":d", AttributeValue::N(lasts));
    update.update = "SET #u = :new, #n = :zero, #d = :d".into();
    update
}

/// B1.
pub(crate) fn revoke(request: &Revoke) -> Update {
    let Revoke { version, new, .. } = request;
    let mut update = Update::of_a_record();
    update.version(*version);
    update.value(":new", text(new));
    update.value(":false", AttributeValue::Bool(false));
    update.condition = format!("{SOUND} AND #u = :pu AND #n = :pn AND #r = :false");
    update.update = "SET #u = :new, #n = :zero".into();
    update
}

/// B3.
pub(crate) fn ask(request: &Ask) -> Update {
    let mut update = Update::of_term(&request.uuid);
    update.value(":true", AttributeValue::Bool(true));
    update.update = "SET #a = :true".into();
    update
}

impl Update {
    /// On any record; the condition still has to say which one.
    fn of_a_record() -> Self {
        let mut update = Self {
            condition: String::new(),
            update: String::new(),
            values: HashMap::with_capacity(24),
            names_key: false,
            names_ttl: false,
        };
        for (name, value) in [
            (":S", AttributeValue::S("S".into())),
            (":B", AttributeValue::S("B".into())),
            (":BOOL", AttributeValue::S("BOOL".into())),
            (":uuid", whole(36)),
            (":zero", whole(0)),
            (":one", whole(1)),
            (":max", whole(MAX_EXACT)),
            (":short", whole(*DURATIONS.start())),
            (":long", whole(*DURATIONS.end())),
            (":much", AttributeValue::N(Record::MAX_DATA.to_string())),
            (":marks", whole(u32::MAX.into())),
        ] {
            update.value(name, value);
        }
        update
    }

    /// On a record that this term holds.
    fn of_term(uuid: &Uuid) -> Self {
        let mut update = Self::of_a_record();
        update.value(":u", text(uuid));
        update.value(":false", AttributeValue::Bool(false));
        update.condition = format!("{SOUND} AND #u = :u AND #r = :false");
        update
    }

    fn version(&mut self, version: Version) {
        self.value(":pu", text(&version.uuid));
        self.value(":pn", whole(version.renewals));
    }

    fn value(&mut self, name: &str, value: AttributeValue) {
        self.values.insert(name.to_owned(), value);
    }

    /// The aliases that the update uses: DynamoDB refuses unused ones.
    pub(crate) fn names(&self, key: &str, ttl: &str) -> HashMap<String, String> {
        let mut names: HashMap<String, String> = ATTRIBUTES
            .iter()
            .map(|(alias, name)| ((*alias).to_owned(), (*name).to_owned()))
            .collect();
        if self.names_key {
            names.insert("#k".into(), key.to_owned());
        }
        if self.names_ttl {
            names.insert("#l".into(), ttl.to_owned());
        }
        names
    }
}

pub(crate) fn whole(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

pub(crate) fn text(uuid: &Uuid) -> AttributeValue {
    AttributeValue::S(uuid.hyphenated().to_string())
}
