//! A TCP proxy inside the test process: it counts round trips on the wire, falls silent in either
//! direction, and resets.
//!
//! It knows no protocol. A *round trip* is counted whenever a client sends after it was answered
//! (or for the first time), so requests that travel together count once, and a request in many
//! packets too. Count with one connection and one request at a time.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
    sync::watch,
    task::{JoinHandle, JoinSet},
};

/// One way through the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a connection has two directions")]
pub enum Direction {
    /// Requests.
    ToServer,
    /// Answers.
    ToClient,
}

/// A proxy in front of a server, on a free loopback port. Dropping it closes its connections.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    network: watch::Sender<Network>,
    counts: Arc<Counts>,
    listening: JoinHandle<()>,
}

/// What happens to bytes now, `[to the server, to the client]`.
#[derive(Clone, Copy, Debug)]
struct Network {
    /// Where new connections lead.
    server: SocketAddr,
    ways: [Way; 2],
    /// How often all connections were reset.
    resets: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Way {
    #[default]
    Open,
    /// Bytes wait, as a system repeats packets until a partition is over.
    Held,
    /// Bytes vanish, and nothing comes after a gap: the connection is dead, and nobody says so.
    Swallowed,
}

#[derive(Debug, Default)]
struct Counts {
    connections: AtomicUsize,
    round_trips: AtomicUsize,
}

impl Proxy {
    /// A proxy in front of this server.
    ///
    /// # Errors
    /// If no port is free.
    pub async fn start(server: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let network = watch::Sender::new(Network {
            server,
            ways: [Way::Open; 2],
            resets: 0,
        });
        let counts = Arc::new(Counts::default());
        let (shown, counted) = (network.clone(), Arc::clone(&counts));
        let listening = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                counted.connections.fetch_add(1, Ordering::Relaxed);
                let (network, counts) = (shown.subscribe(), Arc::clone(&counted));
                connections.spawn(connection(client, network, counts));
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self {
            address,
            network,
            counts,
            listening,
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections were opened so far.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.counts.connections.load(Ordering::Relaxed)
    }

    /// How many round trips were begun so far, on all connections.
    #[must_use]
    pub fn round_trips(&self) -> usize {
        self.counts.round_trips.load(Ordering::Relaxed)
    }

    /// Lets bytes wait from now on, until [`Proxy::heal`]: a silent partition.
    pub fn hold(&self, direction: Direction) {
        self.set(direction, Way::Held);
    }

    /// Lets bytes vanish from now on. A connection that lost some stays silent for ever, also after
    /// [`Proxy::heal`].
    pub fn swallow(&self, direction: Direction) {
        self.set(direction, Way::Swallowed);
    }

    /// Ends [`Proxy::hold`] and [`Proxy::swallow`].
    pub fn heal(&self) {
        self.network
            .send_modify(|network| network.ways = [Way::Open; 2]);
    }

    /// Resets every connection, at both ends.
    pub fn reset(&self) {
        self.network.send_modify(|network| network.resets += 1);
    }

    /// Leads new connections to another server, as an address does that follows a failover.
    pub fn lead_to(&self, server: SocketAddr) {
        self.network.send_modify(|network| network.server = server);
    }

    fn set(&self, direction: Direction, way: Way) {
        self.network
            .send_modify(|network| network.ways[direction as usize] = way);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Carries one connection until both ends are done, or it is reset.
async fn connection(
    mut client: TcpStream,
    mut network: watch::Receiver<Network>,
    counts: Arc<Counts>,
) {
    let Network {
        server,
        resets: before,
        ..
    } = *network.borrow();
    let Ok(mut server) = TcpStream::connect(server).await else {
        return; // The client learns that its connection was closed.
    };
    // Small packets go at once: the proxy adds no waiting of its own.
    if client.set_nodelay(true).is_err() || server.set_nodelay(true).is_err() {
        return;
    }
    let answered = AtomicBool::new(true);
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let requests = Pump {
        direction: Direction::ToServer,
        network: network.clone(),
        passed: || {
            if answered.swap(false, Ordering::Relaxed) {
                counts.round_trips.fetch_add(1, Ordering::Relaxed);
            }
        },
    };
    let answers = Pump {
        direction: Direction::ToClient,
        network: network.clone(),
        passed: || answered.store(true, Ordering::Relaxed),
    };
    let both = async {
        tokio::join!(
            requests.run(from_client, to_server),
            answers.run(from_server, to_client)
        )
    };
    let reset = tokio::select! {
        biased;
        reset = network.wait_for(|now| now.resets != before) => reset.is_ok(),
        _ = both => false,
    };
    if reset {
        for socket in [&client, &server] {
            // A socket that refuses is one whose other end is gone.
            drop(socket.set_zero_linger());
        }
    }
}

/// Carries the bytes of one direction.
struct Pump<P> {
    direction: Direction,
    network: watch::Receiver<Network>,
    /// Called for every piece, before it is passed on.
    passed: P,
}

impl<P: FnMut()> Pump<P> {
    async fn run(mut self, mut from: ReadHalf<'_>, mut to: WriteHalf<'_>) {
        let way = self.direction as usize;
        let mut piece = vec![0; 16 * 1024];
        let mut dead = false;
        while let Ok(length @ 1..) = from.read(&mut piece).await {
            let open = self.network.wait_for(|now| now.ways[way] != Way::Held);
            match open.await.map(|now| now.ways[way]) {
                Ok(now) => dead |= now == Way::Swallowed,
                Err(_proxy_dropped) => break,
            }
            if dead {
                continue;
            }
            (self.passed)();
            if to.write_all(&piece[..length]).await.is_err() {
                break;
            }
        }
        // The other end reads to the end, and may still answer.
        if !dead && to.shutdown().await.is_err() {
            return;
        }
        if dead {
            std::future::pending::<()>().await;
        }
    }
}
