//! The frames of HTTP/2 in one direction of a connection (RFC 9113).

use super::{Direction, piece::Piece};

/// A client begins with this many bytes (section 3.4).
const PREFACE: usize = 24;

/// The length of a frame's payload, its type, its flags and its stream (section 4.1).
const HEAD: usize = 9;

// Section 6.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const CONTINUATION: u8 = 9;

/// A flag of `DATA` and `HEADERS`.
const END_STREAM: u8 = 1;

/// Finds the frames, wherever the reads cut them.
pub(super) struct Frames {
    direction: Direction,
    /// How many bytes of the preface are still to come.
    preface: usize,
    /// The beginning of a frame.
    begun: Vec<u8>,
}

/// A complete frame.
struct Frame {
    length: usize,
    kind: u8,
    flags: u8,
    stream: u32,
}

impl Frames {
    pub(super) const fn new(direction: Direction) -> Self {
        Self {
            direction,
            preface: match direction {
                Direction::ToServer => PREFACE,
                Direction::ToClient => 0,
            },
            begun: Vec::new(),
        }
    }

    /// The frames that these bytes complete: consecutive frames that belong together form one piece.
    pub(super) fn cut(&mut self, read: &[u8]) -> Vec<Piece> {
        self.begun.extend_from_slice(read);
        let mut left = &self.begun[..];
        let mut pieces: Vec<Piece> = Vec::new();
        if self.preface > 0 {
            let (preface, frames) = left.split_at(self.preface.min(left.len()));
            self.preface -= preface.len();
            left = frames;
            pieces.push(Piece {
                bytes: preface.to_vec(),
                stream: None,
                whole: false,
            });
        }
        while let Some(frame) = Frame::first(left) {
            let (bytes, behind) = left.split_at(frame.length);
            left = behind;
            let whole = frame.completes();
            match pieces.last_mut() {
                Some(last) if frame.goes_on(last, self.direction) => {
                    last.bytes.extend_from_slice(bytes);
                    last.whole |= whole;
                }
                _ => pieces.push(Piece {
                    bytes: bytes.to_vec(),
                    stream: frame.message(self.direction),
                    whole,
                }),
            }
        }
        self.begun = left.to_vec();
        pieces
    }
}

impl Frame {
    /// The first frame in these bytes, if it is complete.
    fn first(bytes: &[u8]) -> Option<Self> {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = *bytes.first_chunk::<HEAD>()?;
        let payload = usize::from(l0) << 16 | usize::from(l1) << 8 | usize::from(l2);
        let length = HEAD + payload;
        (bytes.len() >= length).then_some(Self {
            length,
            kind,
            flags,
            // The highest bit is reserved.
            stream: u32::from_be_bytes([s0 & 0x7f, s1, s2, s3]),
        })
    }

    /// The stream on which the frame asks or answers, if it does.
    fn message(&self, direction: Direction) -> Option<u32> {
        let message = match (self.kind, direction) {
            (HEADERS | CONTINUATION, _) | (DATA, Direction::ToClient) => true,
            // A client that has nothing more to send may say so after it was answered.
            (DATA, Direction::ToServer) => !self.is_empty(),
            // A server refuses with it; a client only gives up.
            (RST_STREAM, direction) => direction == Direction::ToClient,
            _ => false,
        };
        message.then_some(self.stream)
    }

    /// Whether it belongs to this piece, which precedes it.
    fn goes_on(&self, piece: &Piece, direction: Direction) -> bool {
        let end = self.kind == DATA && piece.stream == Some(self.stream);
        end || piece.stream == self.message(direction)
    }

    /// Whether it completes a request: a message of gRPC fits in one frame, unless it is long.
    fn completes(&self) -> bool {
        match self.kind {
            DATA => !self.is_empty() || self.ends_its_stream(),
            HEADERS => self.ends_its_stream(),
            _ => false,
        }
    }

    fn is_empty(&self) -> bool {
        self.length == HEAD
    }

    fn ends_its_stream(&self) -> bool {
        self.flags & END_STREAM != 0
    }
}
