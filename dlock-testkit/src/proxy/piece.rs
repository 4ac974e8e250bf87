//! A piece of a connection's bytes.

/// Bytes that belong together.
pub(super) struct Piece {
    pub(super) bytes: Vec<u8>,
    /// The stream on which they ask or answer. `None`: they do neither.
    pub(super) stream: Option<u32>,
    /// Whether a server can execute a request that is complete up to here.
    pub(super) whole: bool,
}

impl Piece {
    pub(super) const fn turn(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            stream: Some(0),
            whole: true,
        }
    }
}
