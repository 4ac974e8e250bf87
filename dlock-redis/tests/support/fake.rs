//! A server whose answers a test writes: those of a release of Redis that is not installed here.

use std::{future::Future, net::SocketAddr, pin::Pin, sync::Arc};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// The words of a command.
pub(crate) type Words = Vec<Vec<u8>>;

/// The outcome of a command: the bytes of the reply.
pub(crate) type Reply = Pin<Box<dyn Future<Output = Vec<u8>> + Send>>;

/// Answers on a separate port until it is dropped. Commands that only set up a connection get `OK`.
#[derive(Debug)]
pub(crate) struct Fake {
    address: SocketAddr,
    _connections: JoinSet<()>,
}

impl Fake {
    pub(crate) async fn start(answer: impl Fn(Words) -> Reply + Send + Sync + 'static) -> Self {
        let answer = Arc::new(answer);
        let listener = match TcpListener::bind("127.0.0.1:0").await {
            Ok(listener) => listener,
            Err(error) => panic!("no port: {error}"),
        };
        let address = match listener.local_addr() {
            Ok(address) => address,
            Err(error) => panic!("no address: {error}"),
        };
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let answer = Arc::clone(&answer);
                connections.spawn(async move { serve(stream, &*answer).await });
            }
        });
        Self {
            address,
            _connections: accepting,
        }
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Answers until the other side is gone.
async fn serve(stream: TcpStream, answer: &(impl Fn(Words) -> Reply + Sync)) {
    let mut stream = BufReader::new(stream);
    while let Some(words) = command(&mut stream).await {
        let reply = match words.first().map(Vec::as_slice) {
            Some(b"CLIENT") => b"+OK\r\n".to_vec(),
            _ => answer(words).await,
        };
        if stream.get_mut().write_all(&reply).await.is_err() {
            return;
        }
    }
}

/// A command on the wire: `*2\r\n$3\r\nGET\r\n$1\r\nk\r\n`.
pub(crate) fn wire(words: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n", word.len()).into_bytes());
        bytes.extend(word);
        bytes.extend(b"\r\n");
    }
    bytes
}

async fn command(stream: &mut BufReader<TcpStream>) -> Option<Words> {
    let count = number(stream, '*').await?;
    let mut words = Vec::new();
    for _ in 0..count {
        let mut word = vec![0; number(stream, '$').await? + 2];
        stream.read_exact(&mut word).await.ok()?;
        word.truncate(word.len() - 2);
        words.push(word);
    }
    Some(words)
}

async fn number(stream: &mut BufReader<TcpStream>, sign: char) -> Option<usize> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok()?;
    line.strip_prefix(sign)?.trim_end().parse().ok()
}
