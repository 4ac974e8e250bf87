//! The cases. Names and comments quote the rules K and E.

#![expect(
    missing_docs,
    clippy::missing_panics_doc,
    reason = "a case panics where it fails, and its name says what must hold"
)]

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
    Ages, Claim, ClaimKey, Claimed, Count, Ended, Ending, Enqueued, Filter, How, Kept, NewTask,
    PausedQueue, Served, State, TaskStore, When,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::{LONG, PATIENCE, Stage, TaskFixture, claim, name, release, task};
use crate::slow::{in_time, joined, within};

pub use self::{
    claims::*, endings::*, enqueueing::*, hints::*, lanes::*, leases::*, limiting::*, pausing::*,
    periodic::*, showing::*, stopping::*,
};

fn next(token: dlock_core::FencingToken) -> dlock_core::FencingToken {
    let next = dlock_core::FencingToken::new(token.get() + 1);
    next.unwrap_or_else(|| panic!("no token after {token}"))
}
