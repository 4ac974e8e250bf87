//! A server and a client of HTTP/2 that use frames and ignore headers: the data sent on a stream is the call, and is
//! echoed on it.

#![expect(clippy::expect_used, reason = "all of this is test code")]

use std::{io, net::SocketAddr, time::Duration};

use dlock_testkit::proxy::{Protocol, Proxy};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{mpsc, watch},
    time::timeout,
};

/// The limit for every event that has to come, on a busy machine too.
pub(crate) const SOON: Duration = Duration::from_secs(60);

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;

const END_STREAM: u8 = 1;
const ACK: u8 = 1;

pub(crate) struct Call;

impl Call {
    /// A call that the server executes and does not answer.
    pub(crate) const HELD: &str = "held";
}

struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short one");
    let mut bytes = length.to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

async fn read(from: &mut (impl AsyncReadExt + Unpin)) -> io::Result<Frame> {
    let mut head = [0; 9];
    from.read_exact(&mut head).await?;
    let [l0, l1, l2, kind, flags, stream @ ..] = head;
    let mut payload = vec![0; u32::from_be_bytes([0, l0, l1, l2]) as usize];
    from.read_exact(&mut payload).await?;
    Ok(Frame {
        kind,
        flags,
        stream: u32::from_be_bytes(stream),
        payload,
    })
}

/// A server for one connection.
pub(crate) struct Server {
    address: SocketAddr,
    executed: watch::Receiver<Vec<String>>,
    say: mpsc::UnboundedSender<Vec<u8>>,
}

impl Server {
    pub(crate) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (execute, executed) = watch::channel(Vec::new());
        let (say, mut said) = mpsc::unbounded_channel::<Vec<u8>>();
        let answer = say.clone();
        tokio::spawn(async move {
            let (socket, _) = listener.accept().await?;
            let (mut from, mut to) = socket.into_split();
            let writing = tokio::spawn(async move {
                while let Some(bytes) = said.recv().await {
                    to.write_all(&bytes).await?;
                }
                Ok::<(), io::Error>(())
            });
            let ended = serve(&mut from, &answer, &execute).await;
            writing.abort();
            ended
        });
        Ok(Self {
            address,
            executed,
            say,
        })
    }

    pub(crate) async fn proxy(&self) -> io::Result<Proxy> {
        let proxy = Proxy::start(self.address).await?;
        proxy.speak(Protocol::Http2);
        Ok(proxy)
    }

    pub(crate) fn executed(&self) -> Vec<String> {
        self.executed.borrow().clone()
    }

    pub(crate) async fn until_executed(&self, call: &str) -> io::Result<()> {
        let mut executed = self.executed.clone();
        let seen = executed.wait_for(|calls| calls.iter().any(|executed| executed == call));
        timeout(SOON, seen).await?.map_err(io::Error::other)?;
        Ok(())
    }

    /// Sends data on a stream.
    pub(crate) fn tell(&self, stream: u32, text: &str) {
        self.send(frame(DATA, 0, stream, text.as_bytes()));
    }

    pub(crate) fn ping(&self) {
        self.send(frame(PING, 0, 0, &[7; 8]));
    }

    fn send(&self, bytes: Vec<u8>) {
        self.say.send(bytes).expect("the connection is open");
    }
}

/// Executes the calls on streams, and answers pings.
async fn serve(
    from: &mut (impl AsyncReadExt + Unpin),
    answer: &mpsc::UnboundedSender<Vec<u8>>,
    execute: &watch::Sender<Vec<String>>,
) -> io::Result<()> {
    let answer = |bytes| answer.send(bytes).map_err(io::Error::other);
    let mut preface = [0; PREFACE.len()];
    from.read_exact(&mut preface).await?;
    assert_eq!(preface, PREFACE);
    answer(frame(SETTINGS, 0, 0, &[]))?;
    loop {
        let Frame {
            kind,
            flags,
            stream,
            payload,
        } = read(from).await?;
        match kind {
            SETTINGS if flags & ACK == 0 => answer(frame(SETTINGS, ACK, 0, &[]))?,
            PING if flags & ACK == 0 => answer(frame(PING, ACK, 0, &payload))?,
            // An empty frame is an end, not a call.
            DATA if !payload.is_empty() => {
                let call = String::from_utf8(payload).map_err(io::Error::other)?;
                let held = call == Call::HELD;
                let mut bytes = frame(HEADERS, 0, stream, b"head");
                bytes.extend(frame(DATA, 0, stream, call.as_bytes()));
                execute.send_modify(|calls| calls.push(call));
                if !held {
                    answer(bytes)?;
                }
            }
            _ => {}
        }
    }
}

