//! Very many clients of one server, in processes of their own, since a process may not have so many open files.
//!
//! They speak HTTP/1.1 by themselves: ten thousand clients of a library would be measured instead of the server.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    task::JoinSet,
    time::{sleep, timeout},
};
use uuid::Uuid;

use super::server::raise_limit_of_files;
use crate::{
    results::{Figures, figures},
    systems::LEASE,
    table::count,
};

/// How many connect at a time, in each process.
const AT_A_TIME: usize = 16;

/// How long all of them may take to come.
const ARRIVAL: Duration = Duration::from_secs(120);

/// How long each waits before it asks again: the longest that a server allows.
const WAIT: Duration = Duration::from_secs(25);

/// What a client does that was refused: what `Retry-After` says.
const RETRY: Duration = Duration::from_secs(1);

/// Names that many clients share.
const SHARED: usize = 100;

/// A crowd to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) clients: usize,
    pub(crate) doing: Doing,
    /// The server takes as many as come; otherwise it is the program with the limits that it has.
    pub(crate) roomy: bool,
}

/// What the clients do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// They keep a connection.
    Nothing,
    /// They wait for a hundred names that are held.
    Sharing,
    /// They wait for names of their own that are held.
    Alone,
}

impl Case {
    /// In the order of the tables.
    pub(crate) fn all(clients: usize) -> [Self; 5] {
        let case = |clients, doing, roomy| Self {
            clients,
            doing,
            roomy,
        };
        [
            case(clients, Doing::Nothing, true),
            case(clients, Doing::Sharing, true),
            case(clients / 10, Doing::Alone, true),
            case(clients, Doing::Alone, true),
            // Those who renew have connections, too.
            case(clients - clients / 100, Doing::Sharing, false),
        ]
    }

    pub(crate) fn name(self) -> String {
        let Self {
            clients,
            doing,
            roomy,
        } = self;
        let doing = match doing {
            Doing::Nothing => "are idle",
            Doing::Sharing => "wait for 100 names",
            Doing::Alone => "wait for a name each",
        };
        let limits = if roomy { "" } else { ", usual limits" };
        format!("{} {doing}{limits}", count(clients as f64))
    }

    /// How many names are held; none if nobody waits.
    pub(crate) const fn names(self) -> usize {
        match self.doing {
            Doing::Nothing => 0,
            Doing::Sharing => SHARED,
            Doing::Alone => self.clients,
        }
    }
}

/// The part of a crowd that one process is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) port: u16,
    /// The clients with these numbers.
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Client `i` waits for the name with number `i % names`; nobody waits if there are none.
    pub(crate) name: String,
    pub(crate) names: usize,
}

/// What has become of a part.
#[derive(Debug, Default)]
struct Counts {
    /// Connected, and the first request is sent, or answered if nobody waits.
    arrived: AtomicU64,
    /// Requests without an answer so far.
    waiting: AtomicU64,
    /// Held until the time was up.
    held: AtomicU64,
    /// For want of room.
    refused: AtomicU64,
    /// Connections that ended, and answers that should not be.
    broken: AtomicU64,
}

/// A part under way. Its clients end when this is dropped.
pub(crate) struct Crowd {
    counts: Arc<Counts>,
    _clients: JoinSet<()>,
}

impl Crowd {
    /// Returns when all have arrived.
    pub(crate) async fn come(part: Part) -> Result<Self> {
        raise_limit_of_files()?;
        let Part {
            port,
            from,
            to,
            name,
            names,
        } = part;
        let counts = Arc::new(Counts::default());
        let connecting = stream::iter(from..to).map(|number| async move {
            let connection = Connection::open(port).await?;
            Ok::<_, anyhow::Error>((number, connection))
        });
        let mut connected = connecting.buffer_unordered(AT_A_TIME).boxed();
        let mut clients = JoinSet::new();
        let arriving = async {
            while let Some((number, mut connection)) = connected.try_next().await? {
                let counts = Arc::clone(&counts);
                let name = (names > 0).then(|| format!("{name}-{}", number % names.max(1)));
                clients.spawn(async move {
                    let ended = match name {
                        Some(name) => connection.wait(&name, &counts).await,
                        None => connection.idle(&counts).await,
                    };
                    if ended.is_err() {
                        counts.broken.fetch_add(1, Relaxed);
                    }
                });
            }
            while counts.arrived.load(Relaxed) + counts.broken.load(Relaxed) < (to - from) as u64 {
                sleep(Duration::from_millis(5)).await;
            }
            Ok::<_, anyhow::Error>(())
        };
        timeout(ARRIVAL, arriving)
            .await
            .context("not all clients could connect")??;
        drop(connected);
        Ok(Self {
            counts,
            _clients: clients,
        })
    }

    pub(crate) fn count(&self) -> Figures {
        let Counts {
            arrived,
            waiting,
            held,
            refused,
            broken,
        } = &*self.counts;
        let read = |count: &AtomicU64| count.load(Relaxed) as f64;
        figures([
            ("arrived", read(arrived)),
            ("waiting", read(waiting)),
            ("held", read(held)),
            ("refused", read(refused)),
            ("broken", read(broken)),
        ])
    }
}

struct Connection(BufReader<TcpStream>);

impl Connection {
    async fn open(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        // Small: there are thousands of them.
        Ok(Self(BufReader::with_capacity(512, stream)))
    }

    /// Asks once, and keeps the connection until the server ends it.
    async fn idle(&mut self, counts: &Counts) -> Result<()> {
        self.send("GET", "/healthz", "").await?;
        let status = self.status().await?;
        ensure!(status == 200, "the server is not well: {status}");
        counts.arrived.fetch_add(1, Relaxed);
        let ended = self.0.fill_buf().await?;
        bail!("the connection ended, after {} bytes", ended.len())
    }

    /// Waits for a name, again and again.
    async fn wait(&mut self, name: &str, counts: &Counts) -> Result<()> {
        let mut is_first = true;
        loop {
            let body = json!({
                "name": name,
                "uuid": Uuid::new_v4(),
                "duration_ms": LEASE.as_millis(),
                "wait_ms": WAIT.as_millis(),
            });
            self.send("POST", "/v1/default/leases/acquire", &body.to_string())
                .await?;
            if is_first {
                counts.arrived.fetch_add(1, Relaxed);
                is_first = false;
            }
            counts.waiting.fetch_add(1, Relaxed);
            let answer = self.status().await;
            counts.waiting.fetch_sub(1, Relaxed);
            match answer? {
                409 => drop(counts.held.fetch_add(1, Relaxed)),
                503 => {
                    counts.refused.fetch_add(1, Relaxed);
                    sleep(RETRY).await;
                }
                other => bail!("{name} is held, and the server said {other}"),
            }
        }
    }

    async fn send(&mut self, method: &str, path: &str, body: &str) -> Result<()> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        Ok(self.0.get_mut().write_all(request.as_bytes()).await?)
    }

    /// Of the next answer, which is read to its end.
    async fn status(&mut self) -> Result<u16> {
        let first = self.line().await?;
        let status = first.split(' ').nth(1).context("no status")?.parse()?;
        let mut length = 0;
        loop {
            let line = self.line().await?;
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await?;
        Ok(status)
    }

    async fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        let length = self.0.read_line(&mut line).await?;
        ensure!(length > 0, "the connection ended");
        Ok(line.trim_end().to_owned())
    }
}
