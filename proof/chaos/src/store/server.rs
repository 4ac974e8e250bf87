//! What can be done to any server.

use std::{net::SocketAddr, time::Duration};

use dlock_test_servers::{Place, Service};
use tokio::time::sleep;

use crate::cli::Failure;

/// Kills it, and starts it again after this time.
pub(super) async fn restart<F: Future<Output = bool>>(
    server: &mut Service,
    down: Duration,
    ready: impl FnMut(Place) -> F,
) -> Result<(), Failure> {
    server.signal("KILL")?;
    sleep(down).await;
    server.restart(ready).await?;
    Ok(())
}

/// Stops it for this time.
pub(super) async fn freeze(server: &mut Service, time: Duration) -> Result<(), Failure> {
    server.signal("STOP")?;
    sleep(time).await;
    server.signal("CONT")?;
    Ok(())
}

pub(super) fn address(server: &Service) -> SocketAddr {
    ([127, 0, 0, 1], server.place().port()).into()
}
