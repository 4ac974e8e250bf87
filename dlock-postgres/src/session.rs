//! Whether a connection has a session of the server to itself, or a pooler in between lends it one for each
//! transaction.
//!
//! A pooler authenticates its clients itself, and gives each a process number that it makes up, since it cannot know
//! which process will serve them: PgBouncer and Odyssey do this. A server gives the number of the process that it has
//! started for the connection, and the session reports the same number.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    io,
    pin::Pin,
    task::{Context, Poll},
};

use deadpool_postgres::tokio_postgres::{
    Client, Error,
    tls::{ChannelBinding, TlsConnect, TlsStream},
    types::Type,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A server's answer to a client that requests TLS: proceed.
const TLS: u8 = b'S';
/// A request to cancel: its length, its code, the process and its key, in four bytes each.
const REQUEST: usize = 16;

/// The knowledge about a connection's session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Session {
    /// The connection has it to itself.
    pub(crate) own: bool,
    /// The server ends a statement whose client has gone.
    pub(crate) watches: bool,
}

/// Queries the number of the session's process, and makes the server check for its client (`sql/session.sql`): in one
/// round trip, whose first poll sends the query.
///
/// # Errors
/// The driver's.
pub(crate) async fn ask(
    client: &Client,
    question: &str,
    promised: Option<i32>,
) -> Result<Session, Error> {
    let row = client
        .query_typed_one(question, &[(&promised, Type::INT4)])
        .await?;
    let own: Option<bool> = row.try_get(0)?;
    Ok(Session {
        own: own.unwrap_or(false),
        watches: row.try_get::<_, Option<bool>>(1)?.unwrap_or(false),
    })
}

/// The process number that the connection received when it was let in. The driver reveals it in a request to cancel,
/// and nowhere else: this request is recorded here and not sent.
pub(crate) async fn promised(client: &Client) -> Option<i32> {
    let (token, mut request) = (client.cancel_token(), Request::default());
    token.cancel_query_raw(&mut request, Plain).await.ok()?;
    let [.., a, b, c, d, _, _, _, _] = *request.written.last_chunk::<REQUEST>()?;
    Some(i32::from_be_bytes([a, b, c, d]))
}

/// A stream that keeps what is written to it, and at most receives a request for TLS.
#[derive(Default)]
struct Request {
    written: Vec<u8>,
}

impl AsyncRead for Request {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        buffer.put_slice(&[TLS]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Request {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.written.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl TlsStream for &mut Request {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

/// TLS that encrypts nothing: written bytes stay here.
struct Plain;

impl<'a> TlsConnect<&'a mut Request> for Plain {
    type Stream = &'a mut Request;
    type Error = Infallible;
    type Future = Ready<Result<Self::Stream, Infallible>>;

    fn connect(self, stream: &'a mut Request) -> Self::Future {
        ready(Ok(stream))
    }
}