/// The event that a client observed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Answer(u32, String),
    Pong,
    End,
    Reset,
    Nothing,
}

impl Heard {
    pub(crate) fn answer(stream: u32, text: &str) -> Self {
        Self::Answer(stream, text.to_owned())
    }
}

pub(crate) struct Client {
    socket: TcpStream,
    in_parts: bool,
}

impl Client {
    /// A client that has received the server's settings.
    pub(crate) async fn connect(proxy: &Proxy) -> io::Result<Self> {
        let socket = TcpStream::connect(proxy.address()).await?;
        socket.set_nodelay(true)?;
        let mut client = Self {
            socket,
            in_parts: false,
        };
        client.send(PREFACE).await?;
        client.send(&frame(SETTINGS, 0, 0, &[])).await?;
        let settings = timeout(SOON, read(&mut client.socket)).await??;
        assert_eq!(settings.kind, SETTINGS);
        Ok(client)
    }

    /// Sends frames in parts from now on.
    pub(crate) fn send_in_parts(&mut self) {
        self.in_parts = true;
    }

    /// Sends a whole call.
    pub(crate) async fn call(&mut self, stream: u32, text: &str) -> io::Result<()> {
        let mut bytes = frame(HEADERS, 0, stream, b"head");
        bytes.extend(frame(DATA, 0, stream, text.as_bytes()));
        self.send(&bytes).await
    }

    /// Sends the beginning of a call.
    pub(crate) async fn open(&mut self, stream: u32) -> io::Result<()> {
        self.send(&frame(HEADERS, 0, stream, b"head")).await
    }

    /// Sends more of a call.
    pub(crate) async fn say(&mut self, stream: u32, text: &str) -> io::Result<()> {
        self.send(&frame(DATA, 0, stream, text.as_bytes())).await
    }

    /// Sends the end of a call.
    pub(crate) async fn end(&mut self, stream: u32) -> io::Result<()> {
        self.send(&frame(DATA, END_STREAM, stream, &[])).await
    }

    /// Grants room for more answers.
    pub(crate) async fn window(&mut self, stream: u32) -> io::Result<()> {
        self.send(&frame(WINDOW_UPDATE, 0, stream, &[0, 0, 0, 9]))
            .await
    }

    pub(crate) async fn ping(&mut self) -> io::Result<()> {
        self.send(&frame(PING, 0, 0, &[3; 8])).await
    }

    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.in_parts {
            return self.socket.write_all(bytes).await;
        }
        // Shorter than the head of a frame.
        for part in bytes.chunks(7) {
            self.socket.write_all(part).await?;
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// The next answer, or whatever comes instead within this time.
    pub(crate) async fn hear(&mut self, patience: Duration) -> io::Result<Heard> {
        loop {
            let frame = match timeout(patience, read(&mut self.socket)).await {
                Err(_elapsed) => return Ok(Heard::Nothing),
                Ok(Ok(frame)) => frame,
                Ok(Err(error)) => {
                    return match error.kind() {
                        io::ErrorKind::UnexpectedEof => Ok(Heard::End),
                        io::ErrorKind::ConnectionReset => Ok(Heard::Reset),
                        _ => Err(error),
                    };
                }
            };
            match frame.kind {
                PING if frame.flags & ACK != 0 => return Ok(Heard::Pong),
                DATA => {
                    let text = String::from_utf8(frame.payload).map_err(io::Error::other)?;
                    return Ok(Heard::Answer(frame.stream, text));
                }
                _ => {}
            }
        }
    }
}
