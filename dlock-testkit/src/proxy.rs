//! A TCP proxy inside the test process: it counts round trips on the wire, and subjects connections and single requests
//! to the faults of real networks.
//!
//! An *exchange* is everything that a client sends, at first or after an answer, up to the first bytes of the next
//! answer: requests that travel together are one exchange, and so is a request in many packets. That holds for every
//! protocol in which a client asks and a server answers: PostgreSQL, Redis, HTTP/1.1. On connections that carry
//! concurrent calls it holds for each call, if the proxy knows their [`Protocol`]. Whatever a server sends unasked
//! passes untouched. The proxy takes the first bytes of an answer as the sign that the server has executed the request;
//! a server that answers in parts while it still works (a query of many rows, a transaction that is sent at once) may not
//! have, unless the proxy knows the [`Protocol`].
//!
//! # Faults
//! - For one exchange: lose the request or the reply, delay either, break the connection at four [moments](Moment), or
//!   let the server execute a request late, without the client's knowledge ([`Fault`]). Choose the exchange with
//!   [`Proxy::next`], [`Proxy::always`], [`Proxy::inject`] with a [`Rule`], or by chance and seed: [`Proxy::random`]
//!   with a [`Mix`].
//! - For all bytes, in either [`Direction`]: [`Proxy::hold`] (they wait, and so does the news that an end has closed: a
//!   silent partition, or a stopped server), [`Proxy::swallow`] (they vanish), until [`Proxy::heal`];
//!   [`Proxy::latency`].
//! - For all connections: [`Proxy::reset`], [`Proxy::close`]. For new ones: [`Proxy::refuse`],
//!   [`Proxy::lead_to`].
//!
//! [`Proxy::log`] lists what the proxy did and when. The proxy cannot let connecting itself hang (the operating system
//! accepts on its behalf, so that the first answer hangs instead), reorder the bytes of a connection, or deliver a
//! request twice (clients do that when the reply is lost).
//!
//! ```
//! # use std::time::Duration;
//! # use dlock_testkit::proxy::{Fault, Proxy};
//! # use tokio::{io::{AsyncReadExt, AsyncWriteExt}, net::{TcpListener, TcpStream}, time::timeout};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! // A server that echoes everything.
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let proxy = Proxy::start(listener.local_addr()?).await?;
//! tokio::spawn(async move {
//!     let (mut socket, _) = listener.accept().await?;
//!     let (mut from, mut to) = socket.split();
//!     tokio::io::copy(&mut from, &mut to).await
//! });
//!
//! let mut client = TcpStream::connect(proxy.address()).await?;
//! proxy.next(Fault::LoseReply);
//! client.write_all(b"hello").await?;
//! proxy.until_struck(1).await; // The server has answered, and the answer is lost.
//! let silent = timeout(Duration::from_millis(50), client.read(&mut [0; 5])).await;
//! assert!(silent.is_err());
//! for event in proxy.log() {
//!     println!("{:?} {}", event.at - proxy.started(), event.what);
//! }
//! # Ok(()) }
//! ```

mod connection;
mod fault;
mod http2;
mod line;
mod log;
mod mix;
mod network;
mod piece;
mod port;
mod protocol;
mod pump;
mod script;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    net::TcpListener,
    sync::watch,
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep},
};

use self::{
    connection::carry,
    line::Shared,
    log::Log,
    network::{Latency, Network, Way},
    port::Port,
    script::Script,
};
pub use self::{
    fault::{Direction, Fault, Moment},
    log::{Event, Happening},
    mix::Mix,
    network::End,
    protocol::Protocol,
    script::Rule,
};

