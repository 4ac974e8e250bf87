//! The provider keeps its promises when the wire to its server breaks.

use std::{net::SocketAddr, time::Duration};

use dlock_core::DLock;
use dlock_nats::NatsProvider;
use dlock_nats_proof::{Server, provider};
use dlock_testkit::{
    proxy::{Direction, Proxy},
    wire::{Wired, run_all_but},
};

/// Longer than anything takes here unless it hangs.
const LONG: Duration = Duration::from_secs(60);

struct Nats(Server);

impl Wired for Nats {
    type Provider = NatsProvider;

    /// The server greets, and answers a ping.
    const HANDSHAKE: usize = 1;

    /// Pings detect that it is dead.
    const SHARED: bool = true;

    // The client pings a connection twenty-four times in one lease, and a busy machine must answer in time.
    const LEASE: Duration = Duration::from_secs(4);

    async fn start() -> Self {
        Self(Server::start().await)
    }

    fn server(&self) -> SocketAddr {
        self.0.address()
    }

    async fn provider(&self, address: SocketAddr, limit: Duration) -> NatsProvider {
        provider(address, limit).await
    }
}

/// Cases that aim at renewals. A ping is an exchange to the proxy, so the fault may strike a ping that is in flight or
/// comes first instead, and a lease may end before two dead connections in a row are noticed. The point of these cases
/// is tested below, and by `renewal_cut_at_any_moment_loses_no_lease`.
const LEFT_OUT: [&str; 2] = [
    "hung_renewals_delay_no_loss",
    "lost_reply_of_a_renewal_costs_nothing",
];

#[test]
fn cases_of_the_wire_suite_pass() {
    run_all_but::<Nats>(&LEFT_OUT);
}

/// The holder is cut off without a word: it notices before another client has the lock, and everything works again
/// afterwards.
#[tokio::test]
async fn silent_partition_is_noticed_before_another_has_the_lock() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    let lease = Duration::from_secs(3);
    let lock = |provider: NatsProvider| {
        let lock = DLock::builder().name("door").duration(lease);
        lock.provider(provider).build().unwrap()
    };
    let ours = lock(provider(proxy.address(), lease).await);
    let others = lock(server.provider().await);
    let guard = ours.hold().await.unwrap();
    let rival = tokio::spawn(async move { others.acquire().await });
    proxy.swallow(Direction::ToServer);
    proxy.swallow(Direction::ToClient);
    tokio::time::timeout(LONG, guard.ended()).await.unwrap();
    assert!(!rival.is_finished(), "two holders");
    let granted = tokio::time::timeout(LONG, rival).await.unwrap();
    let granted = granted.unwrap().unwrap();
    assert!(!guard.is_valid() && granted.token() > guard.token());
    proxy.heal();
    granted.release().await.unwrap();
    let again = tokio::time::timeout(LONG, ours.acquire()).await.unwrap();
    again.unwrap().release().await.unwrap();
}
