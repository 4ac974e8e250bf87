//! The conformance suite for a provider whose driver talks to its server over TCP, when the wire breaks: lost replies,
//! resets at every moment of every call, silence, half-closed and refused connections, requests that arrive late,
//! answers that come too late.
//!
//! A [`Wired`] fixture says how to reach the server through an address; [`wire_conformance!`] makes
//! one test of each case, with a [`Proxy`](crate::proxy::Proxy) in between:
//!
//! ```no_run
//! // Tests inside a doctest do not run.
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
//! A driver whose calls share a connection says so ([`Wired::SHARED`]). A driver that some cases do not fit runs the
//! others with [`run_all_but`]; the cases that it leaves out need tests of their own.
//!
//! `tests/own/wire.rs` of this crate is a complete driver with its server, on a page or two. The cases come in two
//! layers: calls of the provider itself, then locks over it. Each names the rules and invariants that it covers
//! ([`CASES`]). Most of them wait, so run many at a time.
//!
//! The cases do not show how a driver fares when connecting itself hangs, with TLS, or behind a pooler; nor the faults
//! that only this driver can have.
//!
//! [`wire_conformance!`]: crate::wire_conformance

mod cases;
mod holder_watch;
mod run;
mod scene;
mod targeting;
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
/// All cases of a test binary share one fixture and one runtime; each uses its own names.
pub trait Wired: Sized + Send + Sync + 'static {
    /// The provider under test.
    type Provider: Provider;

    /// How many exchanges a new connection needs before the first actual request: one for a driver that greets its
    /// server and waits for the answer. Faults strike none of them.
    const HANDSHAKE: usize;

    /// The protocol between the driver and its server.
    const PROTOCOL: Protocol = Protocol::Turns;

    /// Whether calls share a connection. If such a connection loses what is sent on it, the driver abandons it only
    /// after a while, and until then other calls on it may get no answer either. That may take as long as the limit of
    /// a call.
    const SHARED: bool = false;

    /// The lease of cases that wait for its end. A case that misses a bound of time with it is repeated with three
    /// times the lease ([details](crate#too-slow-and-wrong)).
    const LEASE: Duration = Duration::from_secs(1);

    /// How long one case may take on any machine; a case that takes longer counts as hung, and fails by name.
    const LIMIT: Duration = Duration::from_secs(300);

    /// Starts the server. If something is missing, panic and say what it is; the case then fails.
    fn start() -> impl Future<Output = Self> + Send;

    /// The address on which it listens.
    fn server(&self) -> SocketAddr;

    /// A fresh provider that reaches the server through this address, with its own connections (more than one, if it
    /// has a pool), whose calls end within this limit without intervention.
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
    /// Its name: the property it checks.
    pub name: &'static str,
    /// The rules and invariants it covers.
    pub rules: &'static [&'static str],
    /// Runs the case; it panics if the property does not hold.
    pub run: fn(Wiring) -> Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Makes one `#[test]` for each case of the [wire suite](crate::wire), named after the case. Use it once in a module,
/// with a [`Wired`](crate::wire::Wired) fixture.
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
