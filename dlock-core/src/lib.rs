//! The core of dlock: the lease protocol's frontend and the contract that stores fulfil.
//!
//! Users depend on the facade crate `dlock`, authors of providers on this crate and on `dlock-testkit`. The chapter
//! [`design`] explains the protocol: what it guarantees, under which assumptions, and what it does not guarantee. It
//! also explains the rule numbers in these docs (`A2`, `T3`).
//!
//! [`DLock`] and its builder are the entry point. A [`Lease`] or a [`Guard`] is one term, renewed by hand or
//! automatically. A [`Client`] is the state that one process shares over one provider. A store implements
//! [`Provider`].

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

/// The contract that a store implements: its trait, requests and answers. The suite that proves a store is in the
/// crate `dlock-testkit`.
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

/// For tests and simulations of programs with locks: clocks that are moved by hand, clients that draw from a seed,
/// and events that show what a client believes.
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
