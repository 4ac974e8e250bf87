//! A server, and the faults that any server supports.

use std::{net::SocketAddr, pin::Pin, time::Duration};

use async_trait::async_trait;
use dlock_test_servers::{Place, Service};
use tokio::time::sleep;

use super::{Blow, Store};
use crate::cli::Failure;

type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Cut = fn(SocketAddr) -> Later<Result<(), Failure>>;

/// A running server.
pub(super) struct Server {
    pub(super) service: Service,
    /// Whether it serves its clients again.
    pub(super) ready: fn(Place) -> Later<bool>,
    /// Makes it close all connections, if it has a command for that; for the other servers the proxies close them.
    pub(super) cut: Option<Cut>,
}

impl Server {
    pub(super) fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.service.place().port()).into()
    }
}

#[async_trait]
impl Store for Server {
    fn place(&self) -> super::Place {
        super::Place::Server(self.address())
    }

    fn blows(&self, longest: Duration) -> Vec<Blow> {
        let mut blows = vec![Blow::Restart(longest / 2), Blow::Freeze(longest)];
        blows.extend(self.cut.map(|_| Blow::Cut));
        blows
    }

    async fn suffer(&mut self, blow: Blow) -> Result<(), Failure> {
        match blow {
            Blow::Restart(down) => {
                self.service.signal("KILL")?;
                sleep(down).await;
                self.service.restart(self.ready).await?;
            }
            Blow::Freeze(time) => {
                self.service.signal("STOP")?;
                sleep(time).await;
                self.service.signal("CONT")?;
            }
            Blow::Cut => {
                if let Some(cut) = self.cut {
                    cut(self.address()).await?;
                }
            }
            Blow::Occupy(_) => {}
        }
        Ok(())
    }
}
