//! Whether a connection has a session of the server to itself, or a pooler on the way lends it one for each
//! transaction.
//!
//! A pooler lets its clients in itself, and gives each the number of a process that it makes up, since it cannot know
//! which process will serve them: PgBouncer and Odyssey do. A server says the number of the process that it has
//! started for the connection, and the session has the same to say.

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
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

const PROCESS: &str = "SELECT pg_catalog.pg_backend_pid()";

/// A server's answer to a client that asks for TLS: go on.
const TLS: u8 = b'S';
/// A request to cancel: its length, its code, the process and its key, in four bytes each.
const REQUEST: usize = 16;

/// Asks the session which process it is, in one round trip.
///
/// # Errors
/// The driver's.
pub(crate) async fn is_own(client: &Client) -> Result<bool, Error> {
    let rows = client.query_typed(PROCESS, &[]).await?;
    let process: Option<i32> = rows.first().map(|row| row.try_get(0)).transpose()?;
    Ok(process.is_some() && process == promised(client).await)
}

/// The process that the connection was promised when it was let in. The driver shows it in a request to cancel, and
/// nowhere else: this one is written down here and sent to nobody.
async fn promised(client: &Client) -> Option<i32> {
    let (token, mut request) = (client.cancel_token(), Request::default());
    token.cancel_query_raw(&mut request, Plain).await.ok()?;
    let [.., a, b, c, d, _, _, _, _] = *request.written.last_chunk::<REQUEST>()?;
    Some(i32::from_be_bytes([a, b, c, d]))
}

/// A stream that keeps what is written to it, and is asked for TLS at most.
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

/// TLS that encrypts nothing: what is written stays here.
struct Plain;

impl<'a> TlsConnect<&'a mut Request> for Plain {
    type Stream = &'a mut Request;
    type Error = Infallible;
    type Future = Ready<Result<Self::Stream, Infallible>>;

    fn connect(self, stream: &'a mut Request) -> Self::Future {
        ready(Ok(stream))
    }
}
