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
#[cfg(test)]
mod tests;
mod time;
mod turns;
mod waiting;

/// What authors of stores implement and speak: the contract's trait, requests and answers. The suite that proves a
/// store is in the crate `dlock-testkit`.
pub mod provider {
    #[doc(no_inline)]
    pub use crate::{ErrorKind, FencingToken, Name, Provider, ProviderError, Record};

    pub use crate::contract::{
        Acquire, AcquireOutcome, Admin, Ask, AskOutcome, Capabilities, Closing, Discipline,
        Durability, InvalidPrefix, List, Page, Prefix, Release, ReleaseOutcome, Renew,
        RenewOutcome, Revoke, RevokeOutcome, Sharing, TokenOutOfRange, Tokens, Version, Wakeup,
        WakeupSender, Wakeups, for_holder, is_for_holder, mark,
    };
}

/// What tests and simulations of programs with locks need: clocks that are moved by hand, clients that draw from a
/// seed, and events of what a client believes.
pub mod testing {
    pub use crate::{
        client::seeded_client,
        events::{AcquireEnd, Believed, Event, Recorder},
        time::{ManualClock, SimulatedTime},
    };
}

#[cfg(feature = "metrics")]
pub use self::events::metrics;
pub use self::{
    api::{
        DLock, DLockBuilder, Fence, FenceError, Grant, Guard, Lease, Redeem, Sent, Stale,
        TryAcquire, scope,
    },
    client::{Client, IntoClient},
    contract::{
        BuildError, ErrorKind, FencingToken, Holder, Name, Provider, ProviderError, Record,
    },
    events::{End, EndCause, ReleaseEnd, State},
    lease::{Error, LeaseView, ParseTicketError, Ticket},
    store::Observations,
    time::{Clock, Stopwatch},
};
