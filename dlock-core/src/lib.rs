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

mod capabilities;
mod client;
mod clock;
mod error;
mod fence;
mod holder;
mod name;
mod outcome;
mod provider;
mod record;
mod request;
mod sharing;
mod token;
mod wakeups;

pub use self::{
    capabilities::{Capabilities, Discipline, Durability},
    clock::{Clock, ManualClock},
    error::{ConfigError, Error, ErrorKind, Loss, LossCause, ProviderError},
    fence::{Fence, Stale},
    holder::Holder,
    name::Name,
    outcome::{AcquireOutcome, AskOutcome, Page, ReleaseOutcome, RenewOutcome, RevokeOutcome},
    provider::{Admin, Provider},
    record::{Record, Version},
    request::{Acquire, Ask, List, Release, Renew, Revoke},
    sharing::Sharing,
    token::{FencingToken, TokenOutOfRange},
    wakeups::{Wakeup, WakeupSender, Wakeups},
};
