//! What can happen to one exchange.

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
    /// Both.
    pub const BOTH: [Self; 2] = [Self::ToServer, Self::ToClient];
}

/// What happens to one exchange: a request and its answer, or several that travel together.
///
/// In a [`Mix`](super::Mix) a duration is the longest; the proxy draws one up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// The server never sees the request. The connection stays open; what the client sends on it
    /// from now on vanishes too, and so does what the server says: a client whose acknowledgements are lost is
    /// sent nothing new.
    LoseRequest,
    /// The server executes the request, and the answer vanishes. The connection stays open; what the
    /// server says on it from now on vanishes too.
    LoseReply,
    /// The request reaches the server so much later, also if the client has gone by then.
    DelayRequest(Duration),
    /// The server executes the request at once; the answer arrives so much later.
    DelayReply(Duration),
    /// The client's connection is reset at once, and the request reaches the server so much later:
    /// the client knows nothing and asks again, perhaps before its first request is executed.
    Late(Duration),
    /// Both ends of the connection are reset.
    Reset(Moment),
    /// The server's way to the client ends as if it had finished (half-close). The client can
    /// still send; its bytes reach the server only if the request did.
    Close(Moment),
}

/// When a connection breaks in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "before, in and after each of the two"
)]
pub enum Moment {
    /// The server has seen nothing of the request.
    BeforeRequest,
    /// The server has seen half of the request's first piece, and will see no more.
    InRequest,
    /// The server has executed the request, and the client has seen nothing of the answer.
    BeforeReply,
    /// The client has seen half of the answer's first piece.
    InReply,
}

impl Moment {
    /// In the order in which an exchange passes them.
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
    /// Whether the server executes the request in spite of it, now or later.
    #[must_use]
    pub const fn executed(self) -> bool {
        match self {
            Self::LoseRequest => false,
            Self::LoseReply | Self::DelayRequest(_) | Self::DelayReply(_) | Self::Late(_) => true,
            Self::Reset(moment) | Self::Close(moment) => moment.executed(),
        }
    }

    /// The same with a duration drawn up to its own.
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
