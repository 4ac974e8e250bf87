//! How the bytes of a connection are cut into requests and answers.

use std::mem;

use super::{Direction, http2::Frames, piece::Piece};

/// How requests and answers are found on a connection. TLS hides them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// The client asks, and waits for the answer before it asks again: `PostgreSQL`, Redis, HTTP/1.1. Everything that
    /// the client sends is a request.
    #[default]
    Turns,
    /// `PostgreSQL`, for a client that sends a whole transaction at once: all answers within it are one answer, which
    /// passes when the transaction has ended. For a client that waits within a transaction, use [`Turns`](Self::Turns).
    PostgresFlights,
    /// HTTP/2 from the first byte, as gRPC uses it: calls run concurrently, and the rule of [`Turns`](Self::Turns)
    /// holds for each stream. Only messages are requests and answers; pings, settings and windows belong to no
    /// exchange. A fault of the connection strikes all its streams, and bytes that are delayed delay all bytes behind
    /// them: it is one connection.
    Http2,
}

/// The end of the answer to a statement after which the transaction is still open (`ReadyForQuery` in the manual of
/// `PostgreSQL`, "Message Formats").
const IN_TRANSACTION: &[u8] = b"Z\0\0\0\x05T";

/// The end of a request that is a transaction (`Query`).
const COMMIT: &[u8] = b"COMMIT\0";

/// Cuts the bytes read in one direction of a connection.
pub(super) enum Pieces {
    Turns,
    /// Whether the request of a transaction has begun and not ended.
    TransactionRequest(bool),
    /// The answer of a transaction that has not ended.
    Transaction(Vec<u8>),
    Http2(Frames),
}

impl Pieces {
    pub(super) const fn new(protocol: Protocol, direction: Direction) -> Self {
        match (protocol, direction) {
            (Protocol::PostgresFlights, Direction::ToServer) => Self::TransactionRequest(false),
            (Protocol::PostgresFlights, Direction::ToClient) => Self::Transaction(Vec::new()),
            (Protocol::Turns, _) => Self::Turns,
            (Protocol::Http2, _) => Self::Http2(Frames::new(direction)),
        }
    }

    /// The pieces that these bytes complete.
    pub(super) fn cut(&mut self, read: &[u8]) -> Vec<Piece> {
        match self {
            Self::Turns => vec![Piece::turn(read.to_vec())],
            Self::TransactionRequest(open) => {
                let begins = read.get(5..10) == Some(b"BEGIN");
                *open = (*open || begins) && !read.ends_with(COMMIT);
                let mut piece = Piece::turn(read.to_vec());
                piece.whole = !*open;
                vec![piece]
            }
            Self::Transaction(answer) => {
                answer.extend_from_slice(read);
                if answer.ends_with(IN_TRANSACTION) {
                    return Vec::new();
                }
                vec![Piece::turn(mem::take(answer))]
            }
            Self::Http2(frames) => frames.cut(read),
        }
    }
}
