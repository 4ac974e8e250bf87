//! The core of dlock: the lease protocol's frontend and the contract that stores fulfil.
//!
//! Users depend on the facade crate `dlock`; authors of providers on this one and on
//! `dlock-testkit`. The chapter [`design`] explains the protocol, what it guarantees under which
//! assumptions, and what it does not. Rule numbers in these docs (`A2`, `V5`) are explained there.
//!
//! What is where: [`DLock`] and its builder are what people write; [`Lease`] and [`Guard`] are one
//! term, renewed by hand or by itself; [`Client`] is what one process shares over one provider;
//! [`Provider`] is what a store implements.

mod api;
mod client;
mod contract;
#[doc = include_str!("../DESIGN.md")]
pub mod design {}
mod emit;
mod events;
mod lease;
mod names;
mod renewals;
mod store;
mod time;
mod waiting;

#[cfg(feature = "metrics")]
pub use self::events::metrics;
pub use self::{
    api::{DLock, DLockBuilder, Fence, FenceError, Guard, Lease, LeaseWatch, Stale, TryAcquire},
    client::{Client, IntoClient},
    contract::{
        Acquire, AcquireOutcome, Admin, Ask, AskOutcome, BuildError, Capabilities, Closing,
        Discipline, Durability, ErrorKind, FencingToken, Holder, InvalidPrefix, List, Name, Page,
        Prefix, Provider, ProviderError, Record, Release, ReleaseOutcome, Renew, RenewOutcome,
        Revoke, RevokeOutcome, Sharing, TokenOutOfRange, Version, Wakeup, WakeupSender, Wakeups,
    },
    events::{AcquireEnd, Believed, End, EndCause, Event, Recorder, ReleaseEnd, State},
    lease::{Error, ParseTicketError, Ticket},
    time::{Clock, Machine, ManualClock, Standstill},
};
