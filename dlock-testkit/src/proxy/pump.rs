//! One direction of one connection.

use std::{future::pending, io, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::tcp::{ReadHalf, WriteHalf},
    sync::watch,
    time::sleep,
};

use super::{
    Direction, Fault, Moment,
    connection::Line,
    mix,
    network::{self, Network, Way},
};

/// Carries the bytes of one direction.
pub(super) struct Pump<'l> {
    line: &'l Line,
    direction: Direction,
    network: watch::Receiver<Network>,
    /// For the latency.
    random: fastrand::Rng,
}

/// How a connection is cut before its ends are done.
#[derive(Debug)]
pub(super) enum Cut {
    Reset,
    /// The client is reset, and the server sees this so much later.
    Late {
        request: Vec<u8>,
        by: Duration,
    },
}

/// How it goes on after a piece.
enum Then {
    GoOn,
    /// Nothing comes after a gap: the connection is dead, and nobody says so.
    Silence,
    /// This direction has ended.
    Done,
}

impl<'l> Pump<'l> {
    pub(super) fn new(line: &'l Line, direction: Direction) -> Self {
        let shared = line.shared();
        let place = [line.number(), usize::MAX, direction as usize];
        Self {
            line,
            direction,
            network: shared.network.clone(),
            random: mix::random(shared.script.seed(), &place),
        }
    }

    /// Until this direction has ended.
    pub(super) async fn run(
        mut self,
        mut from: ReadHalf<'_>,
        mut to: WriteHalf<'_>,
    ) -> Result<(), Cut> {
        let mut piece = vec![0; 16 * 1024];
        let mut silent = false;
        loop {
            let read = tokio::select! {
                biased;
                () = self.line.closing(self.direction) => Ok(0),
                read = from.read(&mut piece) => read,
            };
            // An end is as silent as everything else: a partition carries no end either.
            let Some((way, latency)) = network::open(&mut self.network, self.direction).await
            else {
                return Ok(()); // The proxy is gone.
            };
            silent |= way == Way::Swallowed;
            let bytes = match read {
                Ok(0) | Err(_) if silent => pending().await,
                Ok(0) => {
                    // The other end reads to the end, and may still answer.
                    return to.shutdown().await.map_err(reset);
                }
                Ok(length) => &piece[..length],
                Err(error) => return Err(reset(error)),
            };
            if silent {
                continue;
            }
            latency.pass(&mut self.random).await;
            let then = match self.direction {
                Direction::ToServer => self.request(bytes, &mut to).await?,
                Direction::ToClient => self.reply(bytes, &mut to).await?,
            };
            match then {
                Then::GoOn => {}
                Then::Silence => silent = true,
                Then::Done => return to.shutdown().await.map_err(reset),
            }
        }
    }

    async fn request(&self, bytes: &[u8], to: &mut WriteHalf<'_>) -> Result<Then, Cut> {
        // Only the first piece of an exchange has one.
        let fault = self.line.asked();
        let strike = || fault.into_iter().for_each(|fault| self.line.struck(fault));
        match fault {
            Some(Fault::LoseRequest) => {
                strike();
                return Ok(Then::Silence);
            }
            Some(Fault::DelayRequest(by)) => {
                strike();
                sleep(by).await;
            }
            Some(Fault::Late(by)) => {
                strike();
                let request = bytes.to_vec();
                return Err(Cut::Late { request, by });
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
            // These wait for the answer.
            Some(
                Fault::LoseReply
                | Fault::DelayReply(_)
                | Fault::Reset(Moment::BeforeReply | Moment::InReply)
                | Fault::Close(Moment::BeforeReply | Moment::InReply),
            )
            | None => {}
        }
        to.write_all(bytes).await.map_err(reset)?;
        Ok(Then::GoOn)
    }

    async fn reply(&self, bytes: &[u8], to: &mut WriteHalf<'_>) -> Result<Then, Cut> {
        let fault = self.line.answering();
        let strike = || fault.into_iter().for_each(|fault| self.line.struck(fault));
        match fault {
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
            // These have struck the request.
            Some(
                Fault::LoseRequest
                | Fault::DelayRequest(_)
                | Fault::Late(_)
                | Fault::Reset(Moment::BeforeRequest | Moment::InRequest)
                | Fault::Close(Moment::BeforeRequest | Moment::InRequest),
            )
            | None => {}
        }
        self.line.answered();
        to.write_all(bytes).await.map_err(reset)?;
        Ok(Then::GoOn)
    }
}

/// Passes what gets through before this moment.
async fn pass_until(moment: Moment, bytes: &[u8], to: &mut WriteHalf<'_>) -> Result<(), Cut> {
    match moment {
        Moment::BeforeRequest | Moment::BeforeReply => Ok(()),
        Moment::InRequest | Moment::InReply => {
            let half = &bytes[..bytes.len() / 2];
            to.write_all(half).await.map_err(reset)
        }
    }
}

/// A broken connection is broken at both ends.
fn reset(_broken: io::Error) -> Cut {
    Cut::Reset
}
