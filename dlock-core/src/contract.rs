//! What a store implements: [`Provider`], its requests, its answers and their errors, and the types that
//! they are made of.

mod capabilities;
mod config;
mod error;
mod limits;
mod name;
mod outcome;
mod provider;
mod record;
mod request;
mod sharing;
mod token;
mod wakeups;

pub(crate) use self::request::system_uuid;
pub use self::{
    capabilities::{Capabilities, Discipline, Durability},
    config::ConfigError,
    error::{ErrorKind, ProviderError},
    limits::{InvalidPrefix, Prefix},
    name::Name,
    outcome::{AcquireOutcome, AskOutcome, Page, ReleaseOutcome, RenewOutcome, RevokeOutcome},
    provider::{Admin, Provider},
    record::{Holder, Record, Version},
    request::{Acquire, Ask, Closing, List, Release, Renew, Revoke},
    sharing::Sharing,
    token::{FencingToken, TokenOutOfRange},
    wakeups::{Wakeup, WakeupSender, Wakeups},
};
