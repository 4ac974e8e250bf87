//! A server with a small router, and clients that speak to it byte by byte.
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{Extension, Router, extract::Path, routing::get};
use dlock_server::{
    Peer,
    listen::{Bounds, Connection, Server, Tls},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// How long a test waits for what must come: longer than any machine takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes of the answer to `/big`: more than the system's buffers hold.
pub(crate) const BIG: usize = 64 * 1024 * 1024;

/// A server, and the state of its handlers.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) stop: CancellationToken,
    pub(crate) serving: JoinHandle<()>,
    /// Requests of `/held` and `/held/stranger` that have begun.
    pub(crate) begun: Arc<Semaphore>,
    /// How many of them may end.
    pub(crate) released: Arc<Semaphore>,
}

impl Running {
    pub(crate) async fn start(bounds: Bounds, tls: Option<Arc<Tls>>) -> Self {
        let (begun, released) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let held = {
            let (begun, released) = (Arc::clone(&begun), Arc::clone(&released));
            move |stranger: Option<Path<String>>, Extension(connection): Extension<Connection>| async move {
                if stranger.is_none() {
                    connection.recognise();
                }
                begun.add_permits(1);
                released.acquire().await.unwrap().forget();
                "released"
            }
        };
        let who = |peer: Option<Extension<Peer>>| async move {
            peer.map_or_else(
                || "nobody".to_owned(),
                |Extension(peer)| peer.names.join(" "),
            )
        };
        let known = |Extension(connection): Extension<Connection>| async move {
            connection.recognise();
            "known"
        };
        let router = Router::new()
            .route("/", get(|| async { "here" }))
            .route("/known", get(known))
            .route("/held", get(held.clone()))
            .route("/held/{by}", get(held))
            .route("/big", get(|| async { "x".repeat(BIG) }))
            .route("/who", get(who));
        let mut server = Server::new(router, bounds);
        if let Some(tls) = tls {
            server = server.tls(tls);
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let serving = tokio::spawn(server.serve(listener, stop.clone()));
        Self {
            address,
            stop,
            serving,
            begun,
            released,
        }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// A connection with a request for `/held` in flight.
    pub(crate) async fn hold(&self) -> TcpStream {
        self.hold_at("/held").await
    }

    /// The same at `/held/stranger`, which recognises its client no more than other paths do.
    pub(crate) async fn hold_at(&self, path: &str) -> TcpStream {
        let mut stream = self.connect().await;
        send(&mut stream, path).await;
        within(self.begun.acquire()).await.unwrap().forget();
        stream
    }

    /// Waits until no connection is left.
    pub(crate) async fn ended(self) {
        within(self.serving).await.unwrap();
    }
}

/// Bounds that no test comes near by accident.
pub(crate) fn wide() -> Bounds {
    let mut bounds = Bounds::default();
    bounds.head = PATIENCE * 2;
    bounds.handshake = PATIENCE * 2;
    bounds.idle = PATIENCE * 2;
    bounds.write = PATIENCE * 2;
    bounds.grace = PATIENCE * 2;
    bounds
}

pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    timeout(PATIENCE, work).await.unwrap()
}

/// Sends a request without a body.
pub(crate) async fn send(stream: &mut (impl AsyncWrite + Unpin), path: &str) {
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    // A server that refuses us may have closed already; the answer shows it.
    stream.write_all(request.as_bytes()).await.ok();
    stream.flush().await.ok();
}

/// The status and the body of an answer; `None` if the connection ended before.
pub(crate) async fn answer(stream: &mut (impl AsyncRead + Unpin)) -> Option<(u16, String)> {
    let mut bytes = Vec::new();
    within(async {
        loop {
            if let Some(answer) = whole(&bytes) {
                return Some(answer);
            }
            match stream.read_buf(&mut bytes).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => return None,
            }
        }
    })
    .await
}

/// One after the other.
pub(crate) async fn ask<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    path: &str,
) -> Option<(u16, String)> {
    send(stream, path).await;
    answer(stream).await
}

pub(crate) fn ok(body: &str) -> Option<(u16, String)> {
    Some((200, body.to_owned()))
}

fn whole(bytes: &[u8]) -> Option<(u16, String)> {
    let text = str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        line.to_ascii_lowercase()
            .strip_prefix("content-length: ")?
            .parse()
            .ok()
    });
    (body.len() == length.unwrap_or(0)).then(|| (status, body.to_owned()))
}
