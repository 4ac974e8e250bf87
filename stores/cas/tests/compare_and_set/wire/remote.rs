//! A server that keeps the store in memory, and the store of its clients. A request is a line of JSON, and so is its answer.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use dlock_cas::{CasStore, Entry, Put};
use dlock_core::{ErrorKind, ProviderError, provider::Capabilities};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use crate::store::Memory;

/// The bug of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bug {
    /// It says of a write without an answer that the write was refused.
    TellsLost,
    /// It says of a write without an answer that the write was not made.
    TellsNotApplied,
}

#[derive(Serialize, Deserialize)]
struct Request {
    key: String,
    /// The write to make; `None` requests the contents.
    write: Option<Write>,
}

#[derive(Serialize, Deserialize)]
struct Write {
    bytes: Vec<u8>,
    expected: Option<u64>,
}

#[derive(Serialize, Deserialize)]
enum Answer {
    Contents(Option<(Vec<u8>, u64)>),
    Written(u64),
    Refused,
}

/// Where the server listens.
pub(super) async fn serve() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let memory = Memory::default();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(answers(socket, memory.clone()));
        }
    });
    Ok(address)
}

/// Answers the requests of one connection until it breaks.
async fn answers(socket: TcpStream, memory: Memory) -> io::Result<()> {
    let mut socket = BufReader::new(socket);
    loop {
        let Request { key, write } = read(&mut socket).await?;
        let answer = match write {
            None => {
                let found = memory.get(&key).await.map_err(io::Error::other)?;
                Answer::Contents(found.map(|entry| (entry.bytes, entry.version)))
            }
            Some(Write { bytes, expected }) => {
                let put = memory.put_if(&key, bytes, expected.as_ref()).await;
                match put.map_err(io::Error::other)? {
                    Put::Done(version) => Answer::Written(version),
                    _ => Answer::Refused,
                }
            }
        };
        write_line(&mut socket, &answer).await?;
    }
}

async fn read<T: for<'de> Deserialize<'de>>(socket: &mut BufReader<TcpStream>) -> io::Result<T> {
    let mut line = Vec::new();
    socket.read_until(b'\n', &mut line).await?;
    // Half a line, or no line at all, is no JSON.
    Ok(serde_json::from_slice(&line)?)
}

async fn write_line(
    socket: &mut BufReader<TcpStream>,
    what: &(impl Serialize + Sync),
) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    socket.write_all(&line).await
}

/// A client of the server.
#[derive(Clone)]
pub(super) struct Remote {
    address: SocketAddr,
    limit: Duration,
    idle: Arc<Mutex<Vec<BufReader<TcpStream>>>>,
    bug: Option<Bug>,
}

impl Remote {
    pub(super) fn new(address: SocketAddr, limit: Duration, bug: Option<Bug>) -> Self {
        Self {
            address,
            limit,
            idle: Arc::default(),
            bug,
        }
    }

    async fn ask(&self, request: &Request) -> Result<Answer, ProviderError> {
        let mut sent = false;
        let failed = match timeout(self.limit, self.exchange(request, &mut sent)).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => error,
            Err(elapsed) => elapsed.into(),
        };
        Err(if sent {
            ProviderError::unknown("no answer").with_source(failed)
        } else {
            ProviderError::not_applied("no connection").with_source(failed)
        })
    }

    /// Uses a connection, and returns it to the pool only if it was answered.
    async fn exchange(&self, request: &Request, sent: &mut bool) -> io::Result<Answer> {
        let mut socket = match self.lent() {
            Some(socket) => socket,
            None => BufReader::new(TcpStream::connect(self.address).await?),
        };
        *sent = true;
        write_line(&mut socket, request).await?;
        let answer = read(&mut socket).await?;
        self.idle.lock().unwrap().push(socket);
        Ok(answer)
    }

    /// An idle connection that has not ended.
    fn lent(&self) -> Option<BufReader<TcpStream>> {
        let mut idle = self.idle.lock().unwrap();
        loop {
            let socket = idle.pop()?;
            let ended = socket.get_ref().try_read(&mut [0; 1]);
            if ended.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
                return Some(socket);
            }
        }
    }
}

#[async_trait]
impl CasStore for Remote {
    type Version = u64;

    fn capabilities(&self) -> Capabilities {
        Memory::default().capabilities()
    }

    fn repeats_puts(&self) -> bool {
        false
    }

    async fn get(&self, key: &str) -> Result<Option<Entry<u64>>, ProviderError> {
        let request = Request {
            key: key.to_owned(),
            write: None,
        };
        match self.ask(&request).await? {
            Answer::Contents(found) => Ok(found.map(|(bytes, version)| Entry { bytes, version })),
            _ => Err(ProviderError::unknown("an answer to something else")),
        }
    }

    async fn put_if(
        &self,
        key: &str,
        bytes: Vec<u8>,
        expected: Option<&u64>,
    ) -> Result<Put<u64>, ProviderError> {
        let request = Request {
            key: key.to_owned(),
            write: Some(Write {
                bytes,
                expected: expected.copied(),
            }),
        };
        match self.ask(&request).await {
            Ok(Answer::Written(version)) => Ok(Put::Done(version)),
            Ok(Answer::Refused) => Ok(Put::Lost),
            Ok(Answer::Contents(_)) => Err(ProviderError::unknown("an answer to something else")),
            Err(error) if error.kind() == ErrorKind::Unknown => match self.bug {
                Some(Bug::TellsLost) => Ok(Put::Lost),
                Some(Bug::TellsNotApplied) => {
                    Err(ProviderError::not_applied("not written").with_source(error))
                }
                None => Err(error),
            },
            Err(error) => Err(error),
        }
    }
}
