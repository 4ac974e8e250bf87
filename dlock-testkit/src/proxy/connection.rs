//! One connection, from its opening to its end.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::{Notify, watch},
    time::sleep,
};

use super::{
    Direction, Fault,
    log::{Happening, Log},
    network::{End, Network},
    protocol::Pieces,
    pump::{Cut, Pump},
    script::Script,
};

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

/// Carries one connection until both ends are done, or it is cut.
pub(super) async fn carry(client: TcpStream, shared: Shared) {
    let number = shared.log.opened();
    let log = Arc::clone(&shared.log);
    connection(client, number, shared).await;
    log.note(Happening::Ended { connection: number });
}

async fn connection(mut client: TcpStream, number: usize, shared: Shared) {
    let mut network = shared.network.clone();
    let Network {
        server,
        protocol,
        cuts: (before, _),
        ..
    } = *network.borrow();
    let Ok(mut server) = TcpStream::connect(server).await else {
        return reset([client]);
    };
    // Small packets are sent at once: the proxy adds no delay of its own.
    if client.set_nodelay(true).is_err() || server.set_nodelay(true).is_err() {
        return;
    }
    let line = Line {
        number,
        shared,
        exchanges: Mutex::default(),
        closing: Notify::new(),
        loses: AtomicBool::new(false),
    };
    let mut requests = Pieces::new(protocol, Direction::ToServer);
    let mut answers = Pieces::new(protocol, Direction::ToClient);
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let both = async {
        tokio::try_join!(
            Pump::new(&line, Direction::ToServer, &mut requests).run(from_client, to_server),
            Pump::new(&line, Direction::ToClient, &mut answers).run(from_server, to_client)
        )
    };
    let cut = tokio::select! {
        biased;
        cut = network.wait_for(|now| now.cuts.0 != before) => match cut.map(|now| now.cuts.1) {
            Ok(End::Reset) => Some(Cut::Reset),
            // The end of the proxy closes too.
            Ok(End::Close) | Err(_) => None,
        },
        done = both => done.err(),
    };
    match cut {
        Some(Cut::Reset) => reset([client, server]),
        Some(Cut::Late { request, by }) => {
            reset([client]);
            sleep(by).await;
            if server.write_all(&request.bytes).await.is_ok() {
                // Its answer reaches no client.
                until_answered(&mut server, &mut answers, request.stream).await;
            }
        }
        None => {}
    }
}

/// Reads to the first piece of an answer on this stream, or to the end.
async fn until_answered(server: &mut TcpStream, answers: &mut Pieces, stream: Option<u32>) {
    let mut read = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = server.read(&mut read).await {
        let pieces = answers.cut(&read[..length]);
        // A transaction whose request was cut off does not end by itself.
        let cut_off = matches!(answers, Pieces::Transaction(_));
        if cut_off || pieces.iter().any(|piece| piece.stream == stream) {
            return;
        }
    }
}

/// Ends connections so that the other end of each sees a reset.
fn reset<const N: usize>(sockets: [TcpStream; N]) {
    for socket in sockets {
        // A socket refuses this only if its other end is gone.
        drop(socket.set_zero_linger());
    }
}

impl Line {
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
