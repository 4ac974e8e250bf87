//! A server with one-line requests, and a client that reports what it received.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use dlock_testkit::proxy::Proxy;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::watch,
    time::timeout,
};

/// The limit for every event that has to come, on a busy machine too.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// A server that executes lines: it remembers each and answers with the same line.
pub(crate) struct Lines {
    pub(crate) address: SocketAddr,
    executed: watch::Receiver<Vec<String>>,
}

impl Lines {
    pub(crate) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (execute, executed) = watch::channel(Vec::new());
        let execute = Arc::new(execute);
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let execute = Arc::clone(&execute);
                tokio::spawn(async move {
                    let (from, mut to) = socket.split();
                    let mut from = BufReader::new(from);
                    let mut line = String::new();
                    while let Ok(1..) = from.read_line(&mut line).await {
                        // Half a line at the end of the stream is not a request.
                        if line.ends_with('\n') {
                            execute.send_modify(|lines| lines.push(line.trim().to_owned()));
                            if to.write_all(line.as_bytes()).await.is_err() {
                                return;
                            }
                        }
                        line.clear();
                    }
                });
            }
        });
        Ok(Self { address, executed })
    }

    pub(crate) async fn proxy(&self) -> io::Result<Proxy> {
        Proxy::start(self.address).await
    }

    pub(crate) fn executed(&self) -> Vec<String> {
        self.executed.borrow().clone()
    }

    pub(crate) async fn until_executed(&self, line: &str) -> io::Result<()> {
        let mut executed = self.executed.clone();
        let seen = executed.wait_for(|lines| lines.iter().any(|executed| executed == line));
        timeout(SOON, seen).await?.map_err(io::Error::other)?;
        Ok(())
    }
}

/// The event that a client observed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Answer,
    /// The connection ended in good order after this many bytes.
    End(usize),
    Reset,
    Nothing,
}

pub(crate) async fn ask(socket: &mut TcpStream, line: &str) -> io::Result<Heard> {
    ask_for(SOON, socket, line).await
}

pub(crate) async fn ask_for(
    patience: Duration,
    socket: &mut TcpStream,
    line: &str,
) -> io::Result<Heard> {
    let line = format!("{line}\n");
    if let Err(error) = socket.write_all(line.as_bytes()).await {
        return broken(&error);
    }
    let mut heard = 0;
    let mut answer = vec![0; line.len()];
    while heard < line.len() {
        match timeout(patience, socket.read(&mut answer[heard..])).await {
            Err(_elapsed) => return Ok(Heard::Nothing),
            Ok(Ok(0)) => return Ok(Heard::End(heard)),
            Ok(Ok(more)) => heard += more,
            Ok(Err(error)) => return broken(&error),
        }
    }
    Ok(Heard::Answer)
}

fn broken(error: &io::Error) -> io::Result<Heard> {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Ok(Heard::Reset),
        other => Err(other.into()),
    }
}

/// A client that has been answered once.
pub(crate) async fn client(proxy: &Proxy) -> io::Result<TcpStream> {
    let mut socket = TcpStream::connect(proxy.address()).await?;
    assert_eq!(ask(&mut socket, "hello").await?, Heard::Answer);
    Ok(socket)
}

/// Waits until the proxy has struck.
pub(crate) async fn struck(proxy: &Proxy, exchanges: usize) -> io::Result<()> {
    timeout(SOON, proxy.until_struck(exchanges)).await?;
    Ok(())
}
