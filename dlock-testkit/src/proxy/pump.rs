//! One direction of one connection.

use std::{
    future::{pending, ready},
    io,
    time::Duration,
    vec,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::tcp::{ReadHalf, WriteHalf},
    sync::watch,
    time::sleep,
};

use super::{
    Direction, Fault, Moment,
    line::Line,
    mix,
    network::{self, Network, Way},
    piece::Piece,
    protocol::Pieces,
};

/// Carries the bytes of one direction.
pub(super) struct Pump<'l> {
    line: &'l Line,
    direction: Direction,
    pieces: &'l mut Pieces,
    network: watch::Receiver<Network>,
    /// Draws the latency.
    random: fastrand::Rng,
}

/// How a connection is cut before both ends have finished.
pub(super) enum Cut {
    Reset,
    /// The client is reset, and the server sees this request `by` later.
    Late {
        request: Piece,
        by: Duration,
    },
}

/// How this direction continues after a piece.
enum Then {
    GoOn,
    /// Nothing follows the gap: the connection is dead, and neither end is notified.
    Silence,
    /// This direction has ended.
    Done,
    /// The client is cut off, and its request arrives this much later.
    Late(Duration),
}

impl<'l> Pump<'l> {
    pub(super) fn new(line: &'l Line, direction: Direction, pieces: &'l mut Pieces) -> Self {
        let shared = line.shared();
        let place = [line.number(), usize::MAX, direction as usize];
        Self {
            line,
            direction,
            pieces,
            network: shared.network.clone(),
            random: mix::random(shared.script.seed(), &place),
        }
    }

    /// Runs until this direction has ended.
    pub(super) async fn run(
        mut self,
        mut from: ReadHalf<'_>,
        mut to: WriteHalf<'_>,
    ) -> Result<(), Cut> {
        let mut read = vec![0; 16 * 1024];
        let mut silent = false;
        // Bytes that arrive while those before them are delayed travel with them.
        let mut delayed = false;
        loop {
            let length = tokio::select! {
                biased;
                () = self.line.closing(self.direction) => Ok(0),
                length = from.read(&mut read) => length,
                () = ready(()), if delayed => {
                    delayed = false;
                    continue;
                }
            };
            // Before anything waits: bytes that were read must not be forgotten here.
            let mut pieces = match length {
                Ok(length) => self.pieces.cut(&read[..length]).into_iter(),
                Err(_) => Vec::new().into_iter(),
            };
            // An end is as silent as everything else: a partition does not carry an end either.
            let Some((way, latency)) = network::open(&mut self.network, self.direction).await
            else {
                return Ok(()); // The proxy is gone.
            };
            silent |= way == Way::Swallowed || self.line.is_unheard(self.direction);
            match length {
                Ok(0) | Err(_) if silent => return Err(self.ended_in_silence().await),
                Ok(0) => {
                    // The other end reads to the end, and may still answer.
                    return to.shutdown().await.map_err(reset);
                }
                Ok(_) if silent => continue,
                Ok(_) => {}
                Err(error) => return Err(reset(error)),
            }
            if !delayed {
                delayed = latency.pass(&mut self.random).await;
            }
            while let Some(piece) = pieces.next() {
                let then = match (self.direction, piece.stream) {
                    (_, None) => pass(&piece.bytes, &mut to).await?,
                    (Direction::ToServer, Some(stream)) => {
                        self.request(stream, &piece.bytes, &mut to).await?
                    }
                    (Direction::ToClient, Some(stream)) => {
                        self.reply(stream, &piece.bytes, &mut to).await?
                    }
                };
                match then {
                    Then::GoOn => {}
                    Then::Silence => {
                        silent = true;
                        break;
                    }
                    Then::Done => return to.shutdown().await.map_err(reset),
                    Then::Late(by) => {
                        let request = self.whole(piece, pieces, &mut from).await?;
                        return Err(Cut::Late { request, by });
                    }
                }
            }
        }
    }

    /// This end has gone, and a silent connection does not notify the other end. Only the server's keepalive detects
    /// it.
    async fn ended_in_silence(&self) -> Cut {
        let keepalive = self.network.borrow().keepalive;
        match (self.direction, keepalive) {
            (Direction::ToServer, Some(after)) => {
                sleep(after).await;
                Cut::Reset
            }
            (Direction::ToServer, None) | (Direction::ToClient, _) => pending().await,
        }
    }

