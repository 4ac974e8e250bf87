//! The state that all connections share: where they lead, and what happens to bytes now.

use std::{net::SocketAddr, time::Duration};

use tokio::{sync::watch, time::sleep};

use super::{Direction, protocol::Protocol};

/// How all connections end at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "TCP has these two")]
pub enum End {
    /// A reset, at both ends.
    Reset,
    /// Each end sees the other one finish, as when a server stops in good order.
    Close,
}

/// The state of the network, `[to the server, to the client]` where there are two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Network {
    /// Where new connections lead.
    pub(super) server: SocketAddr,
    /// The protocol of new connections.
    pub(super) protocol: Protocol,
    pub(super) ways: [Way; 2],
    pub(super) latency: [Latency; 2],
    /// How often all connections were ended, and how they ended the last time.
    pub(super) cuts: (usize, End),
    /// New connections are refused.
    pub(super) refusing: bool,
    /// How long after its client has gone the server's keepalive ends a silent connection, if it does.
    pub(super) keepalive: Option<Duration>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Way {
    #[default]
    Open,
    /// Bytes wait, since an operating system repeats packets until a partition has ended.
    Held,
    /// Bytes vanish, and nothing follows the gap: the connection is dead, and neither end is notified.
    Swallowed,
}

/// How long a piece of bytes takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Latency {
    pub(super) least: Duration,
    pub(super) jitter: Duration,
}

impl Network {
    pub(super) fn new(server: SocketAddr) -> Self {
        Self {
            server,
            protocol: Protocol::default(),
            ways: [Way::Open; 2],
            latency: [Latency::default(); 2],
            cuts: (0, End::Reset),
            refusing: false,
            keepalive: None,
        }
    }
}

impl Latency {
    /// Returns whether that took any time.
    pub(super) async fn pass(self, random: &mut fastrand::Rng) -> bool {
        let any = self != Self::default();
        if any {
            sleep(self.least + self.jitter.mul_f64(random.f64())).await;
        }
        any
    }
}

/// Waits until bytes are no longer held in this direction. `None`: the proxy is gone.
pub(super) async fn open(
    network: &mut watch::Receiver<Network>,
    direction: Direction,
) -> Option<(Way, Latency)> {
    let way = direction as usize;
    let open = network.wait_for(|now| now.ways[way] != Way::Held).await;
    open.ok().map(|now| (now.ways[way], now.latency[way]))
}
