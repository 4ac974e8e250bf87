//! A worker's connection to the storage.

use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

use super::{Answer, Ask, Question};

/// The connection of one task, opened when it is needed.
///
/// The storage may still answer a request whose future was dropped. The next request takes a new connection, so
/// that it does not read that answer; the old request may be decided late, as in any storage.
#[derive(Debug)]
pub(crate) struct StorageClient {
    address: SocketAddr,
    task: String,
    stream: Option<BufReader<TcpStream>>,
}

impl StorageClient {
    pub(crate) fn new(address: SocketAddr, task: &str) -> Self {
        Self {
            address,
            task: task.to_owned(),
            stream: None,
        }
    }

    pub(crate) async fn read(
        &mut self,
        lock: &str,
        fenced: bool,
        token: u64,
        blind: bool,
    ) -> io::Result<Answer> {
        self.ask(lock, fenced, token, Ask::Read { blind }).await
    }

    pub(crate) async fn write(
        &mut self,
        lock: &str,
        fenced: bool,
        token: u64,
        read: u64,
    ) -> io::Result<Answer> {
        let value = read + 1;
        self.ask(lock, fenced, token, Ask::Write { read, value })
            .await
    }

    async fn ask(&mut self, lock: &str, fenced: bool, token: u64, ask: Ask) -> io::Result<Answer> {
        let question = Question {
            task: self.task.clone(),
            lock: lock.to_owned(),
            fenced,
            token,
            ask,
        };
        let mut line = serde_json::to_vec(&question)?;
        line.push(b'\n');
        // Taken out of the option, so that the connection closes if this future is dropped.
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(self.address).await?;
                stream.set_nodelay(true)?;
                BufReader::new(stream)
            }
        };
        stream.write_all(&line).await?;
        let mut answer = String::new();
        if stream.read_line(&mut answer).await? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let answer = serde_json::from_str(&answer)?;
        self.stream = Some(stream);
        Ok(answer)
    }
}
