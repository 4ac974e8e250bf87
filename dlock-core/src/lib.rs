//! The core of dlock: the lease protocol's frontend and the contract that stores fulfil.
//!
//! Users depend on the facade crate `dlock`; authors of providers on this one and on
//! `dlock-testkit`. `DESIGN.md` beside this crate explains the protocol, what it guarantees under
//! which assumptions, and what it does not. Rule numbers in these docs (`A2`, `V5`) are explained
//! there.
//!
//! What is where: [`DLock`] and its builder are what people write; [`Lease`] and [`Guard`] are one
//! term, renewed by hand or by itself; [`Client`] is what one process shares over one provider;
//! [`Provider`] is what a store implements.

mod attempt;
mod builder;
mod capabilities;
mod client;
mod clock;
mod config;
mod end;
mod entropy;
mod error;
mod failure;
mod fairness;
mod fence;
mod guard;
mod handoff;
mod holder;
mod holding;
mod latch;
mod lease;
mod listener;
mod lock;
mod measure;
#[cfg(feature = "metrics")]
pub mod metrics;
mod name;
mod names;
mod observations;
mod outage;
mod outcome;
mod plan;
mod provider;
mod record;
mod recorder;
mod release;
mod renewal;
mod request;
mod scheduler;
mod scope;
mod settings;
mod sharing;
mod store;
mod telling;
mod term;
mod ticket;
mod token;
mod validity;
mod waiting;
mod wakeups;

pub use self::{
    builder::DLockBuilder,
    capabilities::{Capabilities, Discipline, Durability},
    client::{Client, IntoClient},
    clock::{Clock, Machine, ManualClock, Standstill},
    config::ConfigError,
    end::{Ended, Loss, LossCause, State},
    error::{ErrorKind, ProviderError},
    failure::Error,
    fence::{Fence, Stale},
    guard::Guard,
    holder::Holder,
    lease::Lease,
    lock::{DLock, TryAcquire},
    name::Name,
    outcome::{AcquireOutcome, AskOutcome, Page, ReleaseOutcome, RenewOutcome, RevokeOutcome},
    provider::{Admin, Provider},
    record::{Record, Version},
    recorder::{AskEnd, Believed, Event, Recorder},
    request::{Acquire, Ask, Closing, List, Release, Renew, Revoke},
    sharing::Sharing,
    ticket::{NoTicket, Ticket},
    token::{FencingToken, TokenOutOfRange},
    validity::Validity,
    wakeups::{Wakeup, WakeupSender, Wakeups},
};
