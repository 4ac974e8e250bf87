//! Connections: how many there are, how long they may take, TLS on them, and how they end.
//!
//! It has its own accept loop, since `axum::serve` bounds neither the number of connections nor the time that a client
//! may take for its headers, and does not support client certificates. The meaning of a request is the router's
//! business.

mod activity;
mod connection;
mod tls;
mod watched;
mod written;

use std::{io, sync::Arc, time::Duration};

use axum::Router;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::activity::{Activity, Crowd};
pub use self::tls::{Tls, TlsError, TlsFiles};
use crate::rate_limit::RateLimit;

/// How long a connection waits for a place before another one is ended to make room.
const CROWDED: Duration = Duration::from_millis(100);

/// How long the accept loop rests when the system has no more sockets.
const REST: Duration = Duration::from_millis(10);

/// The limits on connections.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Bounds {
    /// Connections at a time: 10,000. A further one ends the connection that has had no request for the longest time,
    /// first among clients that were not [recognised](Connection::recognise), whatever those clients do. While
    /// recognised clients have requests in flight on all of them, it waits.
    pub connections: usize,
    /// How long a TLS handshake may take: 10 s.
    pub handshake: Duration,
    /// How long a client may take from its first byte, or from the beginning of the connection, until the headers of
    /// its request are complete: 10 s.
    pub head: Duration,
    /// How long a connection without a request stays open: 2 min. Longer than clients pause between renewals of most
    /// leases, so that these find it open.
    pub idle: Duration,
    /// How long a client may fail to read what it is sent: 30 s. This does not apply to a stream that has nothing to
    /// send.
    pub write: Duration,
    /// The headers of a request, in bytes: 16 KiB.
    pub head_size: u16,
    /// Requests at a time on one HTTP/2 connection: 256.
    pub streams: u32,
    /// How long requests in flight may take once the server stops: 10 s.
    pub grace: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: 10_000,
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(10),
            idle: Duration::from_secs(120),
            write: Duration::from_secs(30),
            head_size: 16 * 1024,
            streams: 256,
            grace: Duration::from_secs(10),
        }
    }
}

/// Serves a router on connections: HTTP/1.1 and, over TLS, HTTP/2 for clients that ask for it (ALPN).
#[derive(Debug)]
pub struct Server {
    router: Router,
    tls: Option<Arc<Tls>>,
    bounds: Bounds,
    crowd: Crowd,
}

/// An extension of a request: the connection that it came on.
#[derive(Clone, Debug)]
pub struct Connection(Arc<Activity>);

impl Connection {
    /// Marks the client as known to the server: its connection ends later than those of strangers when there are too
    /// many ([`Bounds::connections`]).
    pub fn recognise(&self) {
        self.0.recognise();
    }
}

/// The signals to a connection that the server stops.
#[derive(Clone, Debug)]
struct Stop {
    /// No new requests.
    soon: CancellationToken,
    /// No more requests at all.
    now: CancellationToken,
}

impl Server {
    /// Without TLS.
    #[must_use]
    pub fn new(router: Router, bounds: Bounds) -> Self {
        Self {
            router,
            tls: None,
            bounds,
            crowd: Crowd::default(),
        }
    }

    /// With TLS only.
    #[must_use]
    pub fn tls(mut self, tls: Arc<Tls>) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Serves until `stop` is cancelled. Then it accepts no more connections, closes idle ones, and gives requests in
    /// flight [`Bounds::grace`] before it cuts them off; it returns when no connection is left.
    ///
    /// # Cancel safety
    /// After the future is dropped no more connections are accepted. Open connections stay open until `stop` is
    /// cancelled or they end.
    pub async fn serve(self, listener: TcpListener, stop: CancellationToken) {
        let server = Arc::new(self);
        let grace = server.bounds.grace;
        let places = Arc::new(Semaphore::new(server.bounds.connections));
        let connections = TaskTracker::new();
        let stop = Stop {
            soon: stop,
            now: CancellationToken::new(),
        };
        let accepting = async {
            let mut logged = RateLimit::new();
            loop {
                let stream = accept(&listener, &server.crowd, &mut logged).await;
                let place = loop {
                    if places.available_permits() == 0 {
                        server.crowd.thin();
                    }
                    // The semaphore is never closed. While all connections are busy, one of them will become idle
                    // later.
                    if let Ok(Ok(place)) =
                        timeout(CROWDED, Arc::clone(&places).acquire_owned()).await
                    {
                        break place;
                    }
                };
                let connection = connection::run(stream, Arc::clone(&server), stop.clone());
                connections.spawn(async move {
                    connection.await;
                    drop(place);
                });
            }
        };
        stop.soon.run_until_cancelled(accepting).await;
        drop(listener);
        connections.close();
        if timeout(grace, connections.wait()).await.is_err() {
            let left = connections.len();
            tracing::warn!(
                connections = left,
                ?grace,
                "requests did not end in time and are cut off"
            );
            stop.now.cancel();
            connections.wait().await;
        }
    }
}

/// The next connection. If there is no socket for it, another one is ended, as for a connection beyond the limit.
async fn accept(listener: &TcpListener, crowd: &Crowd, logged: &mut RateLimit) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            // Gone before it was accepted.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionAborted
                        | io::ErrorKind::ConnectionRefused
                        | io::ErrorKind::ConnectionReset
                ) => {}
            Err(error) => {
                if logged.admits(1) {
                    tracing::error!(%error, "no connection can be accepted; is the limit of open files too low? see ulimit -n");
                }
                crowd.thin();
                sleep(REST).await;
            }
        }
    }
}
