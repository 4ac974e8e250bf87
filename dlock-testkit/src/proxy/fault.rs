//! The faults that can strike one exchange.

use std::{fmt, time::Duration};

/// One way through the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a connection has two directions")]
pub enum Direction {
    /// Requests.
    ToServer,
    /// Answers.
    ToClient,
}

impl Direction {
    /// Both directions.
    pub const BOTH: [Self; 2] = [Self::ToServer, Self::ToClient];
}

/// The fault of one exchange: of a request and its answer, or of several that travel together.
///
/// In a [`Mix`](super::Mix) a duration is the upper limit; the proxy draws one up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// The server never sees the request. The connection stays open; from now on the client's bytes on it vanish too,
    /// and so do the server's: a server sends nothing new to a client whose acknowledgements are lost.
    LoseRequest,
    /// The server executes the request, and the answer vanishes. The connection stays open; from now on the server's
    /// bytes on it vanish too.
    LoseReply,
    /// The request reaches the server this much later, even if the client has gone by then.
    DelayRequest(Duration),
    /// The server executes the request at once; the answer arrives this much later.
    DelayReply(Duration),
    /// The client's connection is reset at once, and the request reaches the server this much later: the client does
    /// not learn of that, and asks again, perhaps before its first request is executed.
    Late(Duration),
    /// Both ends of the connection are reset.
    Reset(Moment),
    /// The server's way to the client ends as if it had finished (half-close). The client can
    /// still send; its bytes reach the server only if the request did.
    Close(Moment),
}

/// When, within an exchange, a connection breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "before, in and after each of the two"
)]
pub enum Moment {
    /// The server has seen nothing of the request.
    BeforeRequest,
    /// The server has seen half of the request's first piece, and will see nothing more.
    InRequest,
    /// The server has executed the request, and the client has seen nothing of the answer.
    BeforeReply,
    /// The client has seen half of the answer's first piece.
    InReply,
}

impl Moment {
    /// In the order of an exchange.
    pub const ALL: [Self; 4] = [
        Self::BeforeRequest,
        Self::InRequest,
        Self::BeforeReply,
        Self::InReply,
    ];

    /// Whether the server has executed the request by then.
    #[must_use]
    pub const fn executed(self) -> bool {
        matches!(self, Self::BeforeReply | Self::InReply)
    }
}

impl Fault {
    /// Whether the server executes the request despite the fault, now or later.
    #[must_use]
    pub const fn executed(self) -> bool {
        match self {
            Self::LoseRequest => false,
            Self::LoseReply | Self::DelayRequest(_) | Self::DelayReply(_) | Self::Late(_) => true,
            Self::Reset(moment) | Self::Close(moment) => moment.executed(),
        }
    }

    /// The same fault, with a duration drawn at random up to its own.
    pub(super) fn drawn(self, random: &mut fastrand::Rng) -> Self {
        let mut up_to = |most: Duration| most.mul_f64(random.f64());
        match self {
            Self::DelayRequest(most) => Self::DelayRequest(up_to(most)),
            Self::DelayReply(most) => Self::DelayReply(up_to(most)),
            Self::Late(most) => Self::Late(up_to(most)),
            Self::LoseRequest | Self::LoseReply | Self::Reset(_) | Self::Close(_) => self,
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ToServer => "to the server",
            Self::ToClient => "to the client",
        })
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeforeRequest => "before the request",
            Self::InRequest => "in the request",
            Self::BeforeReply => "before the reply",
            Self::InReply => "in the reply",
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LoseRequest => f.write_str("request lost"),
            Self::LoseReply => f.write_str("reply lost"),
            Self::DelayRequest(by) => write!(f, "request delayed by {by:?}"),
            Self::DelayReply(by) => write!(f, "reply delayed by {by:?}"),
            Self::Late(by) => write!(f, "reset, and the request late by {by:?}"),
            Self::Reset(moment) => write!(f, "reset {moment}"),
            Self::Close(moment) => write!(f, "closed {moment}"),
        }
    }
}
