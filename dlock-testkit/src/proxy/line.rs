//! The exchanges of one connection, and the faults that they meet.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::{Notify, watch};

use super::{Direction, Fault, log::Log, network::Network, script::Script};

/// The state that every connection of a proxy needs.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) network: watch::Receiver<Network>,
    pub(super) script: Arc<Script>,
    pub(super) log: Arc<Log>,
}

/// The state that the two directions of a connection share.
pub(super) struct Line {
    number: usize,
    shared: Shared,
    exchanges: Mutex<Exchanges>,
    /// Notified when the way to the client is to end.
    closing: Notify,
    /// The bytes that the client sends are lost.
    loses: AtomicBool,
}

#[derive(Default)]
struct Exchanges {
    begun: usize,
    /// The exchanges in which the client waits for an answer, by stream.
    open: BTreeMap<u32, Exchange>,
}

#[derive(Clone, Copy)]
struct Exchange {
    number: usize,
    /// The fault that strikes it.
    fault: Option<Fault>,
}

/// A fault that strikes an exchange.
#[derive(Clone, Copy)]
pub(super) struct Met {
    pub(super) fault: Fault,
    exchange: usize,
}

impl Line {
    pub(super) fn new(number: usize, shared: Shared) -> Self {
        Self {
            number,
            shared,
            exchanges: Mutex::default(),
            closing: Notify::new(),
            loses: AtomicBool::new(false),
        }
    }

    pub(super) const fn number(&self) -> usize {
        self.number
    }

    pub(super) const fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The client sends on this stream. If an exchange begins with that, returns the fault that it meets.
    pub(super) fn asked(&self, stream: u32) -> Option<Met> {
        let mut exchanges = self.lock();
        let Exchanges { begun, open } = &mut *exchanges;
        let Entry::Vacant(new) = open.entry(stream) else {
            return None;
        };
        *begun += 1;
        self.shared.log.began();
        let exchange = Exchange {
            number: *begun,
            fault: self.shared.script.due(self.number, *begun),
        };
        new.insert(exchange).met()
    }

    /// The server sends on this stream. Returns the fault of its exchange, once for each exchange.
    pub(super) fn answering(&self, stream: u32) -> Option<Met> {
        let mut exchanges = self.lock();
        let exchange = exchanges.open.get_mut(&stream)?;
        let met = exchange.met();
        exchange.fault = None;
        met
    }

    /// The client is about to see part of the answer.
    pub(super) fn answered(&self, stream: u32) {
        self.lock().open.remove(&stream);
    }

    pub(super) fn struck(&self, Met { fault, exchange }: Met) {
        self.shared.log.struck(self.number, exchange, fault);
    }

    /// Ends the way to the client.
    pub(super) fn close(&self) {
        self.closing.notify_one();
    }

    /// From now on, everything that the client sends is lost, its acknowledgements included.
    pub(super) fn lose(&self) {
        self.loses.store(true, Ordering::SeqCst);
    }

    /// Whether the server's bytes no longer arrive: it sends nothing new to a client that acknowledges nothing.
    pub(super) fn is_unheard(&self, direction: Direction) -> bool {
        direction == Direction::ToClient && self.loses.load(Ordering::SeqCst)
    }

    /// Resolves when the way in this direction is to end.
    pub(super) async fn closing(&self, direction: Direction) {
        match direction {
            Direction::ToClient => self.closing.notified().await,
            Direction::ToServer => std::future::pending().await,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Exchanges> {
        self.exchanges
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Exchange {
    fn met(self) -> Option<Met> {
        let Self { number, fault } = self;
        fault.map(|fault| Met {
            fault,
            exchange: number,
        })
    }
}
