//! A client of the server that sends what it likes: HTTP/1.1 over TLS, as text.

use std::{
    io::{Error, ErrorKind, Result},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::Context as _;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::watch,
    time::sleep,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::clock::Moment;

/// The name of the server.
pub(super) const HOST: &str = "localhost";

/// The tokens are the words "calm" and "wild"; these are their hashes.
pub(super) const TOKENS: &str = r#"
[[token]]
name = "calm"
sha256 = "2b4b2eadf7b2aece598d2f2ad4637361614a738a7cdf1a457d8b46db072184d5"
rights = { calm = ["hold"] }

[[token]]
name = "wild"
sha256 = "7e73b026cfd1b008c5580cc3d1d65bf7e59e70f8fd934508c40ad473835ea22a"
rights = { wild = ["hold", "read", "enqueue", "work"] }
"#;

/// The token that a request carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Calm,
    Wild,
    Stranger,
}

/// The server, and the number of calls since it was last read. Clones share their state.
#[derive(Clone)]
pub(super) struct Site {
    port: u16,
    config: Arc<ClientConfig>,
    calls: Arc<AtomicU64>,
    /// The number of attackers that wait for the others, and whether they may begin.
    waiting: Arc<AtomicUsize>,
    begun: watch::Sender<bool>,
}

/// A connection, and the bytes read so far of the next answer.
pub(super) struct Connection {
    stream: TlsStream<TcpStream>,
    read: Vec<u8>,
    calls: Arc<AtomicU64>,
}

impl Site {
    pub(super) fn new(port: u16, authority: &Path) -> anyhow::Result<Self> {
        let mut roots = RootCertStore::empty();
        let authority = CertificateDer::from_pem_file(authority);
        roots.add(authority.context("the authority's certificate")?)?;
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self {
            port,
            config: Arc::new(config),
            calls: Arc::default(),
            waiting: Arc::default(),
            begun: watch::Sender::new(false),
        })
    }

    /// The same for another attack.
    pub(super) fn anew(&self) -> Self {
        Self {
            waiting: Arc::default(),
            begun: watch::Sender::new(false),
            ..self.clone()
        }
    }

    /// Counts an attacker as connected, and waits until the attack begins.
    pub(super) async fn connected(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // `self` owns the sender, so it cannot be gone.
        self.begun.subscribe().wait_for(|begun| *begun).await.ok();
    }

    /// Waits until that many attackers are connected, or this time has passed.
    pub(super) async fn all_connected(&self, attackers: usize, longest: Duration) {
        let began = Moment::now();
        while self.waiting.load(Ordering::Relaxed) < attackers
            && Moment::now().since(began) < longest
        {
            sleep(Duration::from_millis(20)).await;
        }
    }

    pub(super) fn begin(&self) {
        self.begun.send_replace(true);
    }

    /// The number of calls so far; resets the count.
    pub(super) fn calls(&self) -> u64 {
        self.calls.swap(0, Ordering::Relaxed)
    }

    pub(super) fn count(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// A connection on which nothing has been sent yet.
    pub(super) async fn dial(&self) -> Result<TcpStream> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// TLS with this protocol, or without ALPN if none is given.
    pub(super) async fn secure(&self, protocol: Option<&[u8]>) -> Result<TlsStream<TcpStream>> {
        let mut config = ClientConfig::clone(&self.config);
        config.alpn_protocols = protocol.into_iter().map(<[u8]>::to_vec).collect();
        let name = ServerName::try_from(HOST).map_err(Error::other)?;
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(name, self.dial().await?).await
    }

    pub(super) async fn connect(&self) -> Result<Connection> {
        Ok(Connection {
            stream: self.secure(None).await?,
            read: Vec::new(),
            calls: Arc::clone(&self.calls),
        })
    }
}

impl Connection {
    /// Sends a request. Its answer may be read later, or never.
    pub(super) async fn send(&mut self, who: Who, what: &str, body: &str) -> Result<()> {
        let token = match who {
            Who::Calm => "Authorization: Bearer calm\r\n",
            Who::Wild => "Authorization: Bearer wild\r\n",
            Who::Stranger => "",
        };
        let request = format!(
            "{what} HTTP/1.1\r\nHost: {HOST}\r\n{token}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        if who != Who::Calm {
            self.calls.fetch_add(1, Ordering::Relaxed);
        }
        self.stream.write_all(request.as_bytes()).await?;
        self.stream.flush().await
    }

    /// Sends a request such as `GET /path`, and reads the status of its answer.
    pub(super) async fn call(&mut self, who: Who, what: &str, body: &str) -> Result<u16> {
        self.send(who, what, body).await?;
        self.answer().await
    }

    async fn answer(&mut self) -> Result<u16> {
        let end = loop {
            if let Some(end) = self.read.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            self.more().await?;
        };
        let head = String::from_utf8_lossy(&self.read[..end]).to_ascii_lowercase();
        let malformed = || {
            Error::new(
                ErrorKind::InvalidData,
                "no answer of HTTP/1.1 with a length",
            )
        };
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let status = status.ok_or_else(malformed)?;
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = match length {
            Some(length) => length.trim().parse().map_err(|_| malformed())?,
            None if status == 204 => 0,
            None => return Err(malformed()),
        };
        while self.read.len() < end + length {
            self.more().await?;
        }
        self.read.drain(..end + length);
        Ok(status)
    }

    async fn more(&mut self) -> Result<()> {
        match self.stream.read_buf(&mut self.read).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// Reads until the server ends the connection.
    pub(super) async fn drained(mut self) {
        while self.more().await.is_ok() {
            self.read.clear();
        }
    }
}