/// A proxy in front of a server, on a free loopback port. Dropping it closes its connections. See
/// the [module's page](self).
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    started: Instant,
    network: watch::Sender<Network>,
    script: Arc<Script>,
    log: Arc<Log>,
    /// Whether the proxy listens.
    listening: watch::Receiver<bool>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// A proxy in front of this server.
    ///
    /// # Errors
    /// If no port is free.
    pub async fn start(server: SocketAddr) -> io::Result<Self> {
        Self::seeded(server, 0).await
    }

    /// The same, with this seed for everything that happens by chance ([`Proxy::random`], the jitter of
    /// [`Proxy::latency`]).
    ///
    /// # Errors
    /// If no port is free.
    #[expect(
        clippy::unused_async,
        reason = "listening needs a runtime, and async says so"
    )]
    pub async fn seeded(server: SocketAddr, seed: u64) -> io::Result<Self> {
        let door = Port::find()?;
        let address = door.address();
        let listener = door.listen()?;
        let network = watch::Sender::new(Network::new(server));
        let script = Arc::new(Script::new(seed));
        let log = Arc::new(Log::new());
        let shared = Shared {
            network: network.subscribe(),
            script: Arc::clone(&script),
            log: Arc::clone(&log),
        };
        let (listens, listening) = watch::channel(true);
        Ok(Self {
            address,
            started: Instant::now(),
            network,
            script,
            log,
            listening,
            task: tokio::spawn(serve(door, listener, listens, shared)),
        })
    }

    /// The address on which it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The seed of everything that happens by chance.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.script.seed()
    }

    /// When it was started.
    #[must_use]
    pub const fn started(&self) -> Instant {
        self.started
    }

    /// How many connections were opened so far.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.log.connections()
    }

    /// How many exchanges were begun so far, on all connections: the round trips on the wire. To count those of one
    /// call, let nothing else use the proxy meanwhile.
    #[must_use]
    pub fn round_trips(&self) -> usize {
        self.log.round_trips()
    }

    /// The events so far, in order: connections, faults, changes to the network; but not bytes that passed as usual.
    #[must_use]
    pub fn log(&self) -> Vec<Event> {
        self.log.events()
    }

    /// How many exchanges have met a fault so far.
    #[must_use]
    pub fn struck(&self) -> usize {
        *self.log.strikes().borrow()
    }

    /// Waits until this many exchanges have met a fault since the start. A fault of the reply strikes when the server
    /// has answered.
    pub async fn until_struck(&self, exchanges: usize) {
        let mut strikes = self.log.strikes();
        // The other end is in `self`.
        drop(strikes.wait_for(|struck| *struck >= exchanges).await);
    }

    /// Strikes one upcoming exchange: the next one without a fault from an earlier `next` or [`Rule`]. Takes precedence
    /// over [`always`](Self::always).
    pub fn next(&self, fault: Fault) {
        self.inject(Rule::new(fault).times(1));
    }

    /// Strikes every subsequent exchange that no [`Rule`] strikes, until [`clear`](Self::clear).
    pub fn always(&self, fault: Fault) {
        self.script.always(fault);
    }

    /// Strikes the exchanges that the rule selects. Of several rules the earliest takes precedence; a rule that skips
    /// exchanges counts only those that no earlier rule has struck.
    pub fn inject(&self, rule: Rule) {
        self.script.inject(rule);
    }

    /// Strikes exchanges by chance from now on: those that no rule and no fault of [`always`](Self::always) strikes. An
    /// empty [`Mix`] ends it.
    pub fn random(&self, mix: Mix) {
        self.script.random(mix);
    }

    /// Lets the first exchanges of every connection pass, whatever the other rules: as many as clients of this protocol
    /// need before the first actual request (one for PostgreSQL without a password, none for HTTP).
    pub fn spare(&self, exchanges: usize) {
        self.script.spare(exchanges);
    }

    /// How many exchanges were chosen for a fault so far. A chosen exchange is struck when its moment comes.
    pub(crate) fn chosen(&self) -> usize {
        self.script.chosen()
    }

    /// Forgets all faults that have not struck yet; [`spare`](Self::spare) stays.
    pub fn clear(&self) {
        self.script.clear();
    }

    /// Holds bytes back from now on, until [`Proxy::heal`]: a silent partition. In both directions it is a stopped
    /// server, or a pulled cable.
    pub fn hold(&self, direction: Direction) {
        self.set(direction, Way::Held);
        self.log.note(Happening::Held(direction));
    }

    /// Lets bytes vanish from now on. A connection that lost some stays silent forever, even after [`Proxy::heal`].
    pub fn swallow(&self, direction: Direction) {
        self.set(direction, Way::Swallowed);
        self.log.note(Happening::Swallowed(direction));
    }

    /// Resets the server's end of a silent connection this long after its client has gone, as the server's keepalive
    /// does (`tcp_keepalives_idle` of PostgreSQL). Without this the server waits forever for the remainder of a
    /// message.
    pub fn keepalive(&self, after: Duration) {
        self.network
            .send_modify(|network| network.keepalive = Some(after));
    }

    /// Ends [`Proxy::hold`] and [`Proxy::swallow`].
    pub fn heal(&self) {
        self.network
            .send_modify(|network| network.ways = [Way::Open; 2]);
        self.log.note(Happening::Healed);
    }

    /// Every piece of bytes takes at least `least` in this direction from now on, and up to `jitter` longer. Pieces do
    /// not overtake each other; whatever arrives while one is in transit follows it as one piece.
    pub fn latency(&self, direction: Direction, least: Duration, jitter: Duration) {
        self.network.send_modify(|network| {
            network.latency[direction as usize] = Latency { least, jitter };
        });
    }

    /// Resets every connection, at both ends.
    pub fn reset(&self) {
        self.cut(End::Reset);
    }

    /// Closes every connection, at both ends, in good order.
    pub fn close(&self) {
        self.cut(End::Close);
    }

    /// Refuses new connections from now on, as a machine on which no server listens does, until [`Proxy::accept`]. Open
    /// connections stay open. Resolves when connections are refused.
    pub async fn refuse(&self) {
        self.gate(true).await;
        self.log.note(Happening::Refusing);
    }

    /// Ends [`Proxy::refuse`]. Resolves when connections are accepted.
    pub async fn accept(&self) {
        self.gate(false).await;
        self.log.note(Happening::Accepting);
    }

    /// Treats new connections as ones of this protocol; the default is [`Protocol::Turns`].
    pub fn speak(&self, protocol: Protocol) {
        self.network
            .send_modify(|network| network.protocol = protocol);
    }

    /// Leads new connections to another server, as an address that follows a failover does.
    pub fn lead_to(&self, server: SocketAddr) {
        self.network.send_modify(|network| network.server = server);
        self.log.note(Happening::LedTo(server));
    }

    /// Returns everything to normal: [`clear`](Self::clear), [`heal`](Self::heal), [`accept`](Self::accept), no
    /// latency. Connections that lost something stay silent.
    pub async fn calm(&self) {
        self.clear();
        self.network
            .send_modify(|network| network.latency = [Latency::default(); 2]);
        self.heal();
        self.accept().await;
    }

    fn set(&self, direction: Direction, way: Way) {
        self.network
            .send_modify(|network| network.ways[direction as usize] = way);
    }

    fn cut(&self, end: End) {
        self.network
            .send_modify(|network| network.cuts = (network.cuts.0 + 1, end));
        self.log.note(Happening::Cut(end));
    }

    async fn gate(&self, refusing: bool) {
        self.network
            .send_modify(|network| network.refusing = refusing);
        // The task ends with the runtime, and then so does this future.
        drop(
            self.listening
                .clone()
                .wait_for(|listening| *listening != refusing)
                .await,
        );
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Carries connections until the proxy is dropped.
async fn serve(door: Port, listener: TcpListener, listens: watch::Sender<bool>, shared: Shared) {
    let mut network = shared.network.clone();
    let mut listener = Some(listener);
    let mut connections = JoinSet::new();
    loop {
        let refusing = network.borrow_and_update().refusing;
        if refusing {
            listener = None;
        } else if listener.is_none() {
            listener = door.listen().ok();
        }
        listens.send_replace(listener.is_some());
        let client = async {
            match &listener {
                Some(listener) => listener.accept().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            changed = network.changed() => if changed.is_err() { return },
            // The port is reserved for us; some other resource is short, such as file descriptors.
            () = sleep(Duration::from_millis(10)), if listener.is_none() && !refusing => {}
            client = client => match client {
                Ok((client, _)) => {
                    connections.spawn(carry(client, shared.clone()));
                }
                // Perhaps too many open files: others may close theirs.
                Err(_busy) => sleep(Duration::from_millis(10)).await,
            },
        }
        while connections.try_join_next().is_some() {}
    }
}