    /// The whole request that begins with this piece; `behind` was read with it.
    async fn whole(
        &mut self,
        mut request: Piece,
        mut behind: vec::IntoIter<Piece>,
        from: &mut ReadHalf<'_>,
    ) -> Result<Piece, Cut> {
        let mut read = vec![0; 16 * 1024];
        loop {
            for piece in behind {
                if piece.stream == request.stream {
                    request.bytes.extend(piece.bytes);
                    request.whole |= piece.whole;
                }
            }
            if request.whole {
                return Ok(request);
            }
            behind = match from.read(&mut read).await {
                Ok(length @ 1..) => self.pieces.cut(&read[..length]).into_iter(),
                // Half a request is not executed.
                Ok(_) | Err(_) => return Err(Cut::Reset),
            };
        }
    }

    async fn request(
        &self,
        stream: u32,
        bytes: &[u8],
        to: &mut WriteHalf<'_>,
    ) -> Result<Then, Cut> {
        // Only the first piece of an exchange meets a fault.
        let met = self.line.asked(stream);
        let strike = || met.into_iter().for_each(|met| self.line.struck(met));
        match met.map(|met| met.fault) {
            Some(Fault::LoseRequest) => {
                self.line.lose();
                strike();
                return Ok(Then::Silence);
            }
            Some(Fault::DelayRequest(by)) => {
                strike();
                sleep(by).await;
            }
            Some(Fault::Late(by)) => {
                strike();
                return Ok(Then::Late(by));
            }
            Some(Fault::Reset(moment @ (Moment::BeforeRequest | Moment::InRequest))) => {
                pass_until(moment, bytes, to).await?;
                strike();
                return Err(Cut::Reset);
            }
            Some(Fault::Close(moment @ (Moment::BeforeRequest | Moment::InRequest))) => {
                pass_until(moment, bytes, to).await?;
                strike();
                self.line.close();
                return Ok(Then::Silence);
            }
            // These faults wait for the answer.
            Some(
                Fault::LoseReply
                | Fault::DelayReply(_)
                | Fault::Reset(Moment::BeforeReply | Moment::InReply)
                | Fault::Close(Moment::BeforeReply | Moment::InReply),
            )
            | None => {}
        }
        pass(bytes, to).await
    }

    async fn reply(&self, stream: u32, bytes: &[u8], to: &mut WriteHalf<'_>) -> Result<Then, Cut> {
        let met = self.line.answering(stream);
        let strike = || met.into_iter().for_each(|met| self.line.struck(met));
        match met.map(|met| met.fault) {
            Some(Fault::LoseReply) => {
                strike();
                return Ok(Then::Silence);
            }
            Some(Fault::DelayReply(by)) => {
                strike();
                sleep(by).await;
            }
            Some(Fault::Reset(moment @ (Moment::BeforeReply | Moment::InReply))) => {
                pass_until(moment, bytes, to).await?;
                strike();
                return Err(Cut::Reset);
            }
            Some(Fault::Close(moment @ (Moment::BeforeReply | Moment::InReply))) => {
                pass_until(moment, bytes, to).await?;
                strike();
                return Ok(Then::Done);
            }
            // These faults have struck the request.
            Some(
                Fault::LoseRequest
                | Fault::DelayRequest(_)
                | Fault::Late(_)
                | Fault::Reset(Moment::BeforeRequest | Moment::InRequest)
                | Fault::Close(Moment::BeforeRequest | Moment::InRequest),
            )
            | None => {}
        }
        self.line.answered(stream);
        pass(bytes, to).await
    }
}

async fn pass(bytes: &[u8], to: &mut WriteHalf<'_>) -> Result<Then, Cut> {
    to.write_all(bytes).await.map_err(reset)?;
    Ok(Then::GoOn)
}

/// Passes the bytes that get through before this moment.
async fn pass_until(moment: Moment, bytes: &[u8], to: &mut WriteHalf<'_>) -> Result<(), Cut> {
    match moment {
        Moment::BeforeRequest | Moment::BeforeReply => Ok(()),
        Moment::InRequest | Moment::InReply => {
            let half = &bytes[..bytes.len() / 2];
            to.write_all(half).await.map_err(reset)
        }
    }
}

/// A connection that breaks at one end breaks at both.
fn reset(_broken: io::Error) -> Cut {
    Cut::Reset
}
