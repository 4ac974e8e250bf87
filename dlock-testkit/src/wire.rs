//! What must hold of a provider whose driver talks to its server over TCP when the wire breaks:
//! lost replies, resets at every moment of every call, silence, half-closed and refused
//! connections, requests that arrive late, answers that come too late.
//!
//! A [`Wired`] fixture says how to reach the server through an address; [`wire_conformance!`] makes
//! one test of each case, with a [`Proxy`](crate::proxy::Proxy) in between:
//!
//! ```no_run
//! // Tests inside of a doctest are not run.
//! # use std::{net::SocketAddr, time::Duration};
//! # use dlock_testkit::{memory::{MemoryProvider, MemoryStore}, wire::Wired};
//! # struct MyStore;
//! # type MyProvider = MemoryProvider;
//! # impl MyStore { async fn begin() -> Self { Self } fn address(&self) -> SocketAddr { ([127, 0, 0, 1], 5432).into() } }
//! # async fn connect(_: SocketAddr, _: Duration) -> MyProvider { MemoryProvider::new(&MemoryStore::store_clock()) }
//! impl Wired for MyStore {
//!     type Provider = MyProvider;
//!     const HANDSHAKE: usize = 1;
//!     async fn start() -> Self { Self::begin().await }
//!     fn server(&self) -> SocketAddr { self.address() }
//!     async fn provider(&self, address: SocketAddr, limit: Duration) -> MyProvider {
//!         connect(address, limit).await
//!     }
//! }
//!
//! dlock_testkit::wire_conformance!(MyStore);
//! # fn main() {}
//! ```
//!
//! A driver whose calls share a connection says so ([`Wired::SHARED`]). One that some cases do not fit plays the others with
//! [`run_all_but`]; what it leaves out needs tests of its own.
//!
//! `tests/own/wire.rs` of this crate is a whole driver and its server on a page or two. The cases come
//! in two layers: calls of the provider itself, then locks over it. Each names the rules and
//! invariants that it covers ([`CASES`]). Most of them wait, so run many at a time.
//!
//! What the cases do not show: how a driver fares when connecting itself hangs, with TLS, or behind
//! a pooler; and what only this driver can do wrong.
//!
//! [`wire_conformance!`]: crate::wire_conformance

mod aim;
mod cases;
mod run;
mod scene;
mod vigil;
mod wiring;

use std::{fmt, future::Future, net::SocketAddr, pin::Pin, time::Duration};

use dlock_core::Provider;

use crate::proxy::Protocol;

#[doc(hidden)]
pub use self::run::{Shared, run};
pub use self::{
    cases::CASES,
    run::{caught, run_all_but},
    wiring::Wiring,
};

/// A server, and how to make providers that reach it through an address.
///
/// All cases of a test binary share one fixture and one runtime; each works with names of its own.
pub trait Wired: Sized + Send + Sync + 'static {
    /// The provider under test.
    type Provider: Provider;

    /// How many exchanges a new connection needs before the first real question: one for a driver
    /// that greets its server and waits for the answer. Faults strike none of them.
    const HANDSHAKE: usize;

    /// What the driver and its server speak.
    const PROTOCOL: Protocol = Protocol::Turns;

    /// Whether calls share a connection. Where one that loses what is sent on it is given up only after a while, another
    /// call may get no answer there either, until then. It may take as long as the limit of a call.
    const SHARED: bool = false;

    /// The lease of cases that wait for its end. A case that misses a bound of time with it is played again with
    /// three times the lease ([when](crate#too-slow-and-wrong)).
    const LEASE: Duration = Duration::from_secs(1);

    /// How long one case may take on whatever machine; one that takes longer hangs, and fails by name.
    const LIMIT: Duration = Duration::from_secs(300);

    /// Starts the server. A panic says what is missing; the case then fails.
    fn start() -> impl Future<Output = Self> + Send;

    /// Where it listens.
    fn server(&self) -> SocketAddr;

    /// A fresh provider that reaches the server through this address, with connections of its own
    /// (more than one, where it has a pool), and whose calls end by themselves within this limit.
    fn provider(
        &self,
        address: SocketAddr,
        limit: Duration,
    ) -> impl Future<Output = Self::Provider> + Send;
}

/// One case of the suite.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Case {
    /// What it is called: the property it checks.
    pub name: &'static str,
    /// The rules, invariants and acceptance numbers it covers.
    pub rules: &'static [&'static str],
    /// Runs it; it panics if the property does not hold.
    pub run: fn(Wiring) -> Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Makes one `#[test]` for each case of the [wire suite](crate::wire), named as the case. Use it
/// once in a module, with a [`Wired`](crate::wire::Wired) fixture.
#[macro_export]
macro_rules! wire_conformance {
    ($fixture:ty) => {
        $crate::__wire_conformance! { ($) $fixture }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __wire_conformance {
    (($d:tt) $fixture:ty) => {
        static __WIRED: $crate::wire::Shared = $crate::wire::Shared::new();

        macro_rules! __dlock_wire_cases {
                    ($d($d module:ident $d name:ident [$d($d rule:literal),*];)*) => {
                        $d(
                            #[test]
                            fn $d name() {
                                $crate::wire::run::<$fixture>(&__WIRED, stringify!($d name));
                            }
                        )*
                    };
                }

        $crate::__for_each_wire_case!(__dlock_wire_cases);
    };
}
