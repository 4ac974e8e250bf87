//! One connection, from its opening to its end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    pump::{Cut, Pump},
    script::Script,
};

/// What every connection of a proxy needs.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) network: watch::Receiver<Network>,
    pub(super) script: Arc<Script>,
    pub(super) log: Arc<Log>,
}

/// What the two directions of a connection know together.
pub(super) struct Line {
    number: usize,
    shared: Shared,
    exchange: Mutex<Exchange>,
    /// The way to the client shall end.
    closing: Notify,
}

#[derive(Default)]
struct Exchange {
    number: usize,
    /// The client waits for an answer.
    asked: bool,
    /// What happens to the answer.
    fault: Option<Fault>,
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
        cuts: (before, _),
        ..
    } = *network.borrow();
    let Ok(mut server) = TcpStream::connect(server).await else {
        return reset([client]);
    };
    // Small packets go at once: the proxy adds no waiting of its own.
    if client.set_nodelay(true).is_err() || server.set_nodelay(true).is_err() {
        return;
    }
    let line = Line {
        number,
        shared,
        exchange: Mutex::default(),
        closing: Notify::new(),
    };
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let both = async {
        tokio::try_join!(
            Pump::new(&line, Direction::ToServer).run(from_client, to_server),
            Pump::new(&line, Direction::ToClient).run(from_server, to_client)
        )
    };
    let cut = tokio::select! {
        biased;
        cut = network.wait_for(|now| now.cuts.0 != before) => match cut.map(|now| now.cuts.1) {
            Ok(End::Reset) => Some(Cut::Reset),
            // So does the end of the proxy.
            Ok(End::Close) | Err(_) => None,
        },
        done = both => done.err(),
    };
    match cut {
        Some(Cut::Reset) => reset([client, server]),
        Some(Cut::Late { request, by }) => {
            reset([client]);
            sleep(by).await;
            if server.write_all(&request).await.is_ok() {
                // The answer finds nobody.
                drop(server.read(&mut [0; 16]).await);
            }
        }
        None => {}
    }
}

/// Ends connections so that the other end of each learns it by a reset.
fn reset<const N: usize>(sockets: [TcpStream; N]) {
    for socket in sockets {
        // A socket that refuses is one whose other end is gone.
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

    /// The client sends: whether an exchange begins with that, and what it meets.
    pub(super) fn asked(&self) -> Option<Fault> {
        let mut exchange = self.lock();
        if std::mem::replace(&mut exchange.asked, true) {
            return None;
        }
        exchange.number += 1;
        self.shared.log.began();
        exchange.fault = self.shared.script.due(self.number, exchange.number);
        exchange.fault
    }

    /// The server sends: what happens to it. Once for each exchange.
    pub(super) fn answering(&self) -> Option<Fault> {
        self.lock().fault.take()
    }

    /// The client is about to see something of the answer.
    pub(super) fn answered(&self) {
        self.lock().asked = false;
    }

    pub(super) fn struck(&self, fault: Fault) {
        let exchange = self.lock().number;
        self.shared.log.struck(self.number, exchange, fault);
    }

    /// Ends the way to the client.
    pub(super) fn close(&self) {
        self.closing.notify_one();
    }

    /// Resolves when the way in this direction shall end.
    pub(super) async fn closing(&self, direction: Direction) {
        match direction {
            Direction::ToClient => self.closing.notified().await,
            Direction::ToServer => std::future::pending().await,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Exchange> {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
