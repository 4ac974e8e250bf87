//! The cases. Each one's name says what it checks; the letters and numbers in comments are rules for a lock's store
//! (the book, "The contract"), which a claim keeps too.

mod claims;
mod endings;
mod enqueueing;
mod hints;
mod lanes;
mod leases;
mod limiting;
mod pausing;
mod periodic;
mod showing;
mod stopping;

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, SystemTime},
};

use dlock_core::{
    ErrorKind, Provider,
    provider::{Acquire, ReleaseOutcome, Renew, RenewOutcome},
};
use dlock_tasks::{
    Ages, Claim, ClaimKey, Claimed, Count, Ended, Ending, Enqueued, Filter, How, Kept, KeyUntil,
    NewTask, PausedQueue, Served, State, TaskStore, When,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::stage::{LONG, PATIENCE, Stage, claim, name, release, task};
use crate::slow::{in_time, joined, within};

pub(super) use self::{
    claims::*, endings::*, enqueueing::*, hints::*, lanes::*, leases::*, limiting::*, pausing::*,
    periodic::*, showing::*, stopping::*,
};

fn next(token: dlock_core::FencingToken) -> dlock_core::FencingToken {
    let next = dlock_core::FencingToken::new(token.get() + 1);
    next.unwrap_or_else(|| panic!("no token after {token}"))
}
