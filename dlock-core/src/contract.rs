//! The contract that a store implements: [`Provider`], its requests, its answers and their errors, and the types that
//! they are made of.

mod build_error;
mod capabilities;
mod error;
mod holding;
mod limits;
mod mark;
mod name;
mod outcome;
mod provider;
mod record;
mod request;
mod sharing;
mod token;
mod tokens;
mod wakeups;

pub use self::{
    build_error::BuildError,
    capabilities::{Capabilities, Discipline, Durability},
    error::{ErrorKind, ProviderError},
    holding::{for_holder, is_for_holder},
    limits::{InvalidPrefix, Prefix},
    mark::mark,
    name::Name,
    outcome::{AcquireOutcome, AskOutcome, Page, ReleaseOutcome, RenewOutcome, RevokeOutcome},
    provider::{Admin, Provider},
    record::{Holder, Record, Version},
    request::{Acquire, Ask, Closing, List, Release, Renew, Revoke},
    sharing::Sharing,
    token::{FencingToken, TokenOutOfRange},
    tokens::Tokens,
    wakeups::{Wakeup, WakeupSender, Wakeups},
};
pub(crate) use self::{mark::mark_of, request::system_uuid};
