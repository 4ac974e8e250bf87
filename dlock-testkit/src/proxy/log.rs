//! The proxy's record of its actions, each with its time.

use std::{
    fmt,
    net::SocketAddr,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{sync::watch, time::Instant};

use super::{Direction, Fault, network::End};

/// An action of the proxy, with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// When it happened.
    pub at: Instant,
    /// The event itself.
    pub what: Happening,
}

/// An action of the proxy. Connections, and the exchanges of each, are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Happening {
    /// A client connected.
    Opened {
        /// Its number.
        connection: usize,
    },
    /// Both ends of a connection are gone.
    Ended {
        /// Its number.
        connection: usize,
    },
    /// A fault struck an exchange. A fault of the reply strikes when the server has answered.
    Struck {
        /// The number of the connection.
        connection: usize,
        /// The number of the exchange on that connection.
        exchange: usize,
        /// The fault.
        fault: Fault,
    },
    /// Bytes are held back from now on.
    Held(Direction),
    /// Bytes vanish from now on.
    Swallowed(Direction),
    /// Bytes pass again.
    Healed,
    /// All connections were reset, or closed.
    Cut(End),
    /// New connections are refused from now on.
    Refusing,
    /// New connections are accepted again.
    Accepting,
    /// New connections lead to this server from now on.
    LedTo(SocketAddr),
}

impl fmt::Display for Happening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened { connection } => write!(f, "connection {connection} opened"),
            Self::Ended { connection } => write!(f, "connection {connection} ended"),
            Self::Struck {
                connection,
                exchange,
                fault,
            } => write!(f, "connection {connection}, exchange {exchange}: {fault}"),
            Self::Held(direction) => write!(f, "bytes {direction} wait"),
            Self::Swallowed(direction) => write!(f, "bytes {direction} vanish"),
            Self::Healed => f.write_str("bytes pass again"),
            Self::Cut(End::Reset) => f.write_str("all connections reset"),
            Self::Cut(End::Close) => f.write_str("all connections closed"),
            Self::Refusing => f.write_str("new connections refused"),
            Self::Accepting => f.write_str("new connections accepted"),
            Self::LedTo(server) => write!(f, "new connections lead to {server}"),
        }
    }
}

/// The events so far, and the counts.
#[derive(Debug)]
pub(super) struct Log {
    events: Mutex<Vec<Event>>,
    connections: AtomicUsize,
    round_trips: AtomicUsize,
    struck: watch::Sender<usize>,
}

impl Log {
    pub(super) fn new() -> Self {
        Self {
            events: Mutex::default(),
            connections: AtomicUsize::new(0),
            round_trips: AtomicUsize::new(0),
            struck: watch::Sender::new(0),
        }
    }

    pub(super) fn note(&self, what: Happening) {
        let mut events = self.lock();
        // Under the lock, so that the events are in the order of their instants.
        let at = Instant::now();
        events.push(Event { at, what });
    }

    /// The number of a new connection.
    pub(super) fn opened(&self) -> usize {
        let connection = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
        self.note(Happening::Opened { connection });
        connection
    }

    pub(super) fn struck(&self, connection: usize, exchange: usize, fault: Fault) {
        self.note(Happening::Struck {
            connection,
            exchange,
            fault,
        });
        self.struck.send_modify(|count| *count += 1);
    }

    pub(super) fn began(&self) {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn events(&self) -> Vec<Event> {
        self.lock().clone()
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub(super) fn round_trips(&self) -> usize {
        self.round_trips.load(Ordering::Relaxed)
    }

    pub(super) fn strikes(&self) -> watch::Receiver<usize> {
        self.struck.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Event>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
