//! How the bytes of a connection are cut into requests and answers.

use super::{Direction, http2::Frames};

/// How requests and answers are found on a connection. TLS hides them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// The client asks, and waits for the answer before it asks again: `PostgreSQL`, Redis, HTTP/1.1. Everything that
    /// the client sends is a request.
    #[default]
    Turns,
    /// HTTP/2 from the first byte, as gRPC uses it: calls run concurrently, and the rule of [`Turns`](Self::Turns)
    /// holds for each stream. Only messages are requests and answers; pings, settings and windows belong to no
    /// exchange. A fault of the connection strikes all its streams, and bytes that are delayed delay all bytes behind
    /// them: it is one connection.
    Http2,
}

/// Bytes that belong together.
pub(super) struct Piece {
    pub(super) bytes: Vec<u8>,
    /// The stream on which they ask or answer. `None`: they do neither.
    pub(super) stream: Option<u32>,
    /// Whether a server can execute a request that is complete up to here.
    pub(super) whole: bool,
}

/// Cuts the bytes read in one direction of a connection.
pub(super) enum Pieces {
    Turns,
    Http2(Frames),
}

impl Pieces {
    pub(super) const fn new(protocol: Protocol, direction: Direction) -> Self {
        match protocol {
            Protocol::Turns => Self::Turns,
            Protocol::Http2 => Self::Http2(Frames::new(direction)),
        }
    }

    /// The pieces that these bytes complete.
    pub(super) fn cut(&mut self, read: &[u8]) -> Vec<Piece> {
        match self {
            Self::Turns => vec![Piece {
                bytes: read.to_vec(),
                stream: Some(0),
                whole: true,
            }],
            Self::Http2(frames) => frames.cut(read),
        }
    }
}
